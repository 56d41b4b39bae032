"""Spaces as rows."""

from __future__ import annotations

from typing import Any

from perdure.domain.scopes import Space, SpaceKind
from perdure.engines.sql.connection import Connection, instant_at, micros

_SELECT = "SELECT id, kind, name, owner_id, number, created_at FROM spaces"


class SqlSpaces:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, space: Space) -> None:
        self._connection.execute(
            "INSERT INTO spaces (id, kind, name, owner_id, number, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            (space.id, space.kind.value, space.name, space.owner_id, space.number, micros(space.created_at)),
        )

    def get(self, space_id: str) -> Space | None:
        rows = self._connection.execute(f"{_SELECT} WHERE id = ?", (space_id,))
        return _space(rows[0]) if rows else None

    def all(self) -> list[Space]:
        """By number, the first made first."""
        return [_space(row) for row in self._connection.execute(f"{_SELECT} ORDER BY number")]


def _space(row: tuple[Any, ...]) -> Space:
    return Space(id=row[0], kind=SpaceKind(row[1]), name=row[2], owner_id=row[3], number=row[4], created_at=instant_at(row[5]))
