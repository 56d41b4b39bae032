"""The vault's file: made once, opened by its key alone, copied whole, and never readable without the key."""

from __future__ import annotations

import base64
import hashlib
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from perdure.domain.handoff import Handoff
from perdure.domain.vault import Progress
from perdure.engines.sqlite import connection, copies
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.engines.sqlite.migrations import Migration, known_migrations, migrate
from perdure.errors import Busy, Conflict, DiskReadOnly, Internal, PerdureError, VaultDamaged, VaultLocked, VaultMissing, WrongKey
from tests.engines.stores import EVERYTHING, KEY, MINE, OTHER_KEY, Engine, found, project, read, remember, sqlite_engine, write

MARK = "Zyzzyva-Marker"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _again(engine: Engine, key: bytes = KEY) -> SqliteEngine:
    """Another engine over the same file, opened."""
    other = SqliteEngine(engine.path)
    other.open(key)
    return other


def _count(engine: Engine) -> int:
    return read(engine, lambda s: s.memories.count(EVERYTHING))


def test_a_vault_comes_back_after_a_restart(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    engine.close()
    assert _files(engine.path.parent) == {"vault.db"}
    engine.open(KEY)
    assert read(engine, lambda s: s.memories.get((MINE,), memory.id)) == memory
    assert engine.is_open
    assert engine.cipher == "aegis"


def test_the_files_are_the_owners_alone(engine: Engine) -> None:
    write(engine, lambda s: remember(s, "word"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in engine.path.parent.iterdir()}
    assert modes == {"vault.db": 0o600, "vault.db-wal": 0o600, "vault.db-shm": 0o600}
    assert stat.S_IMODE(engine.path.parent.stat().st_mode) == 0o700


def test_a_vault_is_never_made_over_a_file(engine: Engine) -> None:
    engine.close()
    before = _digest(engine.path)
    with pytest.raises(Conflict):
        SqliteEngine(engine.path).create(OTHER_KEY)
    assert _digest(engine.path) == before
    assert _files(engine.path.parent) == {"vault.db"}


def test_a_vault_that_could_not_be_made_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.engines.sqlite.engine.migrate", _fail)
    with pytest.raises(DiskReadOnly):
        SqliteEngine(tmp_path / "vault.db").create(KEY)
    assert _files(tmp_path) == set()


def _fail(*_: object, **__: object) -> None:
    raise apsw.CantOpenError("no")


def test_dl14_a_missing_vault_is_said_to_be_missing_and_not_made(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "home" / "vault.db")
    with pytest.raises(VaultMissing):
        engine.open(KEY)
    assert not engine.exists()
    assert not (tmp_path / "home").exists()


def _wrong_key(path: Path) -> bytes:
    return OTHER_KEY


def _no_key(path: Path) -> bytes:
    return bytes(32)


def _part_page_gone(path: Path) -> bytes:
    path.write_bytes(path.read_bytes()[:-100])
    return KEY


def _half_gone(path: Path) -> bytes:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 8192 * 4096])
    return KEY


def _emptied(path: Path) -> bytes:
    path.write_bytes(b"")
    return KEY


def _garbled_head(path: Path) -> bytes:
    path.write_bytes(b"\xff" * 512 + path.read_bytes()[512:])
    return KEY


def _schema_garbled(path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    for page in range(1, len(data) // 4096):
        data[page * 4096 + 1000] ^= 1
    path.write_bytes(data)
    return KEY


def _plain(path: Path) -> bytes:
    path.unlink()
    plain = sqlite3.connect(path)
    plain.execute("CREATE TABLE memories (id)")
    plain.close()
    return KEY


HARM: list[tuple[Callable[[Path], bytes], type[PerdureError]]] = [
    (_wrong_key, WrongKey),
    (_no_key, WrongKey),
    (_part_page_gone, VaultDamaged),
    (_half_gone, VaultDamaged),
    (_emptied, VaultDamaged),
    (_garbled_head, VaultDamaged),
    (_schema_garbled, VaultDamaged),
    (_plain, VaultDamaged),
]


@pytest.mark.parametrize(("harm", "error"), HARM)
def test_dl14_a_wrong_key_and_each_damage_have_their_own_error_and_nothing_is_changed(
    engine: Engine, harm: Callable[[Path], bytes], error: type[PerdureError]
) -> None:
    engine.close()
    key = harm(engine.path)
    before = _digest(engine.path)
    with pytest.raises(error) as caught:
        SqliteEngine(engine.path).open(key)
    assert type(caught.value) is error
    assert _digest(engine.path) == before
    assert _files(engine.path.parent) == {"vault.db"}


def test_a_library_that_cannot_encrypt_is_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    monkeypatch.delattr(apsw, "mc_version")
    with pytest.raises(Internal):
        engine.open(KEY)


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Internal):
        SqliteEngine(tmp_path / "vault.db").create(b"short")
    assert _files(tmp_path) == set()


def test_an_open_vault_is_not_opened_twice(engine: Engine) -> None:
    with pytest.raises(Conflict):
        engine.open(KEY)
    write(engine, lambda s: remember(s, "word"))


def test_a_fresh_schema_is_all_migrations_one_by_one(engine: Engine, tmp_path: Path) -> None:
    known = known_migrations()
    assert [migration.number for migration in known] == list(range(1, len(known) + 1))
    path = tmp_path / "grown.db"
    path.touch()
    profile = connection.Profile(path=path)
    grown = connection.SqliteConnection(connection.keyed(path, KEY, profile=profile, flags=apsw.SQLITE_OPEN_READWRITE))
    for last in range(1, len(known) + 1):
        migrate(grown, known[:last], now_us=0)
    engine.close()
    fresh = connection.open_reader(KEY, connection.Profile(path=engine.path))
    schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
    assert fresh.execute(schema) == grown.execute(schema)
    assert fresh.execute("SELECT number FROM migrations") == [(migration.number,) for migration in known]
    fresh.close()
    grown.close()


def test_mg1_an_older_vault_grows_in_place_and_keeps_its_rows(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    engine.close()
    later = Migration(number=len(known_migrations()) + 1, name="later", sql="ALTER TABLE spaces ADD COLUMN colour TEXT;")
    monkeypatch.setattr("perdure.engines.sqlite.engine.known_migrations", lambda: (*known_migrations(), later))
    grown = _again(engine)
    assert read(grown, lambda s: s.memories.get((MINE,), memory.id)) == memory
    grown.close()


def test_a_migration_that_fails_leaves_the_vault_as_it_was(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    broken = Migration(number=len(known_migrations()) + 1, name="broken", sql="CREATE TABLE half (a); SELECT nothing;")
    monkeypatch.setattr("perdure.engines.sqlite.engine.known_migrations", lambda: (*known_migrations(), broken))
    with pytest.raises(Internal):
        _again(engine)
    engine.open(KEY)
    write(engine, lambda s: remember(s, "word"))
    assert engine.check(deep=True) == []


def test_a_vault_of_a_newer_perdure_is_refused_by_name_and_not_changed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    later = Migration(number=len(known_migrations()) + 1, name="later", sql="CREATE TABLE later (a);")
    with monkeypatch.context() as patch:
        patch.setattr("perdure.engines.sqlite.engine.known_migrations", lambda: (*known_migrations(), later))
        _again(engine).close()
    before = _digest(engine.path)
    with pytest.raises(Conflict, match="newer perdure"):
        engine.open(KEY)
    assert _digest(engine.path) == before


def _forms(mark: str) -> list[bytes]:
    """The mark as text, in UTF-16, hex and base64 at each of its three offsets."""
    plain = mark.encode()
    shifted = [base64.b64encode(b"x" * shift + plain)[4:-4] for shift in range(3)]
    return [plain, plain.lower(), mark.encode("utf-16-le"), mark.encode("utf-16-be"), plain.hex().encode(), *shifted]


def test_nothing_is_plain_in_any_file(engine: Engine, tmp_path: Path) -> None:
    handoff = Handoff(completed=(MARK,), next_action=MARK)
    write(engine, lambda s: project(s, f"{MARK} project"))
    write(
        engine,
        lambda s: remember(
            s, MARK, title=MARK, tags=(MARK,), files=(f"src/{MARK}.py",), handoff=handoff, channel=MARK, session_id=MARK
        ),
    )
    engine.backup(tmp_path / "backup.db")
    engine.export_sqlcipher(tmp_path / "export.db", "a passphrase")
    open_files = {path.name: path.read_bytes() for path in (*engine.path.parent.iterdir(), *tmp_path.glob("*.db"))}
    assert len(open_files) == 5
    engine.close()
    for name, data in {**open_files, "closed": engine.path.read_bytes()}.items():
        assert not [form for form in _forms(MARK) if form in data], name


def test_the_search_for_plain_marks_would_find_them(tmp_path: Path) -> None:
    plain = SqliteEngine(tmp_path / "vault.db", encrypted=False)
    plain.create(b"")
    write(plain, lambda s: s.settings.put("a", MARK))
    plain.close()
    assert MARK.encode() in plain.path.read_bytes()
    assert plain.cipher == "none"


def test_lk3_what_was_answered_is_there_after_the_process_died(engine: Engine, tmp_path: Path) -> None:
    ids = [write(engine, lambda s: remember(s, f"word{n}")).id for n in range(20)]  # noqa: B023 - run at once
    folder = tmp_path / "left behind"
    shutil.copytree(engine.path.parent, folder)
    assert (folder / "vault.db-wal").stat().st_size > 0
    left = sqlite_engine(folder)
    left.open(KEY)
    assert read(left, lambda s: s.memories.ids(EVERYTHING)) == ids
    assert left.check(deep=True) == []
    left.close()


def test_lk8_many_open_the_same_vault_at_once(engine: Engine) -> None:
    with ThreadPoolExecutor(4) as pool:
        others = list(pool.map(lambda _: _again(engine), range(4)))
    memories = [write(other, lambda s: remember(s, "word")) for other in others]
    assert {memory.number for memory in memories} == {1, 2, 3, 4}
    for other in others:
        other.close()


def test_a_backup_is_whole_while_writes_go_on(engine: Engine, tmp_path: Path) -> None:
    write(engine, lambda s: [remember(s, f"word{n}") for n in range(50)])
    target = tmp_path / "copies" / "backup.db"
    steps: list[Progress] = []
    done = threading.Event()

    def writing() -> int:
        count = 0
        while not done.is_set():
            write(engine, lambda s: remember(s, "meanwhile"))
            count += 1
        return count

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(writing)
        engine.backup(target, steps.append)
        done.set()
        assert writer.result(10) > 0
    assert steps[-1].done == steps[-1].total > 0
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    copy = SqliteEngine(target)
    copy.open(KEY)
    assert _count(copy) >= 50
    assert copy.check(deep=True) == []
    copy.close()


def test_a_backup_overwrites_nothing_and_a_broken_one_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    target.write_text("mine")
    with pytest.raises(Conflict):
        engine.backup(target)
    assert target.read_text() == "mine"
    target.unlink()

    def stop(_: Progress) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        engine.backup(target, stop)
    assert _files(tmp_path) == {"home"}


def test_a_closed_vault_is_neither_copied_nor_checked(engine: Engine, tmp_path: Path) -> None:
    engine.close()
    for work in (
        lambda: engine.backup(tmp_path / "b.db"),
        lambda: engine.export_sqlcipher(tmp_path / "e.db", "p"),
        lambda: engine.rekey(OTHER_KEY),
        lambda: engine.check(deep=False),
    ):
        with pytest.raises(VaultLocked):
            work()
    assert _files(tmp_path) == {"home"}


def test_after_a_rekey_only_the_new_key_opens(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    engine.rekey(OTHER_KEY)
    assert read(engine, lambda s: found(s, "word")) == [memory.id]
    write(engine, lambda s: remember(s, "after"))
    engine.close()
    with pytest.raises(WrongKey):
        engine.open(KEY)
    engine.open(OTHER_KEY)
    assert _count(engine) == 2
    assert engine.check(deep=True) == []


def test_a_rekey_that_breaks_off_leaves_the_old_key_in_force(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    write(engine, lambda s: remember(s, "word"))
    monkeypatch.setattr(copies, "_place", _fail)
    with pytest.raises(DiskReadOnly):
        engine.rekey(OTHER_KEY)
    assert _count(engine) == 1
    engine.close()
    assert _files(engine.path.parent) == {"vault.db"}
    engine.open(KEY)


def test_a_rekey_is_refused_while_another_process_has_the_vault(engine: Engine) -> None:
    other = _again(engine)
    write(other, lambda s: remember(s, "word"))
    with pytest.raises(Conflict):
        engine.rekey(OTHER_KEY)
    assert _count(engine) == _count(other) == 1
    other.close()


def test_calls_during_a_rekey_are_told_to_wait(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    place, errors = copies._place, []

    def calling(*paths: Path, replace: bool) -> None:
        for call in (lambda: _count(engine), lambda: write(engine, lambda s: remember(s, "word"))):
            with pytest.raises(Busy) as caught:
                call()
            errors.append(caught.value)
        place(*paths, replace=replace)

    monkeypatch.setattr(copies, "_place", calling)
    engine.rekey(OTHER_KEY)
    assert len(errors) == 2
    write(engine, lambda s: remember(s, "word"))


@pytest.mark.parametrize("passphrase", ["plain", "a b&c='\"%41?#/\\", "geçmiş 記憶"])
def test_an_export_opens_in_sqlcipher_format_with_its_passphrase_only(engine: Engine, tmp_path: Path, passphrase: str) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    target = tmp_path / "export.db"
    engine.export_sqlcipher(target, passphrase)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert _read_sqlcipher(target, passphrase) == [(memory.id, "word")]
    with pytest.raises(apsw.NotADBError):
        _read_sqlcipher(target, passphrase + "x")


def _read_sqlcipher(path: Path, passphrase: str) -> list[tuple[object, ...]]:
    exported = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for statement in ("PRAGMA cipher = 'sqlcipher'", "PRAGMA legacy = 4"):
            exported.execute(statement)
        exported.execute(f"PRAGMA key = {apsw.format_sql_value(passphrase)}")
        return exported.execute("SELECT id, content FROM memories").fetchall()
    finally:
        exported.close()


def test_a_backup_takes_the_place_of_the_vault_which_is_kept(engine: Engine, tmp_path: Path) -> None:
    write(engine, lambda s: remember(s, "before"))
    engine.backup(tmp_path / "backup.db")
    write(engine, lambda s: remember(s, "after"))
    with pytest.raises(Conflict):
        engine.replace_with(tmp_path / "backup.db")
    engine.close()
    engine.replace_with(tmp_path / "backup.db")
    assert _files(engine.path.parent) == {"vault.db", "vault.db.replaced"}
    engine.open(KEY)
    assert _count(engine) == 1
    kept = SqliteEngine(engine.path.with_name("vault.db.replaced"))
    kept.open(KEY)
    assert _count(kept) == 2
    kept.close()


def test_a_replaced_vault_that_was_not_closed_keeps_its_log(engine: Engine, tmp_path: Path) -> None:
    engine.backup(tmp_path / "backup.db")
    write(engine, lambda s: remember(s, "in the log"))
    died = sqlite_engine(tmp_path / "died")
    shutil.copytree(engine.path.parent, died.path.parent)
    died.replace_with(tmp_path / "backup.db")
    died.open(KEY)
    assert _count(died) == 0
    died.close()
    kept = SqliteEngine(died.path.with_name("vault.db.replaced"))
    kept.open(KEY)
    assert _count(kept) == 1
    kept.close()


@pytest.mark.parametrize("harm", [_emptied, _plain, _garbled_head])
def test_what_is_no_vault_does_not_take_the_place_of_one(engine: Engine, tmp_path: Path, harm: Callable[[Path], bytes]) -> None:
    backup = tmp_path / "backup.db"
    engine.backup(backup)
    harm(backup)
    engine.close()
    before = _digest(engine.path)
    with pytest.raises(VaultDamaged):
        engine.replace_with(backup)
    assert _digest(engine.path) == before


def test_a_deep_check_finds_a_changed_byte(engine: Engine) -> None:
    write(engine, lambda s: [remember(s, "x" * 3000) for _ in range(40)])
    assert engine.check(deep=True) == engine.check(deep=False) == []
    engine.close()
    data = bytearray(engine.path.read_bytes())
    data[-4096 * 20 + 2000] ^= 1
    engine.path.write_bytes(data)
    engine.open(KEY)
    assert engine.check(deep=True) != []
