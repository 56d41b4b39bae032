"""Small private files that are replaced whole or not at all, under a lock that every process keeps."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.errors import Busy, DiskFull, DiskReadOnly

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FULL = {errno.ENOSPC, errno.EDQUOT}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_PRIVATE = 0o600
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

Stamp = tuple[int, int, int, int]
"""Modification and change time in nanoseconds, size and inode: another stamp means another file."""


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def read_file(path: Path) -> tuple[bytes, Stamp]:
    """The content and the stamp of the very file that was read."""
    with path.open("rb") as file:
        return file.read(), stamp_of(os.fstat(file.fileno()))


def make_folder(path: Path) -> None:
    """Make the folder for its owner alone; one that is there already is left as it is."""
    with _named_disk_errors():
        path.mkdir(mode=0o700, parents=True, exist_ok=True)


def create_file(path: Path, content: bytes) -> None:
    """Write a new durable file of mode 0600. Raises FileExistsError: nothing is ever overwritten."""
    with _named_disk_errors():
        _write_new(path, content)
        _sync_folder(path.parent)


def replace_file(path: Path, content: bytes) -> None:
    """Put the content in place of the file, durably: after a crash the old or the new one is there, whole.

    The caller holds the lock, so the temporary name can be a fixed one, and what a crash left under it is swept away.
    """
    temporary = path.with_name(f"{path.name}.new")
    with _named_disk_errors():
        temporary.unlink(missing_ok=True)
        _write_new(temporary, content)
        os.replace(temporary, path)
        _sync_folder(path.parent)


def delete_file(path: Path) -> None:
    """Delete it, durably; fine when it is gone already."""
    with _named_disk_errors():
        path.unlink(missing_ok=True)
        _sync_folder(path.parent)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file alone among all threads and processes; a process that dies gives it back."""
    with _named_disk_errors():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, _PRIVATE)
    try:
        _lock(descriptor)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, _NEW, _PRIVATE)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            _sync(descriptor)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # there fsync stops at the drive's own cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # a folder cannot be opened there, and NTFS keeps its own journal of names
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # waits up to ten seconds
        except OSError as error:
            raise Busy("Another process is changing the key header; try again in a moment.") from error
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _unlock(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def _named_disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull() from error
        if error.errno in _READ_ONLY:
            raise DiskReadOnly() from error
        raise
