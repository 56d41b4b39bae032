"""A graph kept in the vault: in parts, one short transaction each, believed only when all of it is there as it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b

from perdure.engines.sql.connection import Connection
from perdure.engines.sqlite.vector_rows import Shelf

PART_BYTES = 1 << 20

Step = Callable[[Connection], object]


def steps(shelf: Shelf, kept: bytes, *, format_name: str) -> Iterator[Step]:
    """The transactions that keep it, to be done in order; until the last one there is no graph."""
    key = (shelf.space_id, shelf.model)
    parts = [kept[start : start + PART_BYTES] for start in range(0, len(kept), PART_BYTES)]
    yield lambda connection: forget(connection, shelf.space_id)
    for number, part in enumerate(parts):
        yield _part_step(key, number, part=part)
    checksum = _checksum(shelf, format_name, kept=kept)
    yield lambda connection: connection.execute(
        "INSERT OR REPLACE INTO vector_graphs (space_id, model, format, parts, checksum) VALUES (?, ?, ?, ?, ?)",
        (*key, format_name, len(parts), checksum),
    )


def load(connection: Connection, shelf: Shelf, *, format_name: str) -> bytes | None:
    """The kept graph; None when there is none of this format, whole and unchanged."""
    key = (shelf.space_id, shelf.model)
    known = connection.execute("SELECT format, parts, checksum FROM vector_graphs WHERE space_id = ? AND model = ?", key)
    if not known or known[0][0] != format_name:
        return None
    rows = connection.execute("SELECT bytes FROM vector_graph_parts WHERE space_id = ? AND model = ? ORDER BY part", key)
    kept = b"".join(part for (part,) in rows)
    return kept if len(rows) == known[0][1] and _checksum(shelf, format_name, kept=kept) == known[0][2] else None


def forget(connection: Connection, space_id: str) -> None:
    """No graph of the space is kept, of whatever model."""
    connection.execute("DELETE FROM vector_graphs WHERE space_id = ?", (space_id,))
    connection.execute("DELETE FROM vector_graph_parts WHERE space_id = ?", (space_id,))


def _part_step(key: tuple[str, int], number: int, *, part: bytes) -> Step:
    return lambda connection: connection.execute(
        "INSERT OR REPLACE INTO vector_graph_parts (space_id, model, part, bytes) VALUES (?, ?, ?, ?)", (*key, number, part)
    )


def _checksum(shelf: Shelf, format_name: str, *, kept: bytes) -> bytes:
    """Of the bytes and of whose they are."""
    whose = f"{shelf.space_id} {shelf.model} {shelf.dimension} {format_name}".encode()
    return blake2b(kept, digest_size=32, key=blake2b(whose, digest_size=32).digest()).digest()
