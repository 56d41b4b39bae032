"""What a memory is: its values, its versions and the pure rules over them (SEMANTICS 1, 4, 5)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from perdure.domain.handoff import Handoff
from perdure.domain.instants import Period
from perdure.domain.kinds import Kind
from perdure.errors import InvalidInput

MAX_TITLE_CHARS = 300
MAX_TAGS = 50
MAX_TAG_CHARS = 100
MAX_FILES = 100
MAX_FILE_CHARS = 1024
MAX_LABEL_CHARS = 200
MAX_NOTE_CHARS = 2000
CONFIDENCE_BY_WORD = {"high": 0.9, "medium": 0.7, "low": 0.5}
DEFAULT_CONFIDENCE = 0.7


class ReviewState(StrEnum):
    CAPTURED = "captured"
    REVIEWED = "reviewed"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"


class Privacy(StrEnum):
    PRIVATE = "private"
    TEAM = "team"
    PUBLIC = "public"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller wants remembered, before it has an id: already typed, not yet checked, redacted or stored."""

    content: str
    kind: Kind
    title: str = ""
    project: str | None = None
    agent: str | None = None
    session_id: str | None = None
    source: str | None = None
    channel: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    confidence: float = DEFAULT_CONFIDENCE
    handoff: Handoff | None = None
    privacy: Privacy | None = None
    occurred: Period | None = None
    expires: str | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered text as it stands now. `project_slug` and `project_name` come with it for rendering."""

    id: str
    space_id: str
    kind: Kind
    number: int
    version: int
    title: str
    content: str
    revision: str
    recorded_at: datetime
    updated_at: datetime
    occurred: Period
    project_id: str | None = None
    project_slug: str | None = None
    project_name: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    language: str | None = None
    handoff: Handoff | None = None
    agent: str | None = None
    client: str | None = None
    session_id: str | None = None
    source: str = "mcp"
    channel: str | None = None
    privacy: Privacy = Privacy.PRIVATE
    confidence: float = DEFAULT_CONFIDENCE
    review: ReviewState = ReviewState.CAPTURED
    review_note: str | None = None
    superseded_by: str | None = None
    reinforcements: int = 1
    last_seen_at: datetime | None = None
    pinned: bool = False
    derived: bool = False
    summary: str | None = None
    thesis: str | None = None
    fingerprint: str = ""
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    archive_reason: str | None = None

    @property
    def is_live(self) -> bool:
        """Found by searches, lists and contexts: neither archived nor superseded."""
        return self.archived_at is None and self.review is not ReviewState.SUPERSEDED

    @property
    def heading(self) -> str:
        """The title, or the first line of the content where it has none, at most 120 characters."""
        text = self.title or next((line.strip() for line in self.content.splitlines() if line.strip()), "")
        return text if len(text) <= 120 else text[:119] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVersion:
    """What a memory said from `valid_from` until `valid_to` (None: still), in recorded time."""

    memory_id: str
    version: int
    kind: Kind
    title: str
    content: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    project_id: str | None
    handoff: Handoff | None
    revision: str
    valid_from: datetime
    valid_to: datetime | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """A revision of a memory; what is None stays as it is."""

    content: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """The answer to a capture: the id, whether it stood there already, what was redacted, and remarks for the caller."""

    id: str
    existing: bool = False
    redacted: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def revision_hash(
    *,
    id: str,
    version: int,
    kind: Kind,
    title: str,
    content: str,
    tags: tuple[str, ...],
    project: str | None,
    handoff: Handoff | None,
) -> str:
    """SHA-256, in hex, over the canonical JSON of what a version says (SEMANTICS 4)."""
    value: dict[str, Any] = {
        "id": id,
        "version": version,
        "kind": kind.value,
        "title": title,
        "content": content,
        "tags": list(tags),
        "project": project,
        "handoff": handoff.as_dict() if handoff else None,
    }
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(draft: Draft, space_id: str) -> str:
    """Same for a retry of the same capture: bytes, owner, kind, project, agent, session and channel (SEMANTICS 4)."""
    handoff = json.dumps(draft.handoff.as_dict(), sort_keys=True, ensure_ascii=False) if draft.handoff else None
    parts = [
        space_id,
        draft.kind.value,
        draft.project,
        draft.agent,
        draft.session_id,
        draft.channel,
        draft.title,
        draft.content,
        handoff,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def clean_tags(raw: tuple[str, ...]) -> tuple[str, ...]:
    """Tags trimmed, without blanks and repeats, in their order. Raises InvalidInput over 50 tags or 100 characters."""
    tags = tuple(dict.fromkeys(tag.strip() for tag in raw if tag.strip()))
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"tags: may have {MAX_TAGS} entries, has {len(tags)}", argument="tags")
    for tag in tags:
        if len(tag) > MAX_TAG_CHARS:
            raise InvalidInput(f"tags: each may have {MAX_TAG_CHARS} characters, one has {len(tag)}", argument="tags")
    return tags


def clean_files(raw: tuple[str, ...]) -> tuple[str, ...]:
    """Paths as labels: trimmed, slashes forward, without blanks and repeats. They are never opened.

    Raises InvalidInput over 100 paths or 1,024 characters.
    """
    paths = (path.strip().replace("\\", "/").removeprefix("./") for path in raw)
    files = tuple(dict.fromkeys(path for path in paths if path))
    if len(files) > MAX_FILES:
        raise InvalidInput(f"file_context: may name {MAX_FILES} paths, names {len(files)}", argument="file_context")
    for path in files:
        if len(path) > MAX_FILE_CHARS:
            raise InvalidInput(
                f"file_context: each path may have {MAX_FILE_CHARS} characters, one has {len(path)}",
                argument="file_context",
            )
    return files
