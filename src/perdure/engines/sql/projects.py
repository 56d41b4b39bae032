"""Projects as rows, found by id, name or slug."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.domain.scopes import Project
from perdure.engines.sql.connection import Connection, instant_at, instant_or_none, marks, micros

_COLUMNS = "p.id, p.space_id, p.slug, p.name, p.folder, p.created_at"
_FIND = f"""
SELECT CASE WHEN p.id = ? THEN 0 WHEN p.name = ? THEN 1 WHEN p.slug = ? THEN 2 ELSE 3 END AS how, {_COLUMNS}
FROM projects p
WHERE p.space_id = ? AND (p.id = ? OR p.name = ? OR p.slug = ? OR p.folded_name = ?)
ORDER BY how, p.created_at LIMIT 1
"""


class SqlProjects:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, project: Project) -> None:
        self._connection.execute(
            "INSERT INTO projects (space_id, id, slug, name, folded_name, folder, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                project.space_id,
                project.id,
                project.slug,
                project.name,
                project.name.casefold(),
                project.folder,
                micros(project.created_at),
            ),
        )

    def get(self, space_id: str, project_id: str) -> Project | None:
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM projects p WHERE p.space_id = ? AND p.id = ?", (space_id, project_id)
        )
        return _project(rows[0]) if rows else None

    def find(self, spaces: Sequence[str], name: str) -> Project | None:
        found = []
        for space_id in spaces:
            found += self._connection.execute(_FIND, (name, name, name, space_id, name, name, name, name.casefold()))
        return _project(min(found, key=lambda row: int(row[0]))[1:]) if found else None

    def slugs(self, space_id: str, prefix: str) -> set[str]:
        rows = self._connection.execute(
            "SELECT slug FROM projects WHERE space_id = ? AND substr(slug, 1, length(?)) = ?", (space_id, prefix, prefix)
        )
        return {row[0] for row in rows}

    def list(self, spaces: Sequence[str]) -> list[Project]:
        rows = self._connection.execute(
            f"""
            SELECT {_COLUMNS}, COUNT(m.recorded_at), MAX(m.recorded_at)
            FROM projects p
            LEFT JOIN memories m ON m.space_id = p.space_id AND m.project_id = p.id
                AND m.archived_at IS NULL AND m.review <> 'superseded'
            WHERE p.space_id IN ({marks(spaces)})
            GROUP BY p.space_id, p.id
            ORDER BY COALESCE(MAX(m.recorded_at), p.created_at) DESC, p.id DESC
            """,
            tuple(spaces),
        )
        return [_project(row) for row in rows]


def _project(row: tuple[Any, ...]) -> Project:
    count, last = row[6:] or (0, None)
    return Project(
        id=row[0],
        space_id=row[1],
        slug=row[2],
        name=row[3],
        folder=row[4],
        created_at=instant_at(row[5]),
        memories=count,
        last_at=instant_or_none(last),
    )
