"""Typed edges between stored things, as rows."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.domain.records import Link
from perdure.engines.sql.connection import Connection, instant_at, micros

_COLUMNS = "id, space_id, kind, source_type, source_id, target_type, target_id, created_at"
_OF = f"""
SELECT {_COLUMNS} FROM links WHERE space_id = ? AND source_id = ?
UNION
SELECT {_COLUMNS} FROM links WHERE space_id = ? AND target_id = ?
"""


class SqlLinks:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, link: Link) -> None:
        self._connection.execute(
            f"INSERT INTO links ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                link.id,
                link.space_id,
                link.kind,
                link.source_type,
                link.source_id,
                link.target_type,
                link.target_id,
                micros(link.created_at),
            ),
        )

    def of(self, spaces: Sequence[str], entity_id: str) -> list[Link]:
        rows = []
        for space_id in spaces:
            rows += self._connection.execute(_OF, (space_id, entity_id, space_id, entity_id))
        links = [
            Link(
                id=row[0],
                space_id=row[1],
                kind=row[2],
                source_type=row[3],
                source_id=row[4],
                target_type=row[5],
                target_id=row[6],
                created_at=instant_at(row[7]),
            )
            for row in rows
        ]
        return sorted(links, key=lambda link: (link.created_at, link.id))

    def remove(self, space_id: str, link_id: str) -> None:
        self._connection.execute("DELETE FROM links WHERE space_id = ? AND id = ?", (space_id, link_id))
