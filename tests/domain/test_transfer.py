"""Records of an export: what is read is what was written, and what does not fit is refused in words."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.handoff import Handoff
from perdure.domain.instants import instant_period, parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, MemoryVersion, Privacy, ReviewState, revision_hash
from perdure.domain.records import ConfidenceChange
from perdure.domain.scopes import Project
from perdure.domain.transfer import Parcel, check_parcel, project_record, read_record, record_of
from perdure.errors import InvalidInput

AT = "2026-11-30T09:15:02.000001Z"


def _record(**changes: Any) -> dict[str, Any]:
    revision = revision_hash(id="m", version=1, kind=Kind.NOTE, title="", content="text", tags=("a",), project=None, handoff=None)
    return {
        "perdure": 1, "type": "memory", "kind": "note", "id": "m", "number": 1, "version": 1, "content": "text", "tags": ["a"],
        "revision": revision, "source": "mcp", "confidence": 0.7, "reinforcements": 1, "recorded_at": AT, "updated_at": AT,
        "occurred_at": "2026-11", "privacy": "private", "review": "captured",
        "versions": [
            {"version": 1, "kind": "note", "content": "text", "tags": ["a"], "revision": revision, "valid_from": AT}
        ],
        "confidence_history": [
            {"old_score": None, "new_score": 0.7, "reason": "initial", "source": "capture", "created_at": AT}
        ],
    } | changes  # fmt: skip


def _change(**changes: Any) -> dict[str, Any]:
    return _record()["confidence_history"][0] | changes  # type: ignore[no-any-return]  # a record's parts are JSON


def _parcel(**changes: Any) -> Parcel:
    parcel = read_record(_record(**changes), "owner")
    assert isinstance(parcel, Parcel)
    return parcel


def test_ie1_a_record_that_is_read_is_written_the_same() -> None:
    parcel = _parcel()
    check_parcel(parcel)
    assert record_of(parcel) == _record()


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
LABELS = st.lists(WORDS, max_size=3).map(tuple)
SCORES = st.floats(0, 1)
TIMES = st.datetimes(timezones=st.just(UTC))
OPTIONAL = {
    name: st.none() | WORDS
    for name in ("project_id", "project_slug", "project_name", "language", "agent", "client", "session_id", "channel",
                 "review_note", "superseded_by", "summary", "thesis", "archive_reason")
}  # fmt: skip
DAYS = st.dates(max_value=date(9999, 12, 30)).map(lambda day: parse_period(day.isoformat()))
MEMORIES = st.builds(
    Memory,
    id=WORDS, space_id=st.just("owner"), kind=st.sampled_from(Kind), number=st.integers(0, 9), version=st.integers(1, 3),
    title=st.text(st.characters(exclude_categories=["Cs"]), max_size=9), content=WORDS, revision=st.just(""), recorded_at=TIMES,
    updated_at=TIMES, occurred=TIMES.map(instant_period) | DAYS, tags=LABELS, files=LABELS,
    handoff=st.none() | st.just(Handoff(next_action="go", blockers=("x",))), source=WORDS, privacy=st.sampled_from(Privacy),
    confidence=SCORES, review=st.sampled_from(ReviewState), reinforcements=st.integers(0, 9), last_seen_at=st.none() | TIMES,
    pinned=st.booleans(), derived=st.booleans(), fingerprint=st.just(""), expires_at=st.none() | TIMES,
    archived_at=st.none() | TIMES, **OPTIONAL,
)  # fmt: skip


@st.composite
def parcels(draw: st.DrawFn) -> Parcel:
    """A memory of some versions that differ in wording, with the hashes that fit them."""
    memory = draw(MEMORIES)
    versions = []
    for number in range(1, memory.version + 1):
        content = memory.content if number == memory.version else draw(WORDS)
        revision = revision_hash(
            id=memory.id, version=number, kind=memory.kind, title=memory.title, content=content, tags=memory.tags,
            project=memory.project_id, handoff=memory.handoff,
        )  # fmt: skip
        versions.append(
            MemoryVersion(
                memory_id=memory.id, version=number, kind=memory.kind, title=memory.title, content=content, tags=memory.tags,
                files=memory.files, project_id=memory.project_id, handoff=memory.handoff, revision=revision,
                valid_from=draw(TIMES), valid_to=draw(st.none() | TIMES), agent=memory.agent,
            )
        )  # fmt: skip
    change = ConfidenceChange(
        memory_id=memory.id, old_score=draw(st.none() | SCORES), new_score=draw(SCORES), reason="decay", source="nightly",
        created_at=draw(TIMES),
    )  # fmt: skip
    newest = dataclasses.replace(memory, revision=versions[-1].revision)
    return Parcel(memory=newest, versions=tuple(versions), confidence=(change,))


@given(parcels())
def test_ie1_any_memory_comes_back_from_its_record_with_everything_that_hangs_on_it(parcel: Parcel) -> None:
    line = json.dumps(record_of(parcel), allow_nan=False)
    read = read_record(json.loads(line), "owner")
    assert isinstance(read, Parcel)
    check_parcel(read)
    assert read == parcel


@given(parcels(), st.sampled_from(["content", "title", "tags", "revision", "kind", "handoff", "id"]), st.booleans())
def test_a_record_that_was_tampered_with_is_refused(parcel: Parcel, field: str, in_version: bool) -> None:
    record = record_of(parcel)
    tampered = {"tags": [*record.get("tags", ()), "new"], "handoff": {"next_action": "other"},
                "kind": "todo" if record["kind"] == "note" else "note"}  # fmt: skip
    target = record["versions"][0] if in_version and field != "id" else record
    target[field] = tampered.get(field, f"{target.get(field, '')}!")
    read = read_record(record, "owner")
    assert isinstance(read, Parcel)
    with pytest.raises(InvalidInput):
        check_parcel(read)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_record_without_one_of_its_versions_is_refused(lost: int) -> None:
    first = _record()["versions"][0]
    versions = [first | {"version": number} for number in (1, 2, 3) if number != lost + 1]
    with pytest.raises(InvalidInput, match="numbered from 1"):
        check_parcel(_parcel(version=3, versions=versions))


def test_a_day_with_an_offset_keeps_it_over_an_export() -> None:
    period = parse_period("2026-08-15+09:30")
    parcel = _parcel(occurred_at=period.text())
    assert parcel.memory.occurred == period
    assert parcel.memory.occurred.start == datetime(2026, 8, 14, 14, 30, tzinfo=UTC)


def test_a_project_record_that_is_read_is_written_the_same() -> None:
    record = {"perdure": 1, "type": "project", "id": "p", "slug": "s", "name": "N", "folder": "/f", "created_at": AT}
    project = read_record(record, "owner")
    assert isinstance(project, Project)
    assert project_record(project) == record


@pytest.mark.parametrize(
    "changes",
    [
        {"perdure": 2}, {"type": "dream"}, {"kind": "poem"}, {"content": 1}, {"recorded_at": "soon"}, {"tags": "a"},
        {"version": "one"}, {"number": None}, {"confidence": "high"}, {"reinforcements": 1.5}, {"versions": [1]},
        {"handoff": {"done": True}}, {"confidence_history": [{}]}, {"occurred_at": 3}, {"confidence": True}, {"confidence": 1.1},
        {"confidence": float("nan")}, {"number": 2**53 + 1}, {"reinforcements": -1}, {"version": True}, {"versions": "text"},
        {"confidence_history": [_change(new_score="high")]}, {"confidence_history": [_change(old_score=-0.1)]},
        {"confidence_history": [_change(reason=None)]}, {"recorded_at": None}, {"privacy": "secret"}, {"review": "liked"},
    ],
)  # fmt: skip
def test_dl6_a_field_that_does_not_fit_is_refused_in_words(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        read_record(_record(**changes), "owner")


@pytest.mark.parametrize("changes", [{"content": "other"}, {"version": 2}, {"version": 0, "versions": []}, {"revision": "0"}])
def test_versions_that_do_not_fit_the_memory_are_refused(changes: dict[str, Any]) -> None:
    parcel = _parcel(**changes)
    with pytest.raises(InvalidInput):
        check_parcel(parcel)


@pytest.mark.parametrize("changes", [{"id": 5}, {"slug": " "}, {"name": None}, {"created_at": "once"}, {"name": ["N"]}])
def test_a_project_record_that_does_not_fit_is_refused(changes: dict[str, Any]) -> None:
    record = {"perdure": 1, "type": "project", "id": "p", "slug": "s", "name": "N", "created_at": AT} | changes
    with pytest.raises(InvalidInput):
        read_record(record, "owner")
