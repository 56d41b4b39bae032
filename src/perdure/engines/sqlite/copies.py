"""Whole copies of a vault: backup, a copy under a new key, an export for other tools; each complete or not there."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from perdure.domain.vault import Progress
from perdure.engines.sqlite.connection import Profile, SqliteConnection, keyed
from perdure.errors import Conflict, DiskFull, DiskReadOnly
from perdure.ports.vault import OnProgress

PAGES_A_STEP = 1024
_CREATE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE


@contextmanager
def new_file(target: Path, *, replace: bool = False) -> Iterator[Path]:
    """A 0600 file beside `target` to be written, which becomes it, durably, when the block ends without an error.

    Raises Conflict when the target is there, unless it is to be replaced, and DiskReadOnly or DiskFull.
    """
    if not replace and target.exists():
        raise Conflict(f"{target} is there already; nothing is ever overwritten. Name another file.")
    partial = target.with_name(f"{target.name}.partial")
    try:
        make_folder(target.parent)
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            yield partial
            _sync(partial)
            _place(partial, target, replace=replace)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull from error
        why = f"{target.parent} cannot be written ({error.strerror}): nothing was stored there."
        raise DiskReadOnly(f"{why} Make it writable, or name another place.") from error


def make_folder(folder: Path) -> None:
    """The folder with its missing parents; what is made is the owner's alone."""
    if not folder.exists():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def copy_pages(source: SqliteConnection, target: Path, *, key: bytes, profile: Profile, on_progress: OnProgress | None) -> None:
    """Every page of one snapshot of `source`, encrypted under `key`. The source may be written meanwhile: the snapshot stays."""
    copy = keyed(target, key, profile=profile, flags=_CREATE)
    try:
        copy.pragma("journal_mode", "OFF")
        copy.pragma("synchronous", "OFF")
        source.execute("BEGIN")
        source.execute("SELECT COUNT(*) FROM sqlite_schema")
        with copy.backup("main", source.raw, "main") as backup:
            while not backup.done:
                backup.step(PAGES_A_STEP)
                if on_progress:
                    on_progress(Progress(done=backup.page_count - backup.remaining, total=backup.page_count, unit="pages"))
    finally:
        if source.raw.in_transaction:
            source.execute("ROLLBACK")
        copy.close()


def export_sqlcipher(source: SqliteConnection, target: Path, *, passphrase: str) -> None:
    """Written anew in SQLCipher 4 format; its reserved bytes differ, so that pages cannot be copied."""
    uri = f"file:{quote(str(target))}?cipher=sqlcipher&legacy=4&key={quote(passphrase, safe='')}"
    source.execute("VACUUM INTO ?", (uri,))


def remove_file(path: Path) -> None:
    """A database's file and what SQLite keeps beside it, gone; for one that was just made and is of no use."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _place(partial: Path, target: Path, *, replace: bool) -> None:
    if replace:
        partial.replace(target)
    else:
        os.link(partial, target)
    if os.name == "posix":
        _sync(target.parent)
