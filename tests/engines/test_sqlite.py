"""The vault's file: made once, opened by its key alone, copied whole, and never readable without the key."""

from __future__ import annotations

import base64
import shutil
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from perdure.domain.handoff import Handoff
from perdure.engines.sqlite import connection
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.engines.sqlite.migrations import Migration, known_migrations, migrate
from perdure.errors import Conflict, DiskReadOnly, Internal, PerdureError, VaultDamaged, VaultMissing, WrongKey
from tests.engines.harms import emptied, garbled_head, half_gone, made_plain, no_key, part_page_gone, schema_garbled, wrong_key
from tests.engines.stores import (
    EVERYTHING,
    KEY,
    MINE,
    OTHER_KEY,
    Engine,
    again,
    digest,
    fail,
    files,
    project,
    read,
    remember,
    sqlite_engine,
    write,
)

MARK = "Zyzzyva-Marker"


def test_a_vault_comes_back_after_a_restart(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    engine.close()
    assert files(engine.path.parent) == {"vault.db"}
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
    before = digest(engine.path)
    with pytest.raises(Conflict):
        SqliteEngine(engine.path).create(OTHER_KEY)
    assert digest(engine.path) == before
    assert files(engine.path.parent) == {"vault.db"}


def test_a_vault_that_could_not_be_made_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.engines.sqlite.engine.migrate", fail)
    with pytest.raises(DiskReadOnly):
        SqliteEngine(tmp_path / "vault.db").create(KEY)
    assert files(tmp_path) == set()


def test_a_vault_that_was_made_but_could_not_be_opened_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.engines.sqlite.engine.open_reader", fail)
    with pytest.raises(DiskReadOnly):
        SqliteEngine(tmp_path / "vault.db").create(KEY)
    assert files(tmp_path) == set()


def test_dl14_a_missing_vault_is_said_to_be_missing_and_not_made(tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "home" / "vault.db")
    with pytest.raises(VaultMissing):
        engine.open(KEY)
    assert not engine.exists()
    assert not (tmp_path / "home").exists()


HARM: list[tuple[Callable[[Path], bytes], type[PerdureError]]] = [
    (wrong_key, WrongKey),
    (no_key, WrongKey),
    (part_page_gone, VaultDamaged),
    (half_gone, VaultDamaged),
    (emptied, VaultDamaged),
    (garbled_head, VaultDamaged),
    (schema_garbled, VaultDamaged),
    (made_plain, VaultDamaged),
]


@pytest.mark.parametrize(("harm", "error"), HARM)
def test_dl14_a_wrong_key_and_each_damage_have_their_own_error_and_nothing_is_changed(
    engine: Engine, harm: Callable[[Path], bytes], error: type[PerdureError]
) -> None:
    engine.close()
    key = harm(engine.path)
    before = digest(engine.path)
    with pytest.raises(error) as caught:
        SqliteEngine(engine.path).open(key)
    assert type(caught.value) is error
    assert digest(engine.path) == before
    assert files(engine.path.parent) == {"vault.db"}


def test_a_library_that_cannot_encrypt_is_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    monkeypatch.delattr(apsw, "mc_version")
    with pytest.raises(Internal):
        engine.open(KEY)


def test_a_key_of_another_length_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Internal):
        SqliteEngine(tmp_path / "vault.db").create(b"short")
    assert files(tmp_path) == set()


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
    grown = again(engine)
    assert read(grown, lambda s: s.memories.get((MINE,), memory.id)) == memory
    grown.close()


def test_a_migration_that_fails_leaves_the_vault_as_it_was(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    broken = Migration(number=len(known_migrations()) + 1, name="broken", sql="CREATE TABLE half (a); SELECT nothing;")
    monkeypatch.setattr("perdure.engines.sqlite.engine.known_migrations", lambda: (*known_migrations(), broken))
    with pytest.raises(Internal):
        again(engine)
    engine.open(KEY)
    write(engine, lambda s: remember(s, "word"))
    assert engine.check(deep=True) == []


def test_a_vault_of_a_newer_perdure_is_refused_by_name_and_not_changed(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.close()
    later = Migration(number=len(known_migrations()) + 1, name="later", sql="CREATE TABLE later (a);")
    with monkeypatch.context() as patch:
        patch.setattr("perdure.engines.sqlite.engine.known_migrations", lambda: (*known_migrations(), later))
        again(engine).close()
    before = digest(engine.path)
    with pytest.raises(Conflict, match="newer perdure"):
        engine.open(KEY)
    assert digest(engine.path) == before


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
        others = list(pool.map(lambda _: again(engine), range(4)))
    memories = [write(other, lambda s: remember(s, "word")) for other in others]
    assert {memory.number for memory in memories} == {1, 2, 3, 4}
    for other in others:
        other.close()


def test_a_deep_check_finds_a_changed_byte(engine: Engine) -> None:
    write(engine, lambda s: [remember(s, "x" * 3000) for _ in range(40)])
    assert engine.check(deep=True) == engine.check(deep=False) == []
    engine.close()
    data = bytearray(engine.path.read_bytes())
    data[-4096 * 20 + 2000] ^= 1
    engine.path.write_bytes(data)
    engine.open(KEY)
    assert engine.check(deep=True) != []
