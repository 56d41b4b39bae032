"""Jobs, events, audit, confidence, links and settings come back as they were given, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from perdure.domain.records import AuditEntry, ConfidenceChange, Event, Job, JobState, Link, ToolMetric
from tests.engines.stores import MINE, NOON, THEIRS, Engine, read, write

T = TypeVar("T")
MINUTE = timedelta(minutes=1)


def _each(add: Callable[[T], None], items: Iterable[T]) -> None:
    for item in items:
        add(item)


def _job(job_id: str, **values: Any) -> Job:
    job = Job(id=job_id, space_id=MINE, kind="embed", entity_id="m", state=JobState.QUEUED, due_at=NOON, created_at=NOON)
    return replace(job, **values)


def test_the_oldest_due_job_of_a_kind_is_claimed_once(engine: Engine) -> None:
    jobs = [
        _job("late", due_at=NOON + MINUTE),
        _job("second", due_at=NOON - MINUTE, payload={"ü": [1]}),
        _job("first", due_at=NOON - 2 * MINUTE),
        _job("other", kind="expire", due_at=NOON - 3 * MINUTE),
    ]
    write(engine, lambda s: _each(s.jobs.add, jobs))
    claimed = [write(engine, lambda s: s.jobs.claim(("embed",), NOON)) for _ in range(3)]
    assert claimed == [replace(jobs[2], state=JobState.RUNNING), replace(jobs[1], state=JobState.RUNNING), None]
    assert read(engine, lambda s: s.jobs.next_due(("embed",))) == NOON + MINUTE
    assert read(engine, lambda s: s.jobs.next_due(("none",))) is None
    assert write(engine, lambda s: s.jobs.claim((), NOON)) is None


def test_a_job_ends_as_it_says_and_running_ones_return_after_a_crash(engine: Engine) -> None:
    write(engine, lambda s: _each(s.jobs.add, map(_job, "abc")))
    done = write(engine, lambda s: s.jobs.claim(("embed",), NOON))
    assert done is not None
    write(engine, lambda s: s.jobs.finish(replace(done, state=JobState.DONE), NOON))
    failed = write(engine, lambda s: s.jobs.claim(("embed",), NOON))
    assert failed is not None
    later = replace(failed, state=JobState.QUEUED, attempts=1, error="no", due_at=NOON + MINUTE)
    write(engine, lambda s: s.jobs.finish(later, NOON))
    running = write(engine, lambda s: s.jobs.claim(("embed",), NOON))
    assert read(engine, lambda s: s.jobs.counts()) == {("embed", "done"): 1, ("embed", "queued"): 1, ("embed", "running"): 1}
    assert write(engine, lambda s: s.jobs.requeue_running()) == 1
    assert write(engine, lambda s: s.jobs.claim(("embed",), NOON)) == running
    assert write(engine, lambda s: s.jobs.claim(("embed",), NOON + MINUTE)) == replace(later, state=JobState.RUNNING)


def test_events_are_newest_first_and_stay_in_their_space(engine: Engine) -> None:
    event = Event(
        id="1", space_id=MINE, at=NOON, type="captured", entity_type="memory", entity_id="m", entity_name="ü", agent="a"
    )
    events = [event, replace(event, id="2", at=NOON + MINUTE), replace(event, id="3", space_id=THEIRS)]
    write(engine, lambda s: _each(s.events.add, events))
    assert read(engine, lambda s: s.events.recent((MINE,), 5)) == [events[1], events[0]]
    assert read(engine, lambda s: s.events.recent((MINE, THEIRS), 1)) == [events[1]]


def test_the_audit_sums_by_tool_and_forgets_what_is_old(engine: Engine) -> None:
    entry = AuditEntry(
        tool_name="search", agent="a", session_id="s", input_summary="query:5", output_status="ok", duration_ms=2.0, tokens=10
    )
    failed = replace(entry, output_status="error", duration_ms=4.0, error_message="no", token_id="t", tokens=0)
    entries = [(entry, NOON), (failed, NOON + MINUTE), (replace(entry, tool_name="capture"), NOON + MINUTE)]
    write(engine, lambda s: s.audit.add(entries))
    assert read(engine, lambda s: s.audit.recent(5)) == entries[::-1]
    assert read(engine, lambda s: s.audit.metrics()) == [
        ToolMetric(tool_name="search", total_calls=2, successful_calls=1, error_rate=0.5, avg_duration_ms=3.0, total_tokens=10),
        ToolMetric(tool_name="capture", total_calls=1, successful_calls=1, error_rate=0.0, avg_duration_ms=2.0, total_tokens=10),
    ]
    assert write(engine, lambda s: s.audit.prune(NOON + MINUTE)) == 1
    assert read(engine, lambda s: s.audit.recent(5)) == entries[:0:-1]


def test_confidence_is_oldest_first_and_stays_in_its_space(engine: Engine) -> None:
    first = ConfidenceChange(memory_id="m", old_score=None, new_score=0.9, reason="initial", source="mcp", created_at=NOON)
    second = replace(first, old_score=0.9, new_score=0.8, reason="decay", created_at=NOON + MINUTE)
    write(engine, lambda s: _each(partial(s.confidence.add, MINE), (first, second)))
    assert read(engine, lambda s: s.confidence.history((MINE,), "m")) == [first, second]
    assert read(engine, lambda s: s.confidence.history((THEIRS,), "m")) == []


def test_links_are_found_from_both_ends_and_removed_by_id(engine: Engine) -> None:
    link = Link(
        id="1",
        space_id=MINE,
        kind="supports",
        source_type="memory",
        source_id="a",
        target_type="memory",
        target_id="b",
        created_at=NOON,
    )
    back = replace(link, id="2", source_id="b", target_id="a", created_at=NOON + MINUTE)
    itself = replace(link, id="3", target_id="a", created_at=NOON + 2 * MINUTE)
    write(engine, lambda s: _each(s.links.add, (link, back, itself)))
    assert read(engine, lambda s: s.links.of((MINE,), "a")) == [link, back, itself]
    assert read(engine, lambda s: s.links.of((THEIRS,), "a")) == []
    write(engine, lambda s: s.links.remove(THEIRS, "1"))
    write(engine, lambda s: s.links.remove(MINE, "2"))
    assert read(engine, lambda s: s.links.of((MINE,), "b")) == [link]


def test_a_setting_holds_until_it_is_taken_back(engine: Engine) -> None:
    for value in ("1", "2"):
        write(engine, lambda s: s.settings.put("name", value))  # noqa: B023 - run at once
    assert read(engine, lambda s: s.settings.all()) == {"name": "2"}
    write(engine, lambda s: s.settings.put("name", None))
    assert read(engine, lambda s: s.settings.all()) == {}
