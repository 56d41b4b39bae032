"""A score is a blend of parts: each part pulls in its own direction, and the boosts lift without excluding."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.kinds import HALF_LIFE_DAYS, Kind
from perdure.domain.ranking import (
    FILE_BOOST,
    PROJECT_BOOST,
    blend,
    recency,
    reinforcement,
    same_file,
)
from perdure.domain.retrieval import Standing

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STANDING = Standing(
    memory_id="m", space_id="s", kind=Kind.NOTE, occurred_start=NOW - timedelta(days=3), reinforcements=2, is_pinned=False,
    project_id="p", files=("src/auth/token.py", "README.md"),
)  # fmt: skip
SHARES = st.floats(0, 1)


def _score(
    standing: Standing = STANDING, relevance: float = 0.5, project: str | None = None, files: tuple[str, ...] = ()
) -> float:
    return blend(standing, relevance, now=NOW, project_id=project, files=files)["score"]


@pytest.mark.parametrize("kind", Kind)
def test_recency_is_one_now_half_after_the_half_life_and_a_quarter_after_two(kind: Kind) -> None:
    age = timedelta(days=HALF_LIFE_DAYS[kind])
    assert [recency(kind, NOW - age * times, now=NOW) for times in (0, 1, 2)] == pytest.approx([1, 0.5, 0.25])


def test_what_lies_in_the_future_counts_as_now() -> None:
    assert recency(Kind.TODO, NOW + timedelta(days=9), now=NOW) == 1


@given(
    st.sampled_from(Kind),
    st.timedeltas(timedelta(0), timedelta(days=900)),
    st.timedeltas(timedelta(seconds=1), timedelta(days=99)),
)
def test_recency_falls_with_age_and_stays_positive(kind: Kind, age: timedelta, more: timedelta) -> None:
    assert 0 < recency(kind, NOW - age - more, now=NOW) < recency(kind, NOW - age, now=NOW) <= 1


def test_reinforcement_grows_from_nothing_to_one_at_eleven_statements() -> None:
    steps = [reinforcement(count) for count in range(1, 12)]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1], reinforcement(0), reinforcement(5000)) == (0, 1, 0, 1)


@given(SHARES, SHARES)
def test_the_more_relevant_of_two_alike_never_scores_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert _score(relevance=low) <= _score(relevance=high)


def test_a_perfect_hit_scores_one_before_any_boost() -> None:
    best = dataclasses.replace(STANDING, occurred_start=NOW, reinforcements=11)
    assert _score(best, 1) == pytest.approx(1)


def test_of_two_alike_the_newer_and_the_more_often_stated_score_more() -> None:
    assert _score(dataclasses.replace(STANDING, occurred_start=NOW)) > _score()
    assert _score(dataclasses.replace(STANDING, reinforcements=3)) > _score()


def test_the_named_project_lifts_its_memories_by_fifteen_percent_and_no_others() -> None:
    assert PROJECT_BOOST == 1.15
    assert _score(project="p") == pytest.approx(1.15 * _score())
    assert _score(project="q") == _score()
    assert _score(dataclasses.replace(STANDING, project_id=None), project=None) == _score()


def test_each_named_file_lifts_by_ten_percent_and_an_unknown_one_by_nothing() -> None:
    assert FILE_BOOST == 1.10
    assert _score(files=("token.py",)) == pytest.approx(1.1 * _score())
    assert _score(files=("src/auth/token.py", "README.md", "other.py")) == pytest.approx(1.21 * _score())
    assert _score(files=("other.py",)) == _score()


def test_the_parts_tell_what_the_score_is_made_of() -> None:
    parts = blend(STANDING, 0.5, now=NOW, project_id="p", files=("README.md",))
    assert set(parts) == {"relevance", "recency", "reinforcement", "project", "file", "score"}
    plain = 0.60 * parts["relevance"] + 0.25 * parts["recency"] + 0.15 * parts["reinforcement"]
    assert parts["score"] == pytest.approx(plain * parts["project"] * parts["file"])
    assert set(blend(STANDING, 0.5, now=NOW, project_id="q", files=())) == {"relevance", "recency", "reinforcement", "score"}


@pytest.mark.parametrize(
    ("one", "other"),
    [("a/b.py", "a/b.py"), ("b.py", "a/b.py"), ("/srv/x/a/b.py", "a/b.py"), ("a\\b.py", "x/a/b.py"), ("a/", "a")],
)
def test_paths_that_end_alike_part_by_part_name_one_file(one: str, other: str) -> None:
    assert same_file(one, other)
    assert same_file(other, one)


@pytest.mark.parametrize(("one", "other"), [("b.py", "ab.py"), ("x/b.py", "a/b.py"), ("a/b.py", "a/b"), ("a", "a/b"), ("", "a")])
def test_paths_that_end_otherwise_name_two_files(one: str, other: str) -> None:
    assert not same_file(one, other)
    assert not same_file(other, one)
