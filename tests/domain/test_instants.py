"""Times as people write them keep what was said: the instant, the day, the month, the offset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.instants import Precision, instant_period, parse_expiry, parse_instant, parse_period, rfc3339
from perdure.errors import InvalidInput

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
OFFSETS = st.integers(-12 * 60 + 1, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=OFFSETS)


@given(MOMENTS)
def test_an_instant_in_any_zone_comes_back_as_the_same_instant_in_utc(moment: datetime) -> None:
    read = parse_instant(rfc3339(moment), "at")
    assert (read, read.tzinfo) == (moment, UTC)
    assert parse_instant(moment.isoformat(), "at") == moment


@given(MOMENTS, MOMENTS)
def test_the_order_of_texts_is_the_order_of_times(one: datetime, other: datetime) -> None:
    assert (rfc3339(one) < rfc3339(other)) == (one < other)
    assert len(rfc3339(one)) == len("2026-11-30T09:15:02.000001Z")


def test_tz1_two_at_night_in_utc_is_that_day_whatever_the_offset_it_was_written_in() -> None:
    assert rfc3339(parse_instant("2026-11-29T18:00:00-08:00", "at")) == "2026-11-30T02:00:00.000000Z"
    assert parse_period("2026-11-30T02:00:00Z").text().startswith("2026-11-30")


def test_tz3_times_with_and_without_an_offset_compare_in_the_right_order() -> None:
    said = ["2025-01-01T00:00:00+09:00", "2025-01-01", "2025-01-01T00:00:00", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00-09:00"]
    starts = [parse_period(text).start for text in said]
    assert starts == sorted(starts)
    assert len(set(starts)) == 3
    assert all(start.utcoffset() == timedelta(0) for start in starts)


def test_tz4_a_time_without_an_offset_is_written_with_one() -> None:
    assert rfc3339(parse_instant("2026-11-30T09:15", "at")) == "2026-11-30T09:15:00.000000Z"


def test_tm4_a_month_is_the_whole_month_and_not_its_first_day() -> None:
    august = parse_period("2026-08")
    assert (august.start, august.end) == (datetime(2026, 8, 1, tzinfo=UTC), datetime(2026, 9, 1, tzinfo=UTC))
    assert (august.precision, august.text()) == (Precision.MONTH, "2026-08")


def test_december_ends_with_the_year_and_february_with_its_last_day() -> None:
    assert parse_period("2026-12").end == datetime(2027, 1, 1, tzinfo=UTC)
    assert parse_period("2028-02").end == parse_period("2028-02-29").end


@given(st.dates(min_value=datetime(1, 1, 3).date(), max_value=datetime(9999, 12, 29).date()), st.integers(-11 * 60, 12 * 60))
def test_a_day_with_an_offset_is_that_day_there_and_comes_back_as_it_was_said(day: object, minutes: int) -> None:
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    said = f"{day}" if minutes == 0 else f"{day}{sign}{size // 60:02}:{size % 60:02}"
    period = parse_period(said)
    assert period.end - period.start == timedelta(days=1)
    assert period.start == datetime.fromisoformat(f"{day}T00:00{sign}{size // 60:02}:{size % 60:02}")
    assert (period.precision, period.text()) == (Precision.DAY, said)


@pytest.mark.parametrize(
    "said", ["0999-01", "0001-01-03", "2026-08", "2026-08-15", "2026-08-15-09:30", "2026-11-30T09:15:02.000001Z"]
)
def test_a_period_comes_back_as_it_was_said(said: str) -> None:
    assert parse_period(f" {said}\n").text() == said


@given(MOMENTS)
def test_a_period_of_an_instant_has_no_length(moment: datetime) -> None:
    period = instant_period(moment)
    assert (period.start, period.end, period.precision) == (moment, moment, Precision.INSTANT)
    assert parse_period(period.text()).start == moment


@pytest.mark.parametrize("raw", ["2026-11-30t09:15:02z", "2026-11-30 09:15:02+00:00", "2026-11-30T10:15:02.0+01:00"])
def test_every_rfc_3339_spelling_of_an_instant_is_read(raw: str) -> None:
    assert parse_instant(raw, "at") == datetime(2026, 11, 30, 9, 15, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "raw",
    [
        "", "soon", "2026", "2026-13", "2026-02-30", "2026-W33", "20260815", "2026-08-15x02:00", "2026-08-15+2", "9999-12",
        "2026-08-15T25:00", "9999-12-31", "9999-12-31T23:59:59-01:00", "2026-08-15T10:00:00Z tomorrow", "15.08.2026",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_the_argument_and_the_forms_there_are(raw: str) -> None:
    with pytest.raises(InvalidInput, match=r"^since: .*2026-08-15.*2026-08") as refusal:
        parse_period(raw, "since")
    assert refusal.value.details == {"argument": "since"}


def test_a_cursor_that_is_no_instant_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput, match=r"^since: must be an RFC 3339 time"):
        parse_instant("2026-08", "since")


@pytest.mark.parametrize(
    ("raw", "end"),
    [
        ("30m", NOON + timedelta(minutes=30)),
        ("36h", NOON + timedelta(hours=36)),
        ("14d", NOON + timedelta(days=14)),
        (" 2 w ", NOON + timedelta(weeks=2)),
        ("3mo", NOON + timedelta(days=90)),
        ("1y", NOON + timedelta(days=365)),
        ("2026-11-30", datetime(2026, 12, 1, tzinfo=UTC)),
        ("2026-12", datetime(2027, 1, 1, tzinfo=UTC)),
        ("2026-11-30T12:00:00.000001Z", NOON + timedelta(microseconds=1)),
    ],
)
def test_an_expiry_is_a_duration_or_the_end_of_what_is_named(raw: str, end: datetime) -> None:
    assert parse_expiry(raw, NOON) == end


@pytest.mark.parametrize("raw", ["0d", "2026-11-29", "2026-10", "2026-11-30T12:00:00Z", "1999-01-01"])
def test_an_expiry_that_has_passed_is_refused(raw: str) -> None:
    with pytest.raises(InvalidInput, match=r"^expires: must lie in the future"):
        parse_expiry(raw, NOON)


@pytest.mark.parametrize("raw", ["14 days", "-1d", "1.5h", "", "never", "1s"])
def test_an_expiry_in_no_known_form_is_refused_with_the_forms(raw: str) -> None:
    with pytest.raises(InvalidInput, match=r"^expires: must be a duration such as 14d"):
        parse_expiry(raw, NOON)


def test_an_expiry_beyond_all_calendars_is_refused() -> None:
    with pytest.raises(InvalidInput, match="too far"):
        parse_expiry("99999y", NOON)
