"""SQLite's failures as perdure's own errors; the one place that knows both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from perdure.errors import Busy, Conflict, DiskFull, DiskReadOnly, Internal, PerdureError, VaultDamaged

_FULL_IO = frozenset(
    (
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_NOMEM,
    )
)
"""SQLite tells ENOSPC of a write as SQLITE_FULL, but of other calls that need space as one of these."""

_ERRORS: tuple[tuple[type[apsw.Error], type[PerdureError]], ...] = (
    (apsw.FullError, DiskFull),
    (apsw.ReadOnlyError, DiskReadOnly),
    (apsw.PermissionsError, DiskReadOnly),
    (apsw.CantOpenError, DiskReadOnly),
    (apsw.CorruptError, VaultDamaged),
    (apsw.NotADBError, VaultDamaged),
    (apsw.BusyError, Busy),
    (apsw.LockedError, Busy),
)


def failure_of(error: apsw.Error) -> PerdureError:
    """The named error; one without a name of its own is Internal and keeps SQLite's as its cause only."""
    for theirs, ours in _ERRORS:
        if isinstance(error, theirs):
            return ours()
    if isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) in _FULL_IO:
        return DiskFull()
    if isinstance(error, apsw.ConstraintError):
        return Conflict("A row with that id or name is there already; nothing was changed.")
    return Internal()


@contextmanager
def named_failures() -> Iterator[None]:
    """Errors of SQLite leave the block as perdure's, with SQLite's as the cause."""
    try:
        yield
    except apsw.Error as error:
        raise failure_of(error) from error
