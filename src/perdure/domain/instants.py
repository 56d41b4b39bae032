"""Times as people write them: an instant, a day or a month, each kept with its precision (SEMANTICS 2).

Everything is UTC with offset and microseconds. A date without a time means its whole day, in UTC unless an offset is given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from perdure.errors import InvalidInput


class Precision(StrEnum):
    INSTANT = "instant"
    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """When something happened: from `start` up to, not including, `end`; for an instant both are the same."""

    start: datetime
    end: datetime
    precision: Precision

    def text(self) -> str:
        """As it was said: `2026-08`, `2026-08-15` (with its offset if it was a day elsewhere) or the whole RFC 3339 instant."""
        if self.precision is Precision.MONTH:
            return self.start.date().isoformat()[:7]
        if self.precision is Precision.DAY:
            return _day_text(self.start)
        return rfc3339(self.start)


def rfc3339(instant: datetime) -> str:
    """`2026-11-30T09:15:02.000001Z`: always microseconds, always Z, so that text order is time order."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


_MONTH = re.compile(r"(\d{4})-(\d{2})")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(Z|[+-]\d{2}:\d{2})?", re.IGNORECASE)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?", re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,5})\s*(m|h|d|w|mo|y)")
_DURATION_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}


def instant_period(instant: datetime) -> Period:
    return Period(start=instant, end=instant, precision=Precision.INSTANT)


def parse_period(raw: str, argument: str = "occurred_at") -> Period:
    """Read an RFC 3339 time, a day (`2026-08-15`, `2026-08-15+02:00`) or a month (`2026-08`). What has no offset is UTC.

    Raises InvalidInput, naming the argument and the forms allowed.
    """
    text = raw.strip()
    try:
        if match := _MONTH.fullmatch(text):
            year, month = int(match[1]), int(match[2])
            start = datetime(year, month, 1, tzinfo=UTC)
            end = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
            return Period(start=start, end=end, precision=Precision.MONTH)
        if _DAY.fullmatch(text):
            start = parse_instant(text, argument)
            return Period(start=start, end=start + timedelta(days=1), precision=Precision.DAY)
        return instant_period(parse_instant(text, argument))
    except (ValueError, OverflowError, InvalidInput) as error:
        raise InvalidInput(
            f"{argument}: must be an RFC 3339 time, a day like 2026-08-15 or a month like 2026-08", argument=argument
        ) from error


def parse_instant(raw: str, argument: str) -> datetime:
    """Read one instant; a day means its first moment. Raises InvalidInput, naming the argument."""
    text = raw.strip()
    try:
        if day := _DAY.fullmatch(text):
            text = f"{day[1]}T00:00{day[2] or ''}"
        elif not _INSTANT.fullmatch(text):
            raise ValueError(argument)  # fromisoformat reads much more, and some of it wrongly: "2026-08-15+02:00" as two o'clock
        instant = datetime.fromisoformat(text.upper())
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{argument}: must be an RFC 3339 time such as 2026-11-30T09:15:02Z", argument=argument) from error


def parse_expiry(raw: str, now: datetime, *, argument: str = "expires") -> datetime:
    """Read when something ends: a duration (`14d`, `36h`, `2w`, `3mo`, `1y`), a day or month (their end), or a time.

    Raises InvalidInput, naming the argument and the forms allowed, also for an end that has passed.
    """
    text = raw.strip()
    if match := _DURATION.fullmatch(text):
        try:
            end = now + int(match[1]) * _DURATION_UNITS[match[2]]
        except OverflowError as error:
            raise InvalidInput(f"{argument}: lies too far in the future", argument=argument) from error
    else:
        try:
            end = parse_period(text, argument).end
        except InvalidInput as error:
            raise InvalidInput(
                f"{argument}: must be a duration such as 14d, a date or an RFC 3339 time", argument=argument
            ) from error
    if end <= now:
        raise InvalidInput(f"{argument}: must lie in the future", argument=argument)
    return end


def _day_text(start: datetime) -> str:
    """A day that began elsewhere than at midnight UTC is named with an offset, the one of up to twelve hours."""
    behind = timedelta(hours=start.hour, minutes=start.minute)
    if not behind:
        return start.date().isoformat()
    is_west = behind < timedelta(hours=12)
    minutes = (behind if is_west else timedelta(days=1) - behind) // timedelta(minutes=1)
    day = start.date() + timedelta(days=not is_west)
    return f"{day.isoformat()}{'-' if is_west else '+'}{minutes // 60:02}:{minutes % 60:02}"
