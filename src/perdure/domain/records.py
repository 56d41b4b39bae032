"""Smaller records that hang on memories: jobs, events, audit entries, confidence changes, links."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Slow work as a row, written in the caller's own transaction. `due_at` is when it may start."""

    id: str
    space_id: str
    kind: str
    entity_id: str
    state: JobState
    due_at: datetime
    created_at: datetime
    attempts: int = 0
    error: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened (episodic memory, seed 001): names and ids, importance 0..100."""

    id: str
    space_id: str
    at: datetime
    type: str
    entity_type: str
    entity_id: str
    entity_name: str = ""
    importance: int = 50
    session_id: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One call: who and how it went; `input_summary` holds argument names, lengths and ids, never content (seed 001)."""

    tool_name: str
    agent: str | None
    session_id: str | None
    input_summary: str
    output_status: str
    duration_ms: float
    error_message: str | None = None
    token_id: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMetric:
    """Sums over the audit of one tool (seed 000, cortexa_tool_metrics)."""

    tool_name: str
    total_calls: int
    successful_calls: int
    error_rate: float
    avg_duration_ms: float
    total_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidenceChange:
    """reason: initial, thesis_complete, decay or contradiction (seed 000, cortexa_confidence_history)."""

    memory_id: str
    old_score: float | None
    new_score: float
    reason: str
    source: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed edge: supersedes, contradicts, supports, creates, tests, affects, blocks, resolves."""

    id: str
    space_id: str
    kind: str
    source_type: str
    source_id: str
    target_type: str
    target_id: str
    created_at: datetime
