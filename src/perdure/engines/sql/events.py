"""Events as rows (episodic memory)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.domain.records import Event
from perdure.engines.sql.connection import Connection, instant_at, marks, micros

_COLUMNS = "id, space_id, at, type, entity_type, entity_id, entity_name, importance, session_id, agent"


class SqlEvents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, event: Event) -> None:
        self._connection.execute(
            f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                event.id,
                event.space_id,
                micros(event.at),
                event.type,
                event.entity_type,
                event.entity_id,
                event.entity_name,
                event.importance,
                event.session_id,
                event.agent,
            ),
        )

    def recent(self, spaces: Sequence[str], limit: int) -> list[Event]:
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM events WHERE space_id IN ({marks(spaces)}) ORDER BY at DESC, id DESC LIMIT ?",
            (*spaces, limit),
        )
        return [_event(row) for row in rows]


def _event(row: tuple[Any, ...]) -> Event:
    return Event(
        id=row[0],
        space_id=row[1],
        at=instant_at(row[2]),
        type=row[3],
        entity_type=row[4],
        entity_id=row[5],
        entity_name=row[6],
        importance=row[7],
        session_id=row[8],
        agent=row[9],
    )
