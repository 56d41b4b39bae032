"""A filter is part of the search by vectors: whatever it asks, the answer is that of comparing each memory that matches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.domain.instants import instant_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import ReviewState
from perdure.domain.retrieval import Filter
from perdure.engines.sqlite import vectors as vectors_module
from perdure.ports.store import Session
from tests.engines.embeddings import assert_nearest, embed, nearest, scattered
from tests.engines.stores import ENGINES, MINE, NOON, opened, read, write

SOME = st.integers(0, 2).map(str)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "kinds": st.lists(st.sampled_from([Kind.NOTE, Kind.DECISION]), unique=True, max_size=2).map(tuple),
        "project_id": SOME,
        "session_id": SOME,
        "agent": SOME,
        "source": SOME,
        "channel": SOME,
        "tags": st.lists(SOME, unique=True, max_size=2).map(tuple),
        "files": st.lists(SOME, unique=True, max_size=2).map(tuple),
        "reviews": st.just((ReviewState.REVIEWED,)),
        "recorded_from": st.integers(0, 60).map(lambda n: NOON + timedelta(microseconds=n)),
        "recorded_to": st.integers(0, 60).map(lambda n: NOON + timedelta(microseconds=n)),
        "occurred_from": st.integers(0, 60).map(lambda n: NOON + timedelta(days=n)),
        "occurred_to": st.integers(0, 60).map(lambda n: NOON + timedelta(days=n)),
        "derived": st.booleans(),
        "archived": st.booleans(),
    },
)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A vault of 60 memories of every sort, with the windows of each."""
    vectors = iter(scattered(120, seed=1))
    windows: dict[str, list[bytes]] = {}

    def fill(session: Session) -> None:
        for n in range(60):
            those = [next(vectors) for _ in range(1 + n % 3 // 2)]
            memory = embed(
                session,
                *those,
                kind=Kind.DECISION if n % 5 == 0 else Kind.NOTE,
                project_id=str(n % 3),
                session_id=str(n % 4),
                agent=str(n % 5),
                source=str(n % 2),
                channel=str(n % 7),
                tags=tuple(str(i) for i in range(n % 4)),
                files=tuple(str(i) for i in range(n % 3)),
                review=ReviewState.REVIEWED if n % 6 == 0 else ReviewState.CAPTURED,
                derived=n % 8 == 0,
                occurred=instant_period(NOON + timedelta(days=n)),
            )
            windows[memory.id] = those

    with opened(ENGINES["sqlite"](tmp_path_factory.mktemp("home"))) as engine:
        write(engine, fill)
        yield engine, windows


@settings(max_examples=150, deadline=None)
@given(values=FILTERS, limit=st.integers(1, 80), seed=st.integers(0, 10_000), most=st.sampled_from([0, 5, 30_000]))
def test_every_filter_answers_as_comparing_each_matching_memory_would(
    mixed: Any, values: dict[str, Any], limit: int, seed: int, most: int
) -> None:
    engine, windows = mixed
    where = Filter(spaces=(MINE,), **values)
    query = scattered(1, seed)[0]
    allowed = read(engine, lambda s: s.memories.ids(where))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors_module, "MAX_LISTED", most)
        found = read(engine, lambda s: nearest(s, query, where, limit=limit))
    assert_nearest(found, query, windows={memory_id: windows[memory_id] for memory_id in allowed}, limit=limit)
