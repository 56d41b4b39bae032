"""Tools that remember: free text, and structured thoughts with their attribution."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.handoff import MAX_ENTRIES, MAX_NEXT_ACTION_CHARS, MAX_TEXT_CHARS, parse_handoff
from perdure.domain.instants import parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import CONFIDENCE_BY_WORD, DEFAULT_CONFIDENCE, Captured, Draft, Privacy
from perdure.surfaces.mcp.declaration import schema_of, tool
from perdure.surfaces.mcp.reply import Reply

Label = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]
Labels = Annotated[list[Label], Field(max_length=MAX_ENTRIES)]


class _Check(BaseModel):
    # The contract writes the bounds of its texts beside the object too; on an object they bind nothing.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"minLength": 1, "maxLength": MAX_TEXT_CHARS})
    check: Label
    status: Annotated[Literal["passed", "failed", "not_run"], Field(description="not_run: the check was not executed.")]
    details: Label | None = None


class _Handoff(BaseModel):
    """The shape that tools/list shows; domain/handoff.py holds the rules and words the errors."""

    model_config = ConfigDict(extra="forbid")
    completed: Annotated[Labels | None, Field(description="What is done.")] = None
    verification: Annotated[list[_Check] | None, Field(max_length=MAX_ENTRIES, description="Checks and how they went.")] = None
    blockers: Annotated[Labels | None, Field(description="What stands in the way.")] = None
    next_action: Annotated[
        str, Field(min_length=1, max_length=MAX_NEXT_ACTION_CHARS, description="The one concrete next action.")
    ]


OccurredAt = Annotated[
    str | None, Field(description="When it happened, if not now: RFC 3339, a day (2026-08-15) or a month (2026-08).")
]


@tool(writes=True, repeatable=True)
async def cortexa_ingest(
    app: App,
    caller: Caller,
    *,
    content: Annotated[
        str,
        Field(
            description="The text to capture. A prefix chooses a template: "
            "/idea: /decision: /bug: /todo: /question: /note: /learn: /meeting:"
        ),
    ],
    project: Annotated[str | None, Field(description="Project/repo name; made where it is new.")] = None,
    occurred_at: OccurredAt = None,
) -> Reply:
    """Capture text into the encrypted store. It is searchable at once.

    Secrets are masked before anything is stored. For typed, attributed thoughts use cortexa_capture.
    """
    occurred = parse_period(occurred_at) if occurred_at else None
    draft = Draft(content=content, kind=Kind.NOTE, project=project, occurred=occurred)
    return captured_reply(await app.memories.ingest(caller, draft))


@tool(writes=True, repeatable=True)
async def cortexa_capture(
    app: App,
    caller: Caller,
    *,
    content: Annotated[str, Field(description="The thought content. Be specific.")],
    thought_type: Annotated[
        Literal["decision", "discovery", "architecture", "debug", "todo", "pattern", "question", "note", "handoff"],
        Field(description="What kind of thought it is. handoff needs handoff, project and session_id."),
    ],
    agent: Annotated[str | None, Field(description="Agent identifier: claude-code, cursor, gemini.")] = None,
    project: Annotated[str | None, Field(description="Project/repo name; made where it is new.")] = None,
    file_context: Annotated[str | None, Field(description="Relevant file paths, comma-separated.")] = None,
    language: Annotated[str | None, Field(description="Programming language.")] = None,
    session_id: Annotated[str | None, Field(description="Group captures from the same session.")] = None,
    confidence: Annotated[Literal["high", "medium", "low"] | None, Field(description="How sure you are.")] = None,
    tags: Annotated[list[str] | None, Field(description="Additional tags.")] = None,
    handoff: Annotated[
        dict[str, Any] | None,
        WithJsonSchema(schema_of(_Handoff)),
        Field(description="Where the next session goes on; for thought_type handoff."),
    ] = None,
    channel: Annotated[str | None, Field(description="Also post it to this shared channel (cortexa_feed).")] = None,
    privacy: Annotated[Literal["private", "team", "public"] | None, Field(description="Who may see it.")] = None,
    occurred_at: OccurredAt = None,
    expires: Annotated[str | None, Field(description="Archive it after this date or duration, such as 14d.")] = None,
) -> Reply:
    """Structured capture with full metadata. Use this for typed, attributed thoughts: decisions, fixes, discoveries.

    At the end of a session save one handoff: what is completed, how checks went (not_run when a check was not executed), blockers
    and the next action. Secrets are masked before anything is stored; keep private data out or choose the privacy.
    """
    draft = Draft(
        content=content, kind=Kind(thought_type), agent=agent, project=project, language=language, session_id=session_id,
        channel=channel, expires=expires, files=tuple((file_context or "").split(",")), tags=tuple(tags or ()),
    )  # fmt: skip
    draft = detailed(draft, confidence, handoff=handoff, privacy=privacy, occurred_at=occurred_at)
    return captured_reply(await app.memories.capture(caller, draft))


def detailed(
    draft: Draft, confidence: str | None, *, handoff: dict[str, Any] | None, privacy: str | None, occurred_at: str | None
) -> Draft:
    """The draft with what a caller says in words. Raises InvalidInput for a bad handoff or date."""
    return dataclasses.replace(
        draft,
        confidence=CONFIDENCE_BY_WORD[confidence] if confidence else DEFAULT_CONFIDENCE,
        handoff=None if handoff is None else parse_handoff(handoff),
        privacy=Privacy(privacy) if privacy else None,
        occurred=parse_period(occurred_at) if occurred_at else None,
    )


def captured_reply(captured: Captured) -> Reply:
    """The seed's exact sentence alone in the first block; anything more in a second one (SEMANTICS 1)."""
    notes = [*captured.notes]
    if captured.existing:
        notes.insert(0, "The same capture was stored a moment ago; this is its id.")
    if captured.redacted:
        notes.insert(0, f"Secrets were masked before storing: {', '.join(captured.redacted)}.")
    told = {"id": captured.id, "existing": captured.existing, "redacted": list(captured.redacted), "notes": list(captured.notes)}
    return Reply((f"Captured. Item id: {captured.id}", *(["\n".join(notes)] if notes else [])), told)
