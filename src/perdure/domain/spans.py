"""Dates as people name them in a question, and how far a day lies from them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import date

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_PATTERNS = (
    re.compile(rf"\b{_DAY}(?: of)? {_MONTH}\b,?(?: {_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\.? {_DAY}\b(?!\d)(?:,? {_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\b"),
)
_WHOLE_MONTH = re.compile(rf"\b{_MONTH}\b,?(?: of)?(?: {_YEAR})?", re.IGNORECASE)
_ALSO_WORDS = ("may", "march", "mar")
_BEFORE = r"\b(?:in|of|since|until|during|by|before|after|late|early|mid) "

Span = tuple[date, date]
"""First and last day."""


def spans_in(text: str, years: Sequence[int]) -> list[Span]:
    """The first date or month that a text names; one for each of `years` where it names no year itself.

    A month alone must be written with a capital, and one that is also a word (May, March) must follow a word such as "in".
    """
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            return _spans(match, years)
    for match in _WHOLE_MONTH.finditer(text):
        name = match["month"]
        if name[0].isupper() and (match["year"] or name.lower() not in _ALSO_WORDS or re.search(_BEFORE + name, text)):
            return _spans(match, years)
    return []


def gap_days(spans: Sequence[Span], day: date) -> int:
    """Days between a day and the nearest of the spans; 0 inside one."""
    return min(max(0, (first - day).days, (day - last).days) for first, last in spans)


def _spans(match: re.Match[str], years: Sequence[int]) -> list[Span]:
    named = match.groupdict()
    month = int(named["month"]) if named["month"].isdigit() else _MONTHS[named["month"].lower()]
    found = []
    for year in [int(named["year"])] if named["year"] else years:
        try:
            if named.get("day"):
                found.append((date(year, month, int(named["day"])),) * 2)
            else:
                found.append((date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])))
        except (ValueError, calendar.IllegalMonthError):
            continue
    return found
