"""How domain values look in JSON; every field stands here once and in /openapi.json."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from perdure.domain.handoff import Handoff
from perdure.domain.instants import Period, rfc3339
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, Privacy, ReviewState
from perdure.domain.retrieval import Hit


def _said(period: Period | str) -> str:
    return period.text() if isinstance(period, Period) else period


def _handoff(handoff: Handoff | dict[str, Any] | None) -> dict[str, Any] | None:
    return handoff.as_dict() if isinstance(handoff, Handoff) else handoff


Instant = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
Said = Annotated[str, BeforeValidator(_said), Field(description="An RFC 3339 time, a day or a month, as it was said.")]
HandoffShape = Annotated[dict[str, Any] | None, BeforeValidator(_handoff)]


class Shape(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class MemoryShape(Shape):
    """One memory as it stands now; `content` is cut in lists and searches, `content_chars` tells its whole length."""

    id: str
    kind: Kind
    number: int
    version: int
    title: str
    content: str
    content_chars: int = 0
    revision: str
    recorded_at: Instant
    updated_at: Instant
    occurred_at: Said = Field(validation_alias="occurred")
    project_id: str | None
    project_slug: str | None
    project_name: str | None
    tags: tuple[str, ...]
    files: tuple[str, ...]
    language: str | None
    handoff: HandoffShape
    agent: str | None
    client: str | None
    session_id: str | None
    source: str
    channel: str | None
    privacy: Privacy
    confidence: float
    review: ReviewState
    review_note: str | None
    superseded_by: str | None
    reinforcements: int
    last_seen_at: Instant | None
    pinned: bool
    derived: bool
    expires_at: Instant | None
    archived_at: Instant | None
    archive_reason: str | None


def memory_shape(memory: Memory, max_chars: int | None = None) -> MemoryShape:
    """The memory, its content cut to `max_chars` where that is given."""
    shape = MemoryShape.model_validate(memory)
    content = shape.content if max_chars is None else shape.content[:max_chars]
    return shape.model_copy(update={"content": content, "content_chars": len(shape.content)})


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
    title: str
    content: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    project_id: str | None
    handoff: HandoffShape
    revision: str
    agent: str | None
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
    name: str
    folder: str | None
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
