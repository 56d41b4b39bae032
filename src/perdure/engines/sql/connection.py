"""What the shared SQL needs of an engine: a connection that runs a statement, its dialect, and a clock.

Statements are literals of this package (or joined from its literals); what comes from outside is a parameter, always. A time is
stored as whole microseconds since 1970 in UTC, so that order, ranges and arithmetic are those of integers in every engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

Value = str | int | float | bytes | None

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Connection(Protocol):
    """One connection inside one transaction. Parameters stand as `?` in the order of use."""

    def execute(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Any, ...]]: ...


class Clock(Protocol):
    """Gives instants and ids inside a write transaction."""

    def instant(self) -> datetime: ...
    def new_id(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The few expressions that engines spell differently."""

    has_tag: str
    """True when the JSON array `m.tags` holds the text `?`."""
    has_file: str


def micros(instant: datetime) -> int:
    return (instant - _EPOCH) // _MICROSECOND


def micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else micros(instant)


def instant_at(stored: int) -> datetime:
    return _EPOCH + timedelta(microseconds=stored)


def instant_or_none(stored: int | None) -> datetime | None:
    return None if stored is None else instant_at(stored)


def marks(values: Sequence[object]) -> str:
    """`?, ?, ?` for an IN list of so many values; `NULL` for none, which matches nothing."""
    return ", ".join("?" * len(values)) or "NULL"
