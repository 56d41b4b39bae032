"""A memory as a record for export and import: ids, versions and dates kept, nothing lost (FAULTS IE1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from perdure.domain.handoff import Handoff, parse_handoff
from perdure.domain.instants import parse_instant, parse_period, rfc3339
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, MemoryVersion, Privacy, ReviewState, revision_hash
from perdure.domain.records import ConfidenceChange
from perdure.domain.scopes import Project
from perdure.errors import InvalidInput

FORMAT = 1
MAX_COUNT = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One memory with everything that hangs on it."""

    memory: Memory
    versions: tuple[MemoryVersion, ...]
    confidence: tuple[ConfidenceChange, ...]


_TEXTS = (
    "id", "title", "content", "revision", "project_id", "project_slug", "project_name", "language", "agent", "client",
    "session_id", "source", "channel", "review_note", "superseded_by", "summary", "thesis", "archive_reason",
)  # fmt: skip
_TIMES = ("recorded_at", "updated_at", "last_seen_at", "expires_at", "archived_at")
_COUNTS = ("number", "version", "reinforcements")
_NUMBERS = (*_COUNTS, "confidence")


def record_of(parcel: Parcel) -> dict[str, Any]:
    """The JSON form: `{"perdure": 1, "type": "memory", …}`; empty fields are left out."""
    memory = parcel.memory
    record: dict[str, Any] = {"perdure": FORMAT, "type": "memory", "kind": memory.kind.value}
    record |= {name: getattr(memory, name) for name in _TEXTS + _NUMBERS}
    record |= {name: _time(getattr(memory, name)) for name in _TIMES}
    record |= {
        "occurred_at": memory.occurred.text(),
        "tags": list(memory.tags),
        "files": list(memory.files),
        "handoff": memory.handoff.as_dict() if memory.handoff else None,
        "privacy": memory.privacy.value,
        "review": memory.review.value,
        "pinned": memory.pinned,
        "derived": memory.derived,
        "versions": [_version_record(version) for version in parcel.versions],
        "confidence_history": [change_record(change) for change in parcel.confidence],
    }
    return {name: value for name, value in record.items() if value is not False and value not in (None, "", [])}


def project_record(project: Project) -> dict[str, Any]:
    """The JSON form of a project; it stands before the memories in it."""
    record = {
        "perdure": FORMAT,
        "type": "project",
        "id": project.id,
        "slug": project.slug,
        "name": project.name,
        "folder": project.folder,
        "created_at": rfc3339(project.created_at),
    }
    return {name: value for name, value in record.items() if value is not None}


def read_record(record: Mapping[str, Any], space_id: str) -> Parcel | Project:
    """Read one record into the space. Raises InvalidInput, saying what is wrong with it."""
    if record.get("perdure") != FORMAT:
        raise InvalidInput(f"perdure: must be {FORMAT}, the format this version reads", argument="perdure")
    try:
        if record.get("type") == "project":
            return _project(record, space_id)
        if record.get("type") == "memory":
            memory = _memory(record, space_id)
            versions = tuple(_version(memory, raw) for raw in record.get("versions", ()))
            changes = tuple(_change(memory, raw) for raw in record.get("confidence_history", ()))
            return Parcel(memory=memory, versions=versions, confidence=changes)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"record: a field is missing or of the wrong type ({type(error).__name__}: {error})") from error
    raise InvalidInput("type: must be memory or project", argument="type")


def check_parcel(parcel: Parcel) -> None:
    """Raises InvalidInput when the versions are not those of the memory, or a revision hash does not fit its text."""
    memory = parcel.memory
    if not parcel.versions or [v.version for v in parcel.versions] != list(range(1, memory.version + 1)):
        raise InvalidInput("versions: must be numbered from 1 up to the memory's version", argument="versions")
    for version in parcel.versions:
        wanted = revision_hash(
            id=memory.id,
            version=version.version,
            kind=version.kind,
            title=version.title,
            content=version.content,
            tags=version.tags,
            project=version.project_id,
            handoff=version.handoff,
        )
        if wanted != version.revision:
            raise InvalidInput(f"versions: the revision hash of version {version.version} does not fit its text")
    newest = parcel.versions[-1]
    for name in ("revision", "kind", "title", "content", "tags", "project_id", "handoff"):
        if getattr(newest, name) != getattr(memory, name):
            raise InvalidInput(f"{name}: must be that of the newest version", argument=name)


def _memory(record: Mapping[str, Any], space_id: str) -> Memory:
    given = {name: record[name] for name in _TEXTS + _NUMBERS if name in record}
    given |= {name: _moment(record[name], name) for name in _TIMES if name in record}
    for name in _TEXTS:
        if name in given and not isinstance(given[name], str):
            raise InvalidInput(f"{name}: must be text", argument=name)
    for name in _COUNTS:
        if name in given and (type(given[name]) is not int or not 0 <= given[name] <= MAX_COUNT):
            raise InvalidInput(f"{name}: must be a whole number from 0 to {MAX_COUNT}", argument=name)
    if "confidence" in given:
        given["confidence"] = _score(given["confidence"], "confidence")
    return Memory(
        **{"title": "", "number": 0, "version": 1, **given},
        space_id=space_id,
        kind=Kind(record["kind"]),
        occurred=parse_period(record["occurred_at"]),
        tags=_strings(record, "tags"),
        files=_strings(record, "files"),
        handoff=_handoff(record),
        privacy=Privacy(record.get("privacy", "private")),
        review=ReviewState(record.get("review", "captured")),
        pinned=bool(record.get("pinned", False)),
        derived=bool(record.get("derived", False)),
    )


def _version_record(version: MemoryVersion) -> dict[str, Any]:
    record: dict[str, Any] = {
        "version": version.version,
        "kind": version.kind.value,
        "title": version.title,
        "content": version.content,
        "tags": list(version.tags),
        "files": list(version.files),
        "project_id": version.project_id,
        "handoff": version.handoff.as_dict() if version.handoff else None,
        "revision": version.revision,
        "valid_from": rfc3339(version.valid_from),
        "valid_to": _time(version.valid_to),
        "agent": version.agent,
    }
    return {name: value for name, value in record.items() if value not in (None, "", [])}


def _version(memory: Memory, raw: Mapping[str, Any]) -> MemoryVersion:
    return MemoryVersion(
        memory_id=memory.id,
        version=int(raw["version"]),
        kind=Kind(raw["kind"]),
        title=raw.get("title", ""),
        content=raw["content"],
        tags=_strings(raw, "tags"),
        files=_strings(raw, "files"),
        project_id=raw.get("project_id"),
        handoff=_handoff(raw),
        revision=raw["revision"],
        valid_from=_moment(raw["valid_from"], "valid_from"),
        valid_to=_moment(raw["valid_to"], "valid_to") if "valid_to" in raw else None,
        agent=raw.get("agent"),
    )


def change_record(change: ConfidenceChange) -> dict[str, Any]:
    """The JSON form of a confidence change, as the seed names its fields."""
    return {
        "old_score": change.old_score,
        "new_score": change.new_score,
        "reason": change.reason,
        "source": change.source,
        "created_at": rfc3339(change.created_at),
    }


def _change(memory: Memory, raw: Mapping[str, Any]) -> ConfidenceChange:
    return ConfidenceChange(
        memory_id=memory.id,
        old_score=None if raw["old_score"] is None else _score(raw["old_score"], "old_score"),
        new_score=_score(raw["new_score"], "new_score"),
        reason=_word(raw, "reason"),
        source=_word(raw, "source"),
        created_at=_moment(raw["created_at"], "created_at"),
    )


def _project(record: Mapping[str, Any], space_id: str) -> Project:
    return Project(
        id=_word(record, "id"),
        space_id=space_id,
        slug=_word(record, "slug"),
        name=_word(record, "name"),
        folder=record.get("folder"),
        created_at=_moment(record["created_at"], "created_at"),
    )


def _handoff(record: Mapping[str, Any]) -> Handoff | None:
    return parse_handoff(record["handoff"]) if record.get("handoff") else None


def _strings(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values: Sequence[Any] = record.get(name, ())
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise InvalidInput(f"{name}: must be an array of text", argument=name)
    return tuple(values)


def _word(record: Mapping[str, Any], name: str) -> str:
    if not isinstance(record[name], str) or not record[name].strip():
        raise InvalidInput(f"{name}: must be text that is not blank", argument=name)
    return str(record[name])


def _score(raw: Any, name: str) -> float:
    if type(raw) not in (int, float) or not 0 <= raw <= 1:
        raise InvalidInput(f"{name}: must be a number from 0 to 1", argument=name)
    return float(raw)


def _time(value: datetime | None) -> str | None:
    return None if value is None else rfc3339(value)


def _moment(raw: Any, name: str) -> datetime:
    return parse_instant(str(raw), name)
