"""Records of an export: what is read is what was written, and what does not fit is refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.domain.kinds import Kind
from perdure.domain.memory import revision_hash
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


def _parcel(**changes: Any) -> Parcel:
    parcel = read_record(_record(**changes), "owner")
    assert isinstance(parcel, Parcel)
    return parcel


def test_ie1_a_record_that_is_read_is_written_the_same() -> None:
    parcel = _parcel()
    check_parcel(parcel)
    assert record_of(parcel) == _record()


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
        {"handoff": {"done": True}}, {"confidence_history": [{}]}, {"occurred_at": 3},
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
