"""The rules over a memory's values: what makes it another one, what it is found by, how its labels are kept."""

from __future__ import annotations

import dataclasses
import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.handoff import Handoff
from perdure.domain.instants import instant_period
from perdure.domain.kinds import HALF_LIFE_DAYS, SHOWN_BY_CORTEXA, THOUGHT_TYPES, Kind
from perdure.domain.memory import (
    MAX_FILES,
    MAX_TAGS,
    Draft,
    Memory,
    Privacy,
    ReviewState,
    clean_files,
    clean_tags,
    fingerprint,
    revision_hash,
)
from perdure.errors import InvalidInput

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SAID: dict[str, Any] = {
    "id": "m", "version": 1, "kind": Kind.NOTE, "title": "t", "content": "c", "tags": ("a", "b"), "project": "p",
    "handoff": Handoff(next_action="go"),
}  # fmt: skip
DRAFT = Draft(content="c", kind=Kind.NOTE)


def _memory(**values: Any) -> Memory:
    memory = Memory(
        id="m", space_id="s", kind=Kind.NOTE, number=1, version=1, title="", content="c", revision="r", recorded_at=NOON,
        updated_at=NOON, occurred=instant_period(NOON),
    )  # fmt: skip
    return dataclasses.replace(memory, **values)


def test_a_revision_hash_is_that_of_the_canonical_json_for_ever() -> None:
    canonical = (
        '{"content":"c","handoff":{"blockers":[],"completed":[],"next_action":"go","verification":[]},"id":"m","kind":"note",'
        '"project":"p","tags":["a","b"],"title":"ü","version":1}'
    )
    assert revision_hash(**SAID | {"title": "ü"}) == hashlib.sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "n"}, {"version": 2}, {"kind": Kind.TODO}, {"title": ""}, {"content": "c "}, {"tags": ("b", "a")},
        {"tags": ("a,b",)}, {"tags": ()}, {"project": None}, {"project": "None"}, {"handoff": None},
        {"handoff": Handoff(next_action="go on")},
        {"handoff": Handoff(next_action="go", blockers=("x",))},
    ],
)  # fmt: skip
def test_a_revision_hash_changes_with_everything_that_a_version_says(changes: dict[str, Any]) -> None:
    assert revision_hash(**SAID | changes) != revision_hash(**SAID)


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_a_revision_hash_tells_title_and_content_apart(one: tuple[str, str], other: tuple[str, str]) -> None:
    hashes = {revision_hash(**SAID | {"title": title, "content": content}) for title, content in (one, other)}
    assert len(hashes) == len({one, other})


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "C"}, {"content": "c\n"}, {"kind": Kind.TODO}, {"title": "t"}, {"project": "p"}, {"agent": "a"},
        {"session_id": "s"}, {"channel": "c"}, {"handoff": Handoff(next_action="go")},
    ],
)  # fmt: skip
def test_a_fingerprint_changes_with_what_makes_it_another_capture(changes: dict[str, Any]) -> None:
    assert fingerprint(dataclasses.replace(DRAFT, **changes), "s") != fingerprint(DRAFT, "s")
    assert fingerprint(DRAFT, "other") != fingerprint(DRAFT, "s")


def test_a_fingerprint_knows_in_which_field_a_word_stood() -> None:
    fields = ("project", "agent", "session_id", "channel", "title")
    prints = {fingerprint(dataclasses.replace(DRAFT, **{field: "x"}), "s") for field in fields}  # type: ignore[arg-type]  # texts all
    assert len(prints) == len(fields)


def test_du5_a_retry_that_labels_otherwise_has_the_same_fingerprint() -> None:
    retry = dataclasses.replace(DRAFT, tags=("x",), files=("f",), confidence=0.9, privacy=Privacy.TEAM)
    assert fingerprint(retry, "s") == fingerprint(DRAFT, "s")


LABELS = st.lists(st.text("ab ./\\\t", max_size=6), max_size=20).map(tuple)


@given(LABELS)
def test_tags_are_trimmed_and_each_stands_once_in_its_order(raw: tuple[str, ...]) -> None:
    tags = clean_tags(raw)
    assert clean_tags(tags) == tags
    assert len(set(tags)) == len(tags)
    assert list(tags) == sorted({tag.strip() for tag in raw} - {""}, key=[tag.strip() for tag in raw].index)


@given(LABELS)
def test_files_have_forward_slashes_and_no_blanks_or_repeats(raw: tuple[str, ...]) -> None:
    files = clean_files(raw)
    assert "" not in files
    assert not any("\\" in file for file in files)
    assert len(set(files)) == len(files)


def test_a_file_is_the_same_however_its_path_is_written() -> None:
    assert clean_files((" src\\a.py", "./src/a.py", "src/a.py ", "", "./", ".env")) == ("src/a.py", ".env")


def test_as_many_tags_and_files_as_allowed_pass_and_one_more_is_refused_by_name() -> None:
    names = tuple(str(number) for number in range(MAX_FILES + 1))
    assert len(clean_tags(names[:MAX_TAGS])) == MAX_TAGS
    assert len(clean_files(names[:MAX_FILES])) == MAX_FILES
    with pytest.raises(InvalidInput, match=r"^tags: may have 50 entries, has 51"):
        clean_tags(names[: MAX_TAGS + 1])
    with pytest.raises(InvalidInput, match=r"^file_context: may name 100 paths, names 101"):
        clean_files(names)


def test_a_tag_or_path_that_is_too_long_is_refused_by_name() -> None:
    assert clean_tags(("t" * 100,))
    assert clean_files(("f" * 1024,))
    with pytest.raises(InvalidInput, match=r"^tags: each may have 100 characters, one has 101"):
        clean_tags(("t" * 101,))
    with pytest.raises(InvalidInput, match=r"^file_context: each path may have 1024 characters, one has 1025"):
        clean_files(("f" * 1025,))


def test_a_memory_is_live_until_it_is_archived_or_superseded() -> None:
    assert all(_memory(review=state).is_live for state in ReviewState if state is not ReviewState.SUPERSEDED)
    assert not _memory(review=ReviewState.SUPERSEDED).is_live
    assert not _memory(archived_at=NOON).is_live


@pytest.mark.parametrize(
    ("title", "content", "heading"),
    [
        ("Title", "text", "Title"),
        ("", "\n  \n first line \nsecond", "first line"),
        ("", " \n ", ""),
        ("", "x" * 120, "x" * 120),
        ("", "x" * 121, "x" * 119 + "…"),
        ("t" * 300, "x", "t" * 119 + "…"),
    ],
)
def test_a_heading_is_the_title_or_the_first_line_with_text_and_never_long(title: str, content: str, heading: str) -> None:
    assert _memory(title=title, content=content).heading == heading


def test_every_kind_is_shown_by_a_name_and_has_a_half_life() -> None:
    assert set(SHOWN_BY_CORTEXA) == set(HALF_LIFE_DAYS) == set(Kind)
    assert {SHOWN_BY_CORTEXA[Kind(name)] for name in THOUGHT_TYPES} == set(THOUGHT_TYPES)
