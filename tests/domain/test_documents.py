"""A memory is found by each of its parts, and by nothing that it does not say."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from perdure.domain.documents import analyse, document_of
from perdure.domain.handoff import Handoff, Verification
from perdure.domain.instants import instant_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft, Memory
from perdure.domain.text import query_terms

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HANDOFF = Handoff(
    completed=("parser",),
    verification=(Verification(check="pytest", status="not_run", details="flaky"),),
    blockers=("license",),
    next_action="ship",
)


def _stem(word: str) -> str:
    return word


@pytest.mark.parametrize(
    ("part", "changes", "word"),
    [
        ("title", {"title": "zebra"}, "zebra"),
        ("body", {"content": "a zebra runs"}, "zebra"),
        ("labels", {"tags": ("zebra",)}, "zebra"),
        ("labels", {"files": ("src/zebra.py",)}, "src/zebra.py"),
        ("labels", {"language": "zebra"}, "zebra"),
        ("labels", {"agent": "zebra"}, "zebra"),
        *(("body", {"handoff": HANDOFF}, word) for word in ("parser", "pytest", "not_run", "flaky", "license", "ship")),
    ],
)
def test_a_word_is_found_in_the_part_where_it_stands(part: str, changes: dict[str, Any], word: str) -> None:
    plain = Draft(content="okapi", kind=Kind.NOTE)
    terms = query_terms(word, _stem)
    wanted = set(getattr(analyse(dataclasses.replace(plain, **changes), None, stem=_stem), part).split())
    assert set(terms) <= wanted
    assert not set(terms) & set(getattr(analyse(plain, None, stem=_stem), part).split())


def test_the_projects_name_is_a_label() -> None:
    draft = Draft(content="okapi", kind=Kind.NOTE)
    assert analyse(draft, "Zebra", stem=_stem).labels == "zebra"
    assert analyse(draft, None, stem=_stem).labels == ""


def test_the_last_word_of_the_content_does_not_run_into_the_handoff() -> None:
    draft = Draft(content="okapi", kind=Kind.HANDOFF, handoff=Handoff(next_action="zebra"))
    assert analyse(draft, None, stem=_stem).body == "okapi zebra"


def test_a_document_is_the_same_whether_its_text_was_analysed_before_or_not() -> None:
    memory = Memory(
        id="m", space_id="s", kind=Kind.NOTE, number=1, version=1, title="zebra", content="okapi", revision="r", recorded_at=NOON,
        updated_at=NOON, occurred=instant_period(NOON), project_id="p", project_name="Parser", tags=("t",),
    )  # fmt: skip
    document = document_of(memory, 7, stem=_stem)
    assert document == document_of(memory, 7, stem=_stem, analysis=analyse(memory, "Parser", stem=_stem))
    assert (document.memory_id, document.space_id, document.space_number, document.project_id, document.kind) == (
        "m", "s", 7, "p", "note"
    )  # fmt: skip
    assert (document.title, document.body) == ("zebra", "okapi")
    assert set(document.labels.split()) == {"t", "parser"}
