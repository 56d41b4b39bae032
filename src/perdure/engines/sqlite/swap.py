"""A backup in the vault's place: staged whole beside it, then swapped by renames that a crash cannot leave half done.

What was there goes into a folder of its own under a name never used before, so that no restore, however many follow, erases a
vault. The mark is written before the first rename and names that folder; a start that finds it finishes the swap, which is the
same renames again, each only if it is still to be done.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from perdure.errors import DiskFull, DiskReadOnly

MARK = "restoring"
INCOMING = "incoming"
HEADER = "header.json"


class Swap:
    """Over the folder that holds the vault's file and the header."""

    def __init__(self, vault: Path) -> None:
        self._vault = vault
        self._folder = vault.parent
        self._mark = self._folder / MARK
        self.incoming = self._folder / INCOMING

    def stage(self, source: Path) -> Path:
        """A durable copy of a backup's file; answers the folder where the header is to be put beside it."""
        with _named():
            self.discard()
            self.incoming.mkdir(mode=0o700, parents=True)
            target = self.incoming / self._vault.name
            shutil.copyfile(source, target)
            target.chmod(0o600)
            _sync(target)
            _sync(self.incoming)
        return self.incoming

    def discard(self) -> None:
        """What was staged and not taken."""
        if not self._mark.exists():
            shutil.rmtree(self.incoming, ignore_errors=True)

    def run(self) -> Path:
        """Take what is staged; answers the folder that keeps what was there. The vault is closed."""
        kept = self._folder / f"replaced-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
        with _named():
            self._mark.write_text(kept.name, encoding="ascii")
            _sync(self._mark)
            _sync(self._folder)
            self._finish(kept)
        return kept

    def resume(self) -> None:
        """Finish a swap that was cut off; sweep away what was staged and not taken."""
        if self._mark.exists():
            with _named():
                self._finish(self._folder / self._mark.read_text(encoding="ascii"))
        elif self.incoming.exists():
            self.discard()

    def _finish(self, kept: Path) -> None:
        kept.mkdir(mode=0o700, exist_ok=True)
        self._take(self._vault.name, (f"{self._vault.name}-wal", self._vault.name), kept=kept)
        self._take(HEADER, (HEADER,), kept=kept)
        for folder in (kept, self._folder):
            _sync(folder)
        self._mark.unlink()
        self.discard()
        _sync(self._folder)

    def _take(self, name: str, old: tuple[str, ...], *, kept: Path) -> None:
        new = self.incoming / name
        if not new.exists():
            return
        for each in old:
            with contextlib.suppress(FileNotFoundError):
                (self._folder / each).rename(kept / each)
        (self._folder / f"{name}-shm").unlink(missing_ok=True)
        new.rename(self._folder / name)


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise (DiskFull() if error.errno in (errno.ENOSPC, errno.EDQUOT) else DiskReadOnly()) from error


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
