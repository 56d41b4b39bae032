"""Every change of a memory's confidence as a row."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.domain.records import ConfidenceChange
from perdure.engines.sql.connection import Connection, instant_at, marks, micros

_COLUMNS = "memory_id, old_score, new_score, reason, source, created_at"


class SqlConfidence:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, space_id: str, change: ConfidenceChange) -> None:
        self._connection.execute(
            f"INSERT INTO confidence (space_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                space_id,
                change.memory_id,
                change.old_score,
                change.new_score,
                change.reason,
                change.source,
                micros(change.created_at),
            ),
        )

    def history(self, spaces: Sequence[str], memory_id: str) -> list[ConfidenceChange]:
        rows = self._connection.execute(
            f"""
            SELECT {_COLUMNS} FROM confidence WHERE space_id IN ({marks(spaces)}) AND memory_id = ?
            ORDER BY created_at, id
            """,
            (*spaces, memory_id),
        )
        return [
            ConfidenceChange(
                memory_id=row[0],
                old_score=row[1],
                new_score=row[2],
                reason=row[3],
                source=row[4],
                created_at=instant_at(row[5]),
            )
            for row in rows
        ]
