"""A Filter as SQL conditions over a memory row `m`: joined from literals, every value a parameter.

`recorded_from` and `occurred_from` are inclusive, `recorded_to` and `occurred_to` exclusive, as the ends of a Period are. What
occurred over a period matches when the two overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from perdure.domain.retrieval import Filter
from perdure.engines.sql.connection import Dialect, Value, marks, micros

LIVE = "m.archived_at IS NULL AND m.review <> 'superseded'"


@dataclass(slots=True)
class Conditions:
    """Conditions that must all hold, with their parameters in order."""

    parts: list[str] = field(default_factory=list)
    params: list[Value] = field(default_factory=list)

    def add(self, part: str, *params: Value) -> None:
        self.parts.append(part)
        self.params.extend(params)

    def any_of(self, column: str, values: Sequence[str]) -> None:
        if values:
            self.add(f"{column} IN ({marks(values)})", *values)

    @property
    def sql(self) -> str:
        return " AND ".join(self.parts) or "1 = 1"


def conditions(where: Filter, space_id: str, *, dialect: Dialect) -> Conditions:
    """The filter's conditions in one of its spaces."""
    result = Conditions()
    result.add("m.space_id = ?", space_id)
    if not where.archived:
        result.add(LIVE)
    _columns(result, where)
    _labels(result, where, dialect=dialect)
    _times(result, where)
    return result


def _columns(result: Conditions, where: Filter) -> None:
    result.any_of("m.kind", where.kinds)
    result.any_of("m.review", where.reviews)
    if where.project_id is not None:
        result.add("m.project_id = ?", where.project_id)
    if where.session_id is not None:
        result.add("m.session_id = ?", where.session_id)
    if where.agent is not None:
        result.add("m.agent = ?", where.agent)
    if where.source is not None:
        result.add("m.source = ?", where.source)
    if where.channel is not None:
        result.add("m.channel = ?", where.channel)
    if where.derived is not None:
        result.add("m.derived = ?", int(where.derived))


def _labels(result: Conditions, where: Filter, *, dialect: Dialect) -> None:
    for tag in where.tags:
        result.add(dialect.has_tag, tag)
    if where.files:
        result.add(f"({' OR '.join([dialect.has_file] * len(where.files))})", *where.files)


def _times(result: Conditions, where: Filter) -> None:
    if where.recorded_from is not None:
        result.add("m.recorded_at >= ?", micros(where.recorded_from))
    if where.recorded_to is not None:
        result.add("m.recorded_at < ?", micros(where.recorded_to))
    if where.occurred_from is not None:
        start = micros(where.occurred_from)
        result.add("(m.occurred_end > ? OR m.occurred_start >= ?)", start, start)
    if where.occurred_to is not None:
        result.add("m.occurred_start < ?", micros(where.occurred_to))
