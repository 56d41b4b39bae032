"""Memories, their versions, numbers and tombstones as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, MemoryVersion
from perdure.domain.retrieval import Filter
from perdure.engines.sql.connection import Connection, Dialect, Value, marks, micros
from perdure.engines.sql.filters import Conditions, conditions
from perdure.engines.sql.memory_rows import (
    MEMORY_COLUMNS,
    VERSION_COLUMNS,
    memory_of,
    memory_values,
    version_of,
    version_values,
)

Rows = list[tuple[Any, ...]]
Memories = list[Memory]

_SELECT = f"""
SELECT {", ".join(f"m.{column}" for column in MEMORY_COLUMNS)}, p.slug, p.name
FROM memories m LEFT JOIN projects p ON p.space_id = m.space_id AND p.id = m.project_id
"""
_INSERT = f"INSERT INTO memories ({', '.join(MEMORY_COLUMNS)}) VALUES ({marks(MEMORY_COLUMNS)})"
_UPDATE = f"""
UPDATE memories SET {", ".join(f"{column} = ?" for column in MEMORY_COLUMNS[2:])} WHERE space_id = ? AND id = ?
"""
_INSERT_VERSION = f"INSERT INTO memory_versions ({', '.join(VERSION_COLUMNS)}) VALUES ({marks(VERSION_COLUMNS)})"
_CLOSE_VERSION = """
UPDATE memory_versions SET valid_to = ? WHERE space_id = ? AND memory_id = ? AND valid_to IS NULL
"""
_NEXT_NUMBER = """
INSERT INTO counters (space_id, project_id, kind, last) VALUES (?, ?, ?, 1)
ON CONFLICT (space_id, project_id, kind) DO UPDATE SET last = counters.last + 1
RETURNING last
"""
_RAISE_NUMBER = """
INSERT INTO counters (space_id, project_id, kind, last) VALUES (?, ?, ?, ?)
ON CONFLICT (space_id, project_id, kind) DO UPDATE SET last = MAX(counters.last, excluded.last)
"""
_HAS_NUMBER = """
SELECT 1 FROM memories WHERE space_id = ? AND project_id IS NOT DISTINCT FROM ? AND kind = ? AND number = ? LIMIT 1
"""
_PURGE = (
    "DELETE FROM memory_versions WHERE space_id = ? AND memory_id = ?",
    "DELETE FROM confidence WHERE space_id = ? AND memory_id = ?",
    "DELETE FROM jobs WHERE space_id = ? AND entity_id = ?",
    "DELETE FROM links WHERE space_id = ? AND source_id = ?",
    "DELETE FROM links WHERE space_id = ? AND target_id = ?",
    "UPDATE events SET entity_name = '' WHERE space_id = ? AND entity_id = ?",
    "DELETE FROM memories WHERE space_id = ? AND id = ?",
)


class SqlMemories:
    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def add(self, memory: Memory, version: MemoryVersion) -> None:
        self._connection.execute(_INSERT, memory_values(memory))
        self._connection.execute(_INSERT_VERSION, version_values(memory.space_id, version))

    def save(self, memory: Memory, version: MemoryVersion | None = None) -> None:
        self._connection.execute(_UPDATE, (*memory_values(memory)[2:], memory.space_id, memory.id))
        if version is not None:
            self._connection.execute(_CLOSE_VERSION, (micros(version.valid_from), memory.space_id, memory.id))
            self._connection.execute(_INSERT_VERSION, version_values(memory.space_id, version))

    def get(self, spaces: Sequence[str], memory_id: str) -> Memory | None:
        return self.get_many(spaces, (memory_id,)).get(memory_id)

    def get_many(self, spaces: Sequence[str], memory_ids: Sequence[str]) -> dict[str, Memory]:
        rows = self._connection.execute(
            f"{_SELECT} WHERE m.space_id IN ({marks(spaces)}) AND m.id IN ({marks(memory_ids)})", (*spaces, *memory_ids)
        )
        return {memory.id: memory for memory in map(memory_of, rows)}

    def versions(self, spaces: Sequence[str], memory_id: str) -> list[MemoryVersion]:
        rows = self._connection.execute(
            f"""
            SELECT {", ".join(VERSION_COLUMNS)} FROM memory_versions
            WHERE space_id IN ({marks(spaces)}) AND memory_id = ? ORDER BY version
            """,
            (*spaces, memory_id),
        )
        return [version_of(row) for row in rows]

    def next_number(self, space_id: str, project_id: str | None, kind: Kind) -> int:
        return int(self._connection.execute(_NEXT_NUMBER, (space_id, project_id or "", kind.value))[0][0])

    def reserve_number(self, space_id: str, project_id: str | None, kind: Kind, number: int) -> int:
        if number < 1 or self._connection.execute(_HAS_NUMBER, (space_id, project_id, kind.value, number)):
            return self.next_number(space_id, project_id, kind)
        self._connection.execute(_RAISE_NUMBER, (space_id, project_id or "", kind.value, number))
        return number

    def by_fingerprint(self, space_id: str, fingerprint: str, since: datetime) -> Memory | None:
        rows = self._connection.execute(
            f"{_SELECT} WHERE m.space_id = ? AND m.fingerprint = ? AND m.recorded_at >= ? ORDER BY m.recorded_at, m.id LIMIT 1",
            (space_id, fingerprint, micros(since)),
        )
        return memory_of(rows[0]) if rows else None

    def count(self, where: Filter) -> int:
        return sum(
            int(self._connection.execute(f"SELECT COUNT(*) FROM memories m WHERE {clause.sql}", clause.params)[0][0])
            for clause in self._each(where)
        )

    def ids(self, where: Filter) -> list[str]:
        rows: list[tuple[Any, ...]] = []
        for clause in self._each(where):
            rows += self._connection.execute(f"SELECT m.recorded_at, m.id FROM memories m WHERE {clause.sql}", clause.params)
        return [memory_id for _, memory_id in sorted(rows)]

    def purge(self, space_id: str, memory_id: str, at: datetime) -> None:
        for statement in _PURGE:
            self._connection.execute(statement, (space_id, memory_id))
        self._connection.execute(
            "INSERT INTO tombstones (space_id, memory_id, purged_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (space_id, memory_id, micros(at)),
        )

    def is_purged(self, memory_id: str) -> bool:
        return bool(self._connection.execute("SELECT 1 FROM tombstones WHERE memory_id = ? LIMIT 1", (memory_id,)))

    def export(self, spaces: Sequence[str], *, after: datetime | None, limit: int) -> list[tuple[Memory, list[MemoryVersion]]]:
        """Memories recorded at one same instant (imported ones) are never parted: a page may be longer than the limit."""
        where = Filter(spaces=tuple(spaces), archived=True)
        memories = self.list(where, limit=limit, oldest_first=True, after=after)
        if len(memories) == limit:
            memories += self._recorded_with(spaces, memories[-1])
        return [(memory, self.versions((memory.space_id,), memory.id)) for memory in memories]

    def list(
        self, where: Filter, *, limit: int, offset: int = 0, oldest_first: bool = False, after: datetime | None = None
    ) -> list[Memory]:
        order = "ASC" if oldest_first else "DESC"
        rows: list[tuple[Any, ...]] = []
        for space_id in where.spaces:
            clause = conditions(where, space_id, dialect=self._dialect)
            if after is not None:
                clause.add("m.recorded_at > ?" if oldest_first else "m.recorded_at < ?", micros(after))
            rows += self._page(clause, order, limit=limit + offset)
        memories = sorted(map(memory_of, rows), key=lambda m: (m.recorded_at, m.id), reverse=not oldest_first)
        return memories[offset : offset + limit]

    def _recorded_with(self, spaces: Sequence[str], last: Memory) -> Memories:
        rows = self._connection.execute(
            f"{_SELECT} WHERE m.space_id IN ({marks(spaces)}) AND m.recorded_at = ? AND m.id > ? ORDER BY m.id",
            (*spaces, micros(last.recorded_at), last.id),
        )
        return [memory_of(row) for row in rows]

    def _page(self, clause: Conditions, order: str, *, limit: int) -> Rows:
        params: tuple[Value, ...] = (*clause.params, limit)
        return self._connection.execute(
            f"{_SELECT} WHERE {clause.sql} ORDER BY m.recorded_at {order}, m.id {order} LIMIT ?", params
        )

    def _each(self, where: Filter) -> Iterator[Conditions]:
        return (conditions(where, space_id, dialect=self._dialect) for space_id in where.spaces)
