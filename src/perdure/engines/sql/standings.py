"""What ranking needs of many memories at once, without their texts: standings, and who was recorded beside whom."""

from __future__ import annotations

import json
from collections.abc import Sequence

from perdure.domain.kinds import Kind
from perdure.domain.retrieval import Filter, Standing
from perdure.engines.sql.connection import Connection, Dialect, instant_at, marks
from perdure.engines.sql.filters import conditions

LONG_BYTES = 16_384
"""Of longer texts neither opening nor end is looked at: it would cost reading them whole."""

_STANDING = f"""
SELECT m.id, m.space_id, m.kind, m.occurred_start, m.reinforcements, m.pinned, m.project_id, m.files, m.session_id,
    octet_length(m.content),
    CASE WHEN octet_length(m.content) <= {LONG_BYTES} THEN substr(m.content, 1, 48) ELSE '' END,
    CASE WHEN octet_length(m.content) <= {LONG_BYTES} THEN substr(rtrim(m.content), -1) ELSE '' END
FROM memories m
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
                session_id=row[8],
                chars=row[9],
                opening=row[10],
                asks=row[11] == "?",
            )
            for row in rows
        }

    def beside(self, where: Filter, memory_ids: Sequence[str], reach: int) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for space_id in where.spaces:
            clause = conditions(where, space_id, dialect=self._dialect)
            places = [*range(-reach, 0), *range(1, reach + 1)]
            columns = ", ".join(
                _BESIDE.format(
                    side="<" if place < 0 else ">",
                    order="DESC" if place < 0 else "ASC",
                    offset=abs(place) - 1,
                    conditions=clause.sql,
                )
                for place in places
            )
            rows = self._connection.execute(
                f"""
                SELECT c.id, {columns} FROM memories c
                WHERE c.space_id = ? AND c.session_id IS NOT NULL AND c.id IN ({marks(memory_ids)})
                """,
                (*clause.params * len(places), space_id, *memory_ids),
            )
            for memory_id, *others in rows:
                found[memory_id] = {place: other for place, other in zip(places, others, strict=True) if other is not None}
        return found
