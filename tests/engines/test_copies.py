"""Copies are whole or not there: backup, rekey, export for other tools, and a backup that takes the vault's place."""

from __future__ import annotations

import contextlib
import shutil
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from perdure.domain.vault import Progress
from perdure.engines.sqlite import copies
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.errors import Busy, Conflict, DiskReadOnly, VaultDamaged, VaultLocked, WrongKey
from tests.engines.harms import emptied, garbled_head, made_plain
from tests.engines.stores import (
    KEY,
    OTHER_KEY,
    Engine,
    again,
    count,
    digest,
    fail,
    files,
    found,
    read,
    remember,
    sqlite_engine,
    write,
)


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
    assert count(copy) >= 50
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
    assert files(tmp_path) == {"home"}


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
    assert files(tmp_path) == {"home"}


def test_after_a_rekey_only_the_new_key_opens(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    engine.rekey(OTHER_KEY)
    assert read(engine, lambda s: found(s, "word")) == [memory.id]
    write(engine, lambda s: remember(s, "after"))
    engine.close()
    with pytest.raises(WrongKey):
        engine.open(KEY)
    engine.open(OTHER_KEY)
    assert count(engine) == 2
    assert engine.check(deep=True) == []


def test_a_rekey_that_breaks_off_leaves_the_old_key_in_force(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    write(engine, lambda s: remember(s, "word"))
    monkeypatch.setattr(copies, "_place", fail)
    with pytest.raises(DiskReadOnly):
        engine.rekey(OTHER_KEY)
    assert count(engine) == 1
    engine.close()
    assert files(engine.path.parent) == {"vault.db"}
    engine.open(KEY)


def test_a_rekey_is_refused_while_another_process_has_the_vault(engine: Engine) -> None:
    other = again(engine)
    write(other, lambda s: remember(s, "word"))
    with pytest.raises(Conflict):
        engine.rekey(OTHER_KEY)
    assert count(engine) == count(other) == 1
    other.close()


def test_calls_during_a_rekey_are_told_to_wait(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    place, errors = copies._place, []

    def calling(*paths: Path, replace: bool) -> None:
        for call in (lambda: count(engine), lambda: write(engine, lambda s: remember(s, "word"))):
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


def swapped(engine: Engine, backup: Path) -> Path:
    (engine.stage(backup) / "header.json").write_text("new")
    return engine.swap()


def test_a_backup_takes_the_place_of_the_vault_which_is_kept_whatever_follows(engine: Engine, tmp_path: Path) -> None:
    write(engine, lambda s: remember(s, "before"))
    engine.backup(tmp_path / "backup.db")
    write(engine, lambda s: remember(s, "after"))
    engine.path.with_name("header.json").write_text("old")
    first = swapped(engine, tmp_path / "backup.db")
    second = swapped(engine, tmp_path / "backup.db")
    assert first != second
    assert files(engine.path.parent) >= {"vault.db", "header.json"}
    assert (first / "header.json").read_text() == "old"
    engine.open(KEY)
    assert count(engine) == 1
    kept = SqliteEngine(first / "vault.db")
    kept.open(KEY)
    assert count(kept) == 2
    kept.close()


def test_a_replaced_vault_that_was_not_closed_keeps_its_log(engine: Engine, tmp_path: Path) -> None:
    engine.backup(tmp_path / "backup.db")
    write(engine, lambda s: remember(s, "in the log"))
    died = sqlite_engine(tmp_path / "died")
    shutil.copytree(engine.path.parent, died.path.parent)
    folder = swapped(died, tmp_path / "backup.db")
    died.open(KEY)
    assert count(died) == 0
    died.close()
    kept = SqliteEngine(folder / "vault.db")
    kept.open(KEY)
    assert count(kept) == 1
    kept.close()


@pytest.mark.parametrize("step", range(1, 7))
def test_a_swap_that_is_cut_off_at_any_rename_is_finished_at_the_next_start(engine: Engine, tmp_path: Path, step: int) -> None:
    engine.backup(tmp_path / "backup.db")
    write(engine, lambda s: remember(s, "since"))
    engine.path.with_name("header.json").write_text("old")
    (engine.stage(tmp_path / "backup.db") / "header.json").write_text("new")
    rename, done = Path.rename, [0]

    def cut_off(self: Path, target: Path) -> Path:
        done[0] += 1
        if done[0] == step:
            raise KeyboardInterrupt
        return rename(self, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", cut_off)
        with contextlib.suppress(KeyboardInterrupt):
            engine.swap()
    again = SqliteEngine(engine.path)
    again.resume_swap()
    assert engine.path.with_name("header.json").read_text() == "new"
    again.open(KEY)
    assert count(again) == 0
    again.close()
    (folder,) = engine.path.parent.glob("replaced-*")
    kept = SqliteEngine(folder / "vault.db")
    kept.open(KEY)
    assert count(kept) == 1
    kept.close()
    assert not engine.path.with_name("restoring").exists()


@pytest.mark.parametrize("harm", [emptied, made_plain, garbled_head])
def test_what_is_no_vault_does_not_take_the_place_of_one(engine: Engine, tmp_path: Path, harm: Callable[[Path], bytes]) -> None:
    backup = tmp_path / "backup.db"
    engine.backup(backup)
    harm(backup)
    engine.close()
    before = digest(engine.path)
    with pytest.raises(VaultDamaged):
        engine.stage(backup)
    assert digest(engine.path) == before
