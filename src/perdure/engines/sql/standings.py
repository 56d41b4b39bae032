"""What ranking needs of many memories at once, without their texts: standings, and who was recorded beside whom."""

from __future__ import annotations

import json
from collections.abc import Sequence

from perdure.domain.kinds import Kind
from perdure.domain.retrieval import Filter, Standing
from perdure.engines.sql.connection import Connection, Dialect, instant_at, marks
from perdure.engines.sql.filters import conditions

_STANDING = """
SELECT m.id, m.space_id, m.kind, m.occurred_start, m.reinforcements, m.pinned, m.project_id, m.files FROM memories m
"""
_BESIDE = """
(SELECT m.id FROM memories m WHERE m.session_id = c.session_id AND m.recorded_at {side} c.recorded_at AND {conditions}
 ORDER BY m.recorded_at {order} LIMIT 1 OFFSET {offset})
"""


class SqlStandings:
    def __init__(self, connection: Connection, dialect: Dialect) -> None:
        self._connection = connection
        self._dialect = dialect

    def of(self, spaces: Sequence[str], memory_ids: Sequence[str]) -> dict[str, Standing]:
        rows = self._connection.execute(
            f"{_STANDING} WHERE m.space_id IN ({marks(spaces)}) AND m.id IN ({marks(memory_ids)})", (*spaces, *memory_ids)
        )
        return {
            row[0]: Standing(
                memory_id=row[0],
                space_id=row[1],
                kind=Kind(row[2]),
                occurred_start=instant_at(row[3]),
                reinforcements=row[4],
                is_pinned=bool(row[5]),
                project_id=row[6],
                files=tuple(json.loads(row[7])),
            )
            for row in rows
        }

    def beside(self, where: Filter, memory_ids: Sequence[str], reach: int) -> dict[str, list[tuple[str, int]]]:
        found: dict[str, list[tuple[str, int]]] = {}
        for space_id in where.spaces:
            clause = conditions(where, space_id, dialect=self._dialect)
            sides = [("<", "DESC", step) for step in range(reach)] + [(">", "ASC", step) for step in range(reach)]
            columns = ", ".join(
                _BESIDE.format(side=side, order=order, offset=step, conditions=clause.sql) for side, order, step in sides
            )
            rows = self._connection.execute(
                f"""
                SELECT c.id, {columns} FROM memories c
                WHERE c.space_id = ? AND c.session_id IS NOT NULL AND c.id IN ({marks(memory_ids)})
                """,
                (*clause.params * len(sides), space_id, *memory_ids),
            )
            for memory_id, *others in rows:
                found[memory_id] = [
                    (other, step + 1) for other, (_, _, step) in zip(others, sides, strict=True) if other is not None
                ]
        return found
