"""A handoff reads back as it was written, and every limit of the contract holds at its edge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.handoff import STATUSES, Handoff, Verification, parse_handoff
from perdure.errors import InvalidInput

TEXTS = st.text(min_size=1, max_size=80).filter(lambda text: bool(text.strip()))
HANDOFFS = st.builds(
    Handoff,
    completed=st.lists(TEXTS, max_size=12).map(tuple),
    verification=st.lists(
        st.builds(Verification, check=TEXTS, status=st.sampled_from(STATUSES), details=st.none() | TEXTS), max_size=12
    ).map(tuple),
    blockers=st.lists(TEXTS, max_size=12).map(tuple),
    next_action=TEXTS,
)


def _raw(**changes: Any) -> dict[str, Any]:
    return {"completed": [], "verification": [], "blockers": [], "next_action": "go on"} | changes


def _check(**changes: Any) -> dict[str, Any]:
    return {"check": "tests", "status": "passed"} | changes


@given(HANDOFFS)
def test_a_handoff_that_is_written_is_read_the_same(handoff: Handoff) -> None:
    assert parse_handoff(json.loads(json.dumps(handoff.as_dict()))) == handoff


@given(HANDOFFS)
def test_every_text_of_a_handoff_is_there_for_indexing(handoff: Handoff) -> None:
    texts = handoff.texts()
    assert texts[-1] == handoff.next_action
    assert all(text in texts for text in (*handoff.completed, *handoff.blockers))
    assert all(part in texts for v in handoff.verification for part in (v.check, v.status, v.details) if part is not None)


def test_an_omitted_list_is_an_empty_one() -> None:
    assert parse_handoff({"next_action": "go on"}) == parse_handoff(_raw()) == Handoff(next_action="go on")


def test_details_are_left_out_where_they_were() -> None:
    handoff = parse_handoff(_raw(verification=[_check(), _check(details="12 of 12")]))
    assert handoff.as_dict()["verification"] == [_check(), _check(details="12 of 12")]


@pytest.mark.parametrize(
    "changes",
    [
        {"completed": ["x"] * 12},
        {"blockers": ["x"] * 12},
        {"verification": [_check()] * 12},
        {"completed": ["x" * 500]},
        {"blockers": ["ü" * 500]},
        {"verification": [_check(check="c" * 500, details="d" * 500)]},
        {"next_action": "🔥" * 1000},
        *({"verification": [_check(status=status)]} for status in ("passed", "failed", "not_run")),
    ],
)
def test_what_is_just_within_the_contract_is_read(changes: dict[str, Any]) -> None:
    assert parse_handoff(_raw(**changes)).as_dict() == _raw(**changes)


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"completed": ["x"] * 13}, "handoff.completed"),
        ({"blockers": ["x"] * 13}, "handoff.blockers"),
        ({"verification": [_check()] * 13}, "handoff.verification"),
        ({"completed": ["x", "x" * 501]}, "handoff.completed[1]"),
        ({"blockers": ["x" * 501]}, "handoff.blockers[0]"),
        ({"verification": [_check(check="c" * 501)]}, "handoff.verification[0].check"),
        ({"verification": [_check(details="d" * 501)]}, "handoff.verification[0].details"),
        ({"next_action": "n" * 1001}, "handoff.next_action"),
        ({"next_action": None}, "handoff.next_action"),
        ({"next_action": " \t\u2003\n"}, "handoff.next_action"),
        ({"completed": [""]}, "handoff.completed[0]"),
        ({"blockers": ["  "]}, "handoff.blockers[0]"),
        ({"verification": [_check(check=" ")]}, "handoff.verification[0].check"),
        ({"verification": [_check(details="")]}, "handoff.verification[0].details"),
        ({"verification": [_check(), _check(status="ok")]}, "handoff.verification[1].status"),
        ({"verification": [{"check": "tests"}]}, "handoff.verification[0].status"),
        ({"verification": [_check(status=["passed"])]}, "handoff.verification[0].status"),
        ({"verification": [{"status": "passed"}]}, "handoff.verification[0].check"),
        ({"verification": [_check(by="me")]}, "handoff.verification[0]"),
        ({"verification": ["tests passed"]}, "handoff.verification[0]"),
        ({"verification": {"check": "tests"}}, "handoff.verification"),
        ({"completed": "one"}, "handoff.completed"),
        ({"completed": [1]}, "handoff.completed[0]"),
        ({"mood": "good"}, "handoff"),
    ],
)
def test_what_breaks_the_contract_is_refused_by_its_place(changes: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_handoff(_raw(**changes))
    assert refusal.value.details == {"argument": argument}
    assert refusal.value.message.startswith(f"{argument}: ")


def test_an_unknown_status_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="passed, failed, not_run"):
        parse_handoff(_raw(verification=[_check(status="green")]))


def test_the_whole_may_have_twelve_thousand_characters_and_not_one_more() -> None:
    raw = _raw(completed=["x" * 500] * 12, blockers=["y" * 500] * 11)
    rest = 12_000 - len(json.dumps(parse_handoff(raw).as_dict())) - len(', ""')
    fits = raw | {"blockers": [*raw["blockers"], "ü" * rest]}
    assert parse_handoff(fits).as_dict() == fits
    with pytest.raises(InvalidInput, match=r"^handoff: serialized it may have 12000 characters, has 12001"):
        parse_handoff(fits | {"next_action": fits["next_action"] + "!"})


def test_a_refusal_repeats_nothing_of_the_text() -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_handoff(_raw(next_action="hunter2 " * 200))
    assert "hunter2" not in refusal.value.message
