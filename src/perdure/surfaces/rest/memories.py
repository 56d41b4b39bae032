"""/api/memories, /api/search and /api/projects."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from pydantic import Field

from perdure.domain.handoff import parse_handoff
from perdure.domain.instants import parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import CONFIDENCE_BY_WORD, DEFAULT_CONFIDENCE, Changes, Draft, Privacy
from perdure.domain.retrieval import Query
from perdure.surfaces.rest.endpoint import Call, Given, endpoint
from perdure.surfaces.rest.filters import AKind, AReview, FilterGiven, ListGiven, SearchGiven, where
from perdure.surfaces.rest.shapes import (
    CapturedShape,
    Count,
    MemoryPage,
    MemoryShape,
    ProjectList,
    ProjectShape,
    Purged,
    SearchAnswer,
    VersionList,
    VersionShape,
    hit_shape,
    memory_shape,
    shown,
)


class DraftGiven(Given):
    content: str
    kind: AKind = Kind.NOTE
    title: str = ""
    project: str | None = None
    agent: str | None = None
    session_id: str | None = None
    channel: str | None = None
    language: str | None = None
    tags: list[str] = Field([])
    files: list[str] = Field([])
    confidence: Literal["high", "medium", "low"] | None = None
    handoff: dict[str, Any] | None = Field(None, description="completed, verification, blockers, next_action; with kind handoff.")
    privacy: Annotated[Privacy, Field(strict=False)] | None = None
    occurred_at: str | None = Field(None, description="When it happened: a time, a day or a month.")
    expires: str | None = Field(None, description="When it is archived: a duration such as 14d, a date or a time.")


class ChangesGiven(Given):
    content: str | None = None
    title: str | None = None
    tags: list[str] | None = None
    files: list[str] | None = None
    expected_version: int | None = Field(None, description="Refused with a conflict when the memory is at another version.")


class ReviewGiven(Given):
    state: AReview
    superseded_by: str | None = None
    note: str | None = None


class PurgeGiven(Given):
    confirm: str = Field(description="The memory's id once more.")


@endpoint("GET", "/api/memories")
async def list_memories(call: Call, query: ListGiven) -> MemoryPage:
    """Memories, newest first."""
    wanted = await where(call, query, archived=query.archived)
    found = await call.app.memories.list(wanted, limit=query.limit, offset=query.offset)
    return MemoryPage(
        items=await asyncio.to_thread(lambda: [memory_shape(memory, query.max_chars) for memory in found]),
        total=await call.app.memories.count(wanted),
        limit=query.limit,
        offset=query.offset,
    )


@endpoint("POST", "/api/memories", status=201)
async def capture_memory(call: Call, body: DraftGiven) -> CapturedShape:
    """Remember a text; answers its id once it is stored durably."""
    given = body.model_dump(exclude={"confidence", "handoff", "occurred_at", "tags", "files"})
    draft = Draft(
        **given,
        tags=tuple(body.tags),
        files=tuple(body.files),
        confidence=CONFIDENCE_BY_WORD[body.confidence] if body.confidence else DEFAULT_CONFIDENCE,
        handoff=parse_handoff(body.handoff) if body.handoff is not None else None,
        occurred=parse_period(body.occurred_at) if body.occurred_at else None,
    )
    return CapturedShape.model_validate(await call.app.memories.capture(call.caller, draft))


@endpoint("GET", "/api/memories/{memory_id}")
async def get_memory(call: Call, memory_id: str) -> MemoryShape:
    """One memory, whole; archived ones too."""
    return await shown(await call.app.memories.get(call.caller, memory_id))


@endpoint("PATCH", "/api/memories/{memory_id}")
async def update_memory(call: Call, memory_id: str, body: ChangesGiven) -> MemoryShape:
    """Revise a memory in place; every version is kept."""
    changes = Changes(
        content=body.content,
        title=body.title,
        tags=None if body.tags is None else tuple(body.tags),
        files=None if body.files is None else tuple(body.files),
        expected_version=body.expected_version,
    )
    return await shown(await call.app.memories.update(call.caller, memory_id, changes=changes))


@endpoint("DELETE", "/api/memories/{memory_id}")
async def archive_memory(call: Call, memory_id: str) -> MemoryShape:
    """Archive a memory: found no more, kept with its versions, brought back by restore."""
    return await shown(await call.app.memories.archive(call.caller, memory_id))


@endpoint("POST", "/api/memories/{memory_id}/restore")
async def restore_memory(call: Call, memory_id: str) -> MemoryShape:
    """Bring an archived memory back."""
    return await shown(await call.app.memories.restore(call.caller, memory_id))


@endpoint("POST", "/api/memories/{memory_id}/review")
async def review_memory(call: Call, memory_id: str, body: ReviewGiven) -> MemoryShape:
    """Set the review state; superseded names the successor."""
    reviewed = await call.app.memories.review(
        call.caller, memory_id, state=body.state, superseded_by=body.superseded_by, note=body.note
    )
    return await shown(reviewed)


@endpoint("GET", "/api/memories/{memory_id}/versions")
async def list_versions(call: Call, memory_id: str) -> VersionList:
    """What a memory said and when, oldest first."""
    versions = await call.app.memories.versions(call.caller, memory_id)
    return await asyncio.to_thread(lambda: VersionList(items=[VersionShape.model_validate(version) for version in versions]))


@endpoint("POST", "/api/memories/{memory_id}/purge", primary=True)
async def purge_memory(call: Call, memory_id: str, body: PurgeGiven) -> Purged:
    """Erase a memory's content, versions and index entries for ever."""
    await call.app.memories.purge(call.caller, memory_id, confirm=body.confirm)
    return Purged(purged=memory_id)


@endpoint("POST", "/api/memories/archive", primary=True)
async def archive_memories(call: Call, body: FilterGiven) -> Count:
    """Archive every memory that matches; at least one condition is needed."""
    return Count(archived=await call.app.memories.archive_many(await where(call, body)))


@endpoint("GET", "/api/search")
async def search_memories(call: Call, query: SearchGiven) -> SearchAnswer:
    """The best memories for the words, best first, with the score's parts and why each came."""
    answer = await call.app.retrieval.search(Query(text=query.query, filter=await where(call, query), limit=query.limit))
    hits = await asyncio.to_thread(lambda: [hit_shape(hit, query.max_chars) for hit in answer.hits])
    return SearchAnswer(hits=hits, found=answer.found, signals=answer.signals)


@endpoint("GET", "/api/projects")
async def list_projects(call: Call) -> ProjectList:
    """Projects with their counts, the most recently used first."""
    projects = await call.app.scopes.projects(call.caller)
    return ProjectList(items=[ProjectShape.model_validate(project) for project in projects])


ENDPOINTS = (
    list_memories, capture_memory, archive_memories, get_memory, update_memory, archive_memory, restore_memory,
    review_memory, list_versions, purge_memory, search_memories, list_projects,
)  # fmt: skip
