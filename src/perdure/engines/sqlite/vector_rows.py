"""The rows of vectors: what is stored, what is forgotten and when, and what an index must know before it reads them.

A vector is stored as float16: half the bytes, and cosines differ by less than 0.0005 from those of float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from perdure.engines.sql.connection import Connection

PAGE_ROWS = 4_000

_STATE = "SELECT present, bytes, last FROM vector_states WHERE space_id = ? AND model = ?"
_PAGE = """
SELECT row, windows FROM vectors WHERE space_id = ? AND model = ? AND row > ? AND row <= ? ORDER BY row LIMIT ?
"""
_STRAY = """
FROM vectors WHERE NOT EXISTS (
    SELECT 1 FROM documents d WHERE d.space_id = vectors.space_id AND d.memory_id = vectors.memory_id AND d.model = vectors.model
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Vectors that are compared with each other: those of one space by one model."""

    space_id: str
    model: int
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A shelf in one snapshot: rows and windows present, the last row ever added."""

    present: int
    windows: int
    last: int


def state_of(connection: Connection, shelf: Shelf) -> State:
    rows = connection.execute(_STATE, (shelf.space_id, shelf.model))
    present, size, last = rows[0] if rows else (0, 0, 0)
    return State(present=present, windows=size // (2 * shelf.dimension), last=last)


def pages(connection: Connection, shelf: Shelf, *, after: int, last: int) -> Iterator[list[tuple[int, bytes]]]:
    """(row, windows) of the rows after the first number up to the last one, ascending, page by page."""
    while found := connection.execute(_PAGE, (shelf.space_id, shelf.model, after, last, PAGE_ROWS)):
        yield found
        after = found[-1][0]


def present_rows(connection: Connection, shelf: Shelf, *, last: int) -> list[int]:
    rows = connection.execute(
        "SELECT row FROM vectors WHERE space_id = ? AND model = ? AND row <= ? ORDER BY row", (shelf.space_id, shelf.model, last)
    )
    return [row for (row,) in rows]


def forget(connection: Connection, space_id: str, *, memory_id: str) -> None:
    """Whatever vectors the memory has are gone with this transaction."""
    if connection.execute("DELETE FROM vectors WHERE space_id = ? AND memory_id = ? RETURNING row", (space_id, memory_id)):
        connection.execute("UPDATE documents SET model = NULL WHERE space_id = ? AND memory_id = ?", (space_id, memory_id))


def forget_older(connection: Connection, space_id: str, *, memory_id: str, revision: str) -> None:
    """Vectors of another wording of the memory are gone; those of this one stay."""
    key = (space_id, memory_id)
    if connection.execute("SELECT 1 FROM vectors WHERE space_id = ? AND memory_id = ? AND revision <> ?", (*key, revision)):
        forget(connection, space_id, memory_id=memory_id)


def strays(connection: Connection) -> int:
    """How many memories have vectors that hang on no document."""
    return int(connection.execute(f"SELECT COUNT(*) {_STRAY}")[0][0])


def sweep(connection: Connection) -> None:
    """Remove vectors that hang on no document."""
    connection.execute(f"DELETE {_STRAY}")
