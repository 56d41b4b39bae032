"""How domain values look in JSON; every field stands here once and in /openapi.json."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from perdure.domain.handoff import Handoff
from perdure.domain.instants import Period, rfc3339
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, Privacy, ReviewState
from perdure.domain.retrieval import Hit
from perdure.domain.secrets import redact, redact_json

LOOK_AHEAD_CHARS = 4_000
"""A secret that begins in what is shown ends within these: a private key is the longest."""


def _said(period: Period | str) -> str:
    return period.text() if isinstance(period, Period) else period


def _handoff(handoff: Handoff | dict[str, Any] | None) -> dict[str, Any] | None:
    masked: dict[str, Any] | None = redact_json(handoff.as_dict() if isinstance(handoff, Handoff) else handoff)
    return masked


Instant = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
Said = Annotated[str, BeforeValidator(_said), Field(description="An RFC 3339 time, a day or a month, as it was said.")]
Masked = Annotated[str, AfterValidator(lambda text: redact(text)[0])]
"""Text that a caller gave: imported or old, it may hold secrets, which nobody is shown (FAULTS SE3)."""
HandoffShape = Annotated[dict[str, Any] | None, BeforeValidator(_handoff)]


class Shape(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class MemoryShape(Shape):
    """One memory as it stands now; `content` is cut in lists and searches, `content_chars` tells its whole length."""

    id: str
    kind: Kind
    number: int
    version: int
    title: Masked
    content: str
    content_chars: int = 0
    revision: str
    recorded_at: Instant
    updated_at: Instant
    occurred_at: Said = Field(validation_alias="occurred")
    project_id: str | None
    project_slug: str | None
    project_name: Masked | None
    tags: tuple[Masked, ...]
    files: tuple[Masked, ...]
    language: Masked | None
    handoff: HandoffShape
    agent: Masked | None
    client: Masked | None
    session_id: Masked | None
    source: str
    channel: Masked | None
    privacy: Privacy
    confidence: float
    review: ReviewState
    review_note: Masked | None
    superseded_by: str | None
    reinforcements: int
    last_seen_at: Instant | None
    pinned: bool
    derived: bool
    expires_at: Instant | None
    archived_at: Instant | None
    archive_reason: str | None


def memory_shape(memory: Memory, max_chars: int | None = None) -> MemoryShape:
    """The memory without secrets, its content cut to `max_chars` where that is given. Slow for long texts.

    A long text is looked through for secrets only somewhat beyond what is shown.
    """
    read = memory.content if max_chars is None else memory.content[: max_chars + LOOK_AHEAD_CHARS]
    masked = redact(read)[0]
    shape = MemoryShape.model_validate(dataclasses.replace(memory, content=masked[:max_chars]))
    return shape.model_copy(update={"content_chars": len(masked) + len(memory.content) - len(read)})


async def shown(memory: Memory) -> MemoryShape:
    """The whole memory as it is shown, made off the event loop."""
    return await asyncio.to_thread(memory_shape, memory)


class MemoryPage(Shape):
    items: list[MemoryShape]
    total: int
    limit: int
    offset: int


class CapturedShape(Shape):
    """`existing`: the same capture came within the last minute, and this is its id."""

    id: str
    existing: bool
    redacted: tuple[str, ...]
    notes: tuple[str, ...]


class VersionShape(Shape):
    version: int
    kind: Kind
    title: Masked
    content: Masked
    tags: tuple[Masked, ...]
    files: tuple[Masked, ...]
    project_id: str | None
    handoff: HandoffShape
    revision: str
    agent: Masked | None
    valid_from: Instant
    valid_to: Instant | None


class VersionList(Shape):
    items: list[VersionShape]


class Count(Shape):
    archived: int


class Purged(Shape):
    purged: str


class HitShape(Shape):
    memory: MemoryShape
    score: float
    parts: dict[str, float]
    why: tuple[str, ...]


def hit_shape(hit: Hit, max_chars: int) -> HitShape:
    return HitShape(memory=memory_shape(hit.memory, max_chars), score=hit.score, parts=hit.parts, why=hit.why)


class SearchAnswer(Shape):
    """`found`: how many candidates there were; `signals`: what was missing, such as embedding_unavailable."""

    hits: list[HitShape]
    found: int
    signals: tuple[str, ...]


class ProjectShape(Shape):
    id: str
    slug: str
    name: Masked
    folder: Masked | None
    created_at: Instant
    memories: int
    last_at: Instant | None


class ProjectList(Shape):
    items: list[ProjectShape]


class Problem(BaseModel):
    """RFC 9457; `code` is stable, `detail` says what was wrong, what is allowed and what to do next."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    argument: str | None = None
