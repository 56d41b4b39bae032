"""Memories come back as they were given, by id, by filter and in order, and leave nothing when purged."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.domain.handoff import Handoff, Verification
from perdure.domain.instants import instant_period, parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, Privacy, ReviewState
from perdure.domain.records import ConfidenceChange, Event, Job, JobState, Link
from perdure.domain.retrieval import Filter
from perdure.errors import Conflict
from perdure.ports.store import Session
from tests.engines.stores import (
    ENGINES,
    EVERYTHING,
    MINE,
    NOON,
    THEIRS,
    Engine,
    found,
    opened,
    project,
    read,
    remember,
    version_of,
    write,
)

FULL: dict[str, Any] = {
    "title": "Müşteri notları ☕",
    "tags": ("a", 'with "quotes" and \\'),
    "files": ("src/auth.js", "東京.py"),
    "language": "tr",
    "handoff": Handoff(
        completed=("one",), verification=(Verification(check="tests", status="passed", details="all"),), next_action="go on"
    ),
    "agent": "agent",
    "client": "client",
    "session_id": "session",
    "source": "claude",
    "channel": "ideas",
    "privacy": Privacy.TEAM,
    "confidence": 0.9,
    "review": ReviewState.DISPUTED,
    "review_note": "why",
    "superseded_by": "other",
    "reinforcements": 3,
    "last_seen_at": NOON,
    "pinned": True,
    "derived": True,
    "summary": "summary",
    "thesis": "thesis",
    "fingerprint": "print",
    "expires_at": NOON + timedelta(days=1),
    "occurred": parse_period("2026-08"),
}


def _texts() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def _ids(session: Session, where: Filter) -> list[str]:
    return [memory.id for memory in session.memories.list(where, limit=100, oldest_first=True)]


def test_every_field_comes_back_as_it_was_given(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "content", **FULL))
    assert read(engine, lambda s: s.memories.get((MINE,), memory.id)) == memory
    assert read(engine, lambda s: s.memories.versions((MINE,), memory.id)) == [version_of(memory)]


@settings(max_examples=30)
@given(content=_texts(), title=_texts(), tags=st.lists(_texts(), max_size=3), files=st.lists(_texts(), max_size=3))
def test_any_text_comes_back_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory, content: str, title: str, tags: list[str], files: list[str]
) -> None:
    with opened(ENGINES["sqlite"](tmp_path_factory.mktemp("home"))) as engine:
        memory = write(engine, lambda s: remember(s, content, title=title, tags=tuple(tags), files=tuple(files)))
        assert read(engine, lambda s: s.memories.get((MINE,), memory.id)) == memory


def test_dl3_three_megabytes_come_back_whole(engine: Engine) -> None:
    content = "".join(f"{number:07d} " for number in range(400_000))
    memory = write(engine, lambda s: remember(s, content))
    kept = read(engine, lambda s: s.memories.get((MINE,), memory.id))
    assert kept is not None
    assert kept.content == content


def test_a_memory_of_another_space_is_not_there(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "theirs", space_id=THEIRS))
    assert read(engine, lambda s: s.memories.get((MINE,), memory.id)) is None
    assert read(engine, lambda s: s.memories.versions((MINE,), memory.id)) == []
    assert read(engine, lambda s: s.memories.list(EVERYTHING, limit=10)) == []
    assert read(engine, lambda s: s.memories.get((THEIRS, MINE), memory.id)) == memory


def test_no_space_answers_nothing(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "text"))
    nowhere = Filter(spaces=())
    assert read(engine, lambda s: s.memories.get((), memory.id)) is None
    assert read(engine, lambda s: (s.memories.list(nowhere, limit=9), s.memories.count(nowhere), found(s, "text", nowhere))) == (
        [],
        0,
        [],
    )


def test_an_id_is_given_once(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "text"))
    with pytest.raises(Conflict):
        write(engine, lambda s: s.memories.add(memory, version_of(memory)))
    assert read(engine, lambda s: s.memories.count(EVERYTHING)) == 1


def test_a_revision_closes_the_version_before_it(engine: Engine) -> None:
    first = write(engine, lambda s: remember(s, "first"))

    def revise(session: Session) -> Memory:
        second = replace(first, content="second", version=2, updated_at=session.instant())
        session.memories.save(second, version_of(second))
        return second

    second = write(engine, revise)
    versions = read(engine, lambda s: s.memories.versions((MINE,), first.id))
    assert [(v.content, v.valid_to) for v in versions] == [("first", second.updated_at), ("second", None)]
    assert read(engine, lambda s: s.memories.get((MINE,), first.id)) == second


def test_a_save_without_a_version_keeps_the_versions(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "text"))
    write(engine, lambda s: s.memories.save(replace(memory, reinforcements=2)))
    assert len(read(engine, lambda s: s.memories.versions((MINE,), memory.id))) == 1
    kept = read(engine, lambda s: s.memories.get((MINE,), memory.id))
    assert kept is not None
    assert kept.reinforcements == 2


def test_numbers_are_per_project_and_kind_and_never_given_again(engine: Engine) -> None:
    def work(session: Session) -> list[int]:
        one, two = remember(session, "1"), remember(session, "2")
        session.documents.remove(MINE, two.id)
        session.memories.purge(MINE, two.id, session.instant())
        others = [remember(session, "3", kind=Kind.DECISION), remember(session, "4", project_id="p"), remember(session, "5")]
        return [m.number for m in (one, two, *others)]

    assert write(engine, work) == [1, 2, 1, 1, 3]


def test_an_import_keeps_its_number_unless_it_is_taken(engine: Engine) -> None:
    def work(session: Session) -> list[int]:
        first = session.memories.reserve_number(MINE, None, Kind.NOTE, 7)
        remember(session, "seven", number=7)
        taken = session.memories.reserve_number(MINE, None, Kind.NOTE, 7)
        lower = session.memories.reserve_number(MINE, None, Kind.NOTE, 3)
        return [first, taken, lower, session.memories.next_number(MINE, None, Kind.NOTE)]

    numbers = write(engine, work)
    assert numbers[0] == 7
    assert numbers[2] == 3
    assert len(set(numbers)) == 4


def test_a_fingerprint_finds_the_first_memory_since_then(engine: Engine) -> None:
    one = write(engine, lambda s: remember(s, "text", fingerprint="f"))
    two = write(engine, lambda s: remember(s, "text", fingerprint="f"))
    assert read(engine, lambda s: s.memories.by_fingerprint(MINE, "f", NOON)) == one
    assert read(engine, lambda s: s.memories.by_fingerprint(MINE, "f", two.recorded_at)) == two
    assert read(engine, lambda s: s.memories.by_fingerprint(THEIRS, "f", NOON)) is None


def test_lists_are_newest_first_and_page_by_offset_and_by_time(engine: Engine) -> None:
    memories = write(engine, lambda s: [remember(s, str(n), space_id=(MINE, THEIRS)[n % 2]) for n in range(6)])
    both = Filter(spaces=(MINE, THEIRS))
    newest = [m.id for m in reversed(memories)]

    def listed(**options: Any) -> list[str]:
        return [m.id for m in read(engine, lambda s: s.memories.list(both, **options))]

    assert listed(limit=10) == newest
    assert listed(limit=2, offset=1) == newest[1:3]
    assert listed(limit=2, after=memories[3].recorded_at) == newest[3:5]
    assert listed(limit=10, oldest_first=True, after=memories[3].recorded_at) == [m.id for m in memories[4:]]


CASES: list[tuple[str, dict[str, Any], dict[str, Any], Filter]] = [
    ("kinds", {"kind": Kind.DECISION}, {"kind": Kind.TODO}, Filter(spaces=(MINE,), kinds=(Kind.DECISION, Kind.PATTERN))),
    ("project", {"project_id": "p"}, {"project_id": "q"}, Filter(spaces=(MINE,), project_id="p")),
    ("session", {"session_id": "s"}, {}, Filter(spaces=(MINE,), session_id="s")),
    ("agent", {"agent": "a b"}, {"agent": "a"}, Filter(spaces=(MINE,), agent="a b")),
    ("source", {"source": "claude"}, {"source": "mcp"}, Filter(spaces=(MINE,), source="claude")),
    ("channel", {"channel": "ideas"}, {}, Filter(spaces=(MINE,), channel="ideas")),
    ("sc1 all tags", {"tags": ("a", "b")}, {"tags": ("a", "c")}, Filter(spaces=(MINE,), tags=("a", "b"))),
    ("a tag as text", {"tags": ('x"y',)}, {"tags": ("x", "y")}, Filter(spaces=(MINE,), tags=('x"y',))),
    ("any file", {"files": ("a.py",)}, {"files": ("c.py",)}, Filter(spaces=(MINE,), files=("b.py", "a.py"))),
    ("review", {"review": ReviewState.REVIEWED}, {}, Filter(spaces=(MINE,), reviews=(ReviewState.REVIEWED,))),
    ("derived", {"derived": True}, {}, Filter(spaces=(MINE,), derived=True)),
    ("not derived", {}, {"derived": True}, Filter(spaces=(MINE,), derived=False)),
    ("archived", {}, {"archived_at": NOON}, EVERYTHING),
    ("superseded", {}, {"review": ReviewState.SUPERSEDED}, EVERYTHING),
    (
        "recorded",
        {"recorded_at": NOON},
        {"recorded_at": NOON + timedelta(days=1)},
        Filter(spaces=(MINE,), recorded_from=NOON, recorded_to=NOON + timedelta(days=1)),
    ),
    (
        "tm4 a month overlaps a day",
        {"occurred": parse_period("2026-08")},
        {"occurred": parse_period("2026-09")},
        Filter(spaces=(MINE,), occurred_from=datetime(2026, 8, 15, tzinfo=UTC), occurred_to=datetime(2026, 8, 16, tzinfo=UTC)),
    ),
    (
        "the first instant of a period is in it, the end is not",
        {"occurred": instant_period(datetime(2026, 8, 1, tzinfo=UTC))},
        {"occurred": instant_period(datetime(2026, 9, 1, tzinfo=UTC))},
        Filter(spaces=(MINE,), occurred_from=datetime(2026, 8, 1, tzinfo=UTC), occurred_to=datetime(2026, 9, 1, tzinfo=UTC)),
    ),
]


@pytest.mark.parametrize(("name", "inside", "outside", "where"), CASES, ids=[case[0] for case in CASES])
def test_a_filter_holds_for_lists_counts_ids_and_searches(
    engine: Engine, name: str, inside: dict[str, Any], outside: dict[str, Any], where: Filter
) -> None:
    def fill(session: Session) -> Memory:
        remember(session, "word", **outside)
        remember(session, "word", space_id=THEIRS, **inside)
        return remember(session, "word", **inside)

    memory = write(engine, fill)
    assert read(engine, lambda s: (_ids(s, where), s.memories.count(where), s.memories.ids(where), found(s, "word", where))) == (
        [memory.id],
        1,
        [memory.id],
        [memory.id],
    )


def test_history_shows_archived_and_superseded_memories_too(engine: Engine) -> None:
    write(engine, lambda s: remember(s, "a", archived_at=NOON))
    write(engine, lambda s: remember(s, "b", review=ReviewState.SUPERSEDED))
    assert read(engine, lambda s: s.memories.count(replace(EVERYTHING, archived=True))) == 2


def test_a_purge_leaves_a_tombstone_and_nothing_else(engine: Engine) -> None:
    def fill(session: Session) -> Memory:
        memory, at = remember(session, "secret"), session.instant()
        session.links.add(_link(session, source_id=memory.id, target_id="x"))
        session.links.add(_link(session, source_id="x", target_id=memory.id))
        session.confidence.add(
            MINE,
            ConfidenceChange(memory_id=memory.id, old_score=None, new_score=1, reason="initial", source="a", created_at=at),
        )
        session.jobs.add(
            Job(id="j", space_id=MINE, kind="k", entity_id=memory.id, state=JobState.QUEUED, due_at=at, created_at=at)
        )
        session.events.add(
            Event(id="e", space_id=MINE, at=at, type="t", entity_type="memory", entity_id=memory.id, entity_name="secret")
        )
        session.documents.remove(MINE, memory.id)
        session.memories.purge(MINE, memory.id, session.instant())
        return memory

    memory = write(engine, fill)

    def left(session: Session) -> list[object]:
        return [
            session.memories.get((MINE,), memory.id),
            session.memories.versions((MINE,), memory.id),
            session.links.of((MINE,), memory.id),
            session.confidence.history((MINE,), memory.id),
            session.jobs.counts(),
            found(session, "secret"),
            [event.entity_name for event in session.events.recent((MINE,), 10)],
            session.documents.check(),
        ]

    assert read(engine, left) == [None, [], [], [], {}, [], [""], []]
    assert read(engine, lambda s: s.memories.is_purged(memory.id))
    assert not read(engine, lambda s: s.memories.is_purged("another"))


def test_dl1_a_purge_in_one_space_leaves_the_other(engine: Engine) -> None:
    bob = write(engine, lambda s: remember(s, "b", space_id=THEIRS))
    alice = write(engine, lambda s: remember(s, "a"))
    write(engine, lambda s: s.memories.purge(MINE, bob.id, s.instant()))
    write(engine, lambda s: s.memories.purge(MINE, alice.id, s.instant()))
    assert read(engine, lambda s: s.memories.get((THEIRS,), bob.id)) == bob


def test_an_export_pages_through_all_and_never_parts_memories_of_one_instant(engine: Engine) -> None:
    def fill(session: Session) -> list[str]:
        same = [remember(session, str(n), recorded_at=NOON).id for n in range(5)]
        return [*sorted(same), remember(session, "later", archived_at=NOON).id]

    expected = write(engine, fill)
    ids: list[str] = []
    after = None
    while page := read(engine, lambda s: s.memories.export((MINE, THEIRS), after=after, limit=2)):  # noqa: B023 - run at once
        assert all([version.memory_id for version in versions] == [memory.id] for memory, versions in page)
        ids += [memory.id for memory, _ in page]
        after = page[-1][0].recorded_at
    assert ids == expected


def test_a_memory_carries_its_projects_names(engine: Engine) -> None:
    made = write(engine, lambda s: project(s, "Alpha"))
    memory = write(engine, lambda s: remember(s, "text", project_id=made.id))
    kept = read(engine, lambda s: s.memories.get((MINE,), memory.id))
    assert kept is not None
    assert (kept.project_slug, kept.project_name) == ("alpha", "Alpha")


def _link(session: Session, *, source_id: str, target_id: str) -> Link:
    return Link(
        id=session.new_id(),
        space_id=MINE,
        kind="supports",
        source_type="memory",
        source_id=source_id,
        target_type="memory",
        target_id=target_id,
        created_at=session.instant(),
    )
