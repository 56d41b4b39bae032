from __future__ import annotations

from datetime import date

import pytest

from perdure.domain.spans import gap_days, spans_in


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("What did she do on 7 May 2023?", (date(2023, 5, 7), date(2023, 5, 7))),
        ("on the 3rd of June", (date(2022, 6, 3), date(2022, 6, 3))),
        ("what happened on May 7th, 2023", (date(2023, 5, 7), date(2023, 5, 7))),
        ("logged 2023-05-07 here", (date(2023, 5, 7), date(2023, 5, 7))),
        ("plans for February 2024", (date(2024, 2, 1), date(2024, 2, 29))),
        ("since March", (date(2022, 3, 1), date(2022, 3, 31))),
    ],
)
def test_a_date_in_a_question_is_read_with_its_precision(text: str, span: tuple[date, date]) -> None:
    assert spans_in(text, [2022]) == [span]


@pytest.mark.parametrize("text", ["may I ask", "March on", "they march", "31 February 2023", "2023-99-99", "", "version 1.2.3"])
def test_what_is_no_date_names_none(text: str) -> None:
    assert spans_in(text, [2022]) == []


def test_a_date_without_a_year_is_one_of_each_year_asked_about() -> None:
    assert spans_in("on 7 May", [2022, 2023]) == [(date(2022, 5, 7),) * 2, (date(2023, 5, 7),) * 2]


def test_a_gap_is_the_days_to_the_nearest_span_and_none_inside_it() -> None:
    may = [(date(2023, 5, 1), date(2023, 5, 31))]
    assert gap_days(may, date(2023, 5, 15)) == 0
    assert gap_days(may, date(2023, 6, 2)) == 2
    assert gap_days([*may, (date(2023, 6, 1),) * 2], date(2023, 6, 2)) == 1
