"""A memory and its versions as rows: the columns, and the way there and back."""

from __future__ import annotations

import json
from typing import Any

from perdure.domain.handoff import Handoff, parse_handoff
from perdure.domain.instants import Period, Precision
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, MemoryVersion, Privacy, ReviewState
from perdure.engines.sql.connection import Value, instant_at, instant_or_none, micros, micros_or_none

MEMORY_COLUMNS = (
    "space_id", "id", "kind", "number", "version", "title", "content", "revision", "recorded_at", "updated_at",
    "occurred_start", "occurred_end", "occurred_precision", "project_id", "tags", "files", "language", "handoff", "agent",
    "client", "session_id", "source", "channel", "privacy", "confidence", "review", "review_note", "superseded_by",
    "reinforcements", "last_seen_at", "pinned", "derived", "summary", "thesis", "fingerprint", "expires_at", "archived_at",
    "archive_reason",
)  # fmt: skip
VERSION_COLUMNS = (
    "space_id", "memory_id", "version", "kind", "title", "content", "tags", "files", "project_id", "handoff", "revision",
    "valid_from", "valid_to", "agent",
)  # fmt: skip


def memory_values(memory: Memory) -> tuple[Value, ...]:
    """In the order of MEMORY_COLUMNS."""
    return (
        memory.space_id,
        memory.id,
        memory.kind.value,
        memory.number,
        memory.version,
        memory.title,
        memory.content,
        memory.revision,
        micros(memory.recorded_at),
        micros(memory.updated_at),
        micros(memory.occurred.start),
        micros(memory.occurred.end),
        memory.occurred.precision.value,
        memory.project_id,
        _texts(memory.tags),
        _texts(memory.files),
        memory.language,
        _handoff_text(memory.handoff),
        memory.agent,
        memory.client,
        memory.session_id,
        memory.source,
        memory.channel,
        memory.privacy.value,
        memory.confidence,
        memory.review.value,
        memory.review_note,
        memory.superseded_by,
        memory.reinforcements,
        micros_or_none(memory.last_seen_at),
        int(memory.pinned),
        int(memory.derived),
        memory.summary,
        memory.thesis,
        memory.fingerprint,
        micros_or_none(memory.expires_at),
        micros_or_none(memory.archived_at),
        memory.archive_reason,
    )


def memory_of(row: tuple[Any, ...]) -> Memory:
    """From MEMORY_COLUMNS, then the project's slug and name."""
    return Memory(
        space_id=row[0],
        id=row[1],
        kind=Kind(row[2]),
        number=row[3],
        version=row[4],
        title=row[5],
        content=row[6],
        revision=row[7],
        recorded_at=instant_at(row[8]),
        updated_at=instant_at(row[9]),
        occurred=Period(start=instant_at(row[10]), end=instant_at(row[11]), precision=Precision(row[12])),
        project_id=row[13],
        tags=tuple(json.loads(row[14])),
        files=tuple(json.loads(row[15])),
        language=row[16],
        handoff=_handoff(row[17]),
        agent=row[18],
        client=row[19],
        session_id=row[20],
        source=row[21],
        channel=row[22],
        privacy=Privacy(row[23]),
        confidence=row[24],
        review=ReviewState(row[25]),
        review_note=row[26],
        superseded_by=row[27],
        reinforcements=row[28],
        last_seen_at=instant_or_none(row[29]),
        pinned=bool(row[30]),
        derived=bool(row[31]),
        summary=row[32],
        thesis=row[33],
        fingerprint=row[34],
        expires_at=instant_or_none(row[35]),
        archived_at=instant_or_none(row[36]),
        archive_reason=row[37],
        project_slug=row[38],
        project_name=row[39],
    )


def version_values(space_id: str, version: MemoryVersion) -> tuple[Value, ...]:
    """In the order of VERSION_COLUMNS."""
    return (
        space_id,
        version.memory_id,
        version.version,
        version.kind.value,
        version.title,
        version.content,
        _texts(version.tags),
        _texts(version.files),
        version.project_id,
        _handoff_text(version.handoff),
        version.revision,
        micros(version.valid_from),
        micros_or_none(version.valid_to),
        version.agent,
    )


def version_of(row: tuple[Any, ...]) -> MemoryVersion:
    """From VERSION_COLUMNS."""
    return MemoryVersion(
        memory_id=row[1],
        version=row[2],
        kind=Kind(row[3]),
        title=row[4],
        content=row[5],
        tags=tuple(json.loads(row[6])),
        files=tuple(json.loads(row[7])),
        project_id=row[8],
        handoff=_handoff(row[9]),
        revision=row[10],
        valid_from=instant_at(row[11]),
        valid_to=instant_or_none(row[12]),
        agent=row[13],
    )


def _texts(values: tuple[str, ...]) -> str:
    return json.dumps(values, ensure_ascii=False) if values else "[]"


def _handoff_text(handoff: Handoff | None) -> str | None:
    return json.dumps(handoff.as_dict(), ensure_ascii=False) if handoff else None


def _handoff(text: str | None) -> Handoff | None:
    return parse_handoff(json.loads(text)) if text else None
