from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.fusion import Evidence, relevance
from perdure.domain.kinds import Kind
from perdure.domain.retrieval import Holding, Standing

DAY = datetime(2023, 5, 7, tzinfo=UTC)


def standing(memory_id: str, **more: Any) -> Standing:
    given = {"session_id": None, "chars": 100, "opening": "", "asks": False, "occurred_start": DAY, **more}
    return Standing(
        memory_id=memory_id, space_id="s", kind=Kind.NOTE, reinforcements=1, is_pinned=False, project_id=None, files=(), **given
    )


def held(term: str, *memories: str, frequency: int = 1, sessions: tuple[str, ...] = ()) -> Holding:
    return Holding(term=term, frequency=frequency, memories=frozenset(memories), sessions=frozenset(sessions))


def scores(
    *standings: Standing,
    holdings: tuple[Holding, ...] = (),
    cosines: Mapping[str, float] | None = None,
    windows: Mapping[str, Mapping[int, str]] | None = None,
    question: str = "question",
) -> dict[str, float]:
    evidence = Evidence(
        question=question,
        documents=1000,
        holdings=holdings,
        cosines=cosines or {},
        standings={one.memory_id: one for one in standings},
        windows=windows or {},
    )
    return {memory_id: found.score for memory_id, found in relevance(evidence).items()}


def test_a_rare_word_outweighs_a_common_one() -> None:
    found = scores(standing("a"), standing("b"), holdings=(held("rare", "a"), held("common", "b", frequency=600)))
    assert found["a"] > found["b"]


def test_a_word_counts_whole_in_the_memory_less_beside_it_little_in_the_session_and_nothing_elsewhere() -> None:
    members = [standing("here", session_id="s1"), standing("beside", session_id="s1"), standing("far", session_id="s1")]
    found = scores(
        *members,
        standing("other", session_id="s2"),
        holdings=(held("word", "here", sessions=("s1",)),),
        windows={"here": {1: "beside"}},
    )
    assert found["here"] > found["beside"] > found["far"] > found["other"] == 0


def test_memories_two_places_apart_are_near_and_three_places_apart_are_not() -> None:
    people = [standing(name, session_id="s") for name in ("a", "b", "c", "d")]
    windows = {"b": {-1: "a", 1: "c", 2: "d"}}
    found = scores(*people, holdings=(held("word", "a"),), windows=windows)
    assert found["b"] == found["c"] > found["d"] == 0


def test_a_memory_that_asks_a_long_one_and_another_speaker_fall_behind() -> None:
    usual = standing("a", opening="Ann: I did")
    found = scores(
        usual,
        standing("b", opening="Ann: did you?", asks=True),
        standing("c", opening="Ann: I did", chars=40_000),
        standing("d", opening="Bob: I did"),
        holdings=(held("did", "a", "b", "c", "d", frequency=4),),
        question="What did Ann do?",
    )
    assert max(found, key=lambda memory_id: found[memory_id]) == "a"
    assert found["d"] < found["a"]


def test_a_memory_of_the_day_that_the_question_names_comes_first() -> None:
    other = standing("b", occurred_start=datetime(2023, 8, 1, tzinfo=UTC))
    found = scores(standing("a"), other, holdings=(held("w", "a", "b", frequency=2),), question="what happened on 7 May 2023")
    assert found["a"] > found["b"]


def test_a_nearer_vector_and_a_near_neighbour_lift_a_memory() -> None:
    found = scores(standing("a"), standing("b"), standing("c"), cosines={"a": 0.9, "b": 0.7, "c": 0.5})
    assert found["a"] > found["b"] > found["c"] == 0
    lifted = scores(
        standing("a", session_id="s"),
        standing("n", session_id="s"),
        standing("x"),
        cosines={"a": 0.9, "x": 0.5},
        windows={"a": {1: "n"}},
    )
    assert lifted["n"] > lifted["x"]


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=3), st.text(max_size=40), st.floats(-1, 1))
def test_any_evidence_gives_every_standing_a_finite_score(holders: list[str], question: str, cosine: float) -> None:
    found = scores(
        standing("a"), standing("b"), standing("c"), holdings=(held("t", *holders),), cosines={"a": cosine}, question=question
    )
    assert set(found) == {"a", "b", "c"}
    assert all(-10 < score < 10 for score in found.values())
