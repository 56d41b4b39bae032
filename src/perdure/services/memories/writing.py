"""The writes of a memory inside one transaction: row, version, document, jobs, events, confidence, all or none."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime

from perdure.domain.access import Caller
from perdure.domain.documents import Analysis, document_of
from perdure.domain.instants import instant_period, parse_expiry
from perdure.domain.memory import Draft, Memory, MemoryVersion, Privacy, ReviewState, revision_hash
from perdure.domain.records import ConfidenceChange, Event, Job, JobState
from perdure.domain.scopes import Project
from perdure.domain.sources import source_of
from perdure.domain.text import Stem
from perdure.errors import InvalidInput, ItemMissing
from perdure.ports.store import Session
from perdure.services.scopes import ensure_project

EMBED_JOB = "embed"
EXPIRE_JOB = "expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A draft checked, redacted and analysed before the transaction begins, so that the writer waits for no text."""

    draft: Draft
    privacy: Privacy
    fingerprint: str
    analysis: Analysis


def insert(session: Session, caller: Caller, prepared: Prepared, *, stem: Stem) -> Memory:
    """Store a checked and redacted draft as a new memory of the caller's space, with all that hangs on it."""
    draft = prepared.draft
    project = ensure_project(session, caller.space_id, draft.project) if draft.project else None
    memory = _first(session, caller, draft, project=project)
    memory = dataclasses.replace(memory, fingerprint=prepared.fingerprint, privacy=prepared.privacy)
    if draft.expires:
        memory = dataclasses.replace(memory, expires_at=parse_expiry(draft.expires, memory.recorded_at))
    session.memories.add(memory, version_of(memory, memory.recorded_at))
    put_document(session, memory, stem, analysis=prepared.analysis)
    session.confidence.add(memory.space_id, initial_confidence(memory, "capture"))
    queue(session, memory, EMBED_JOB, due_at=memory.recorded_at)
    if memory.expires_at:
        queue(session, memory, EXPIRE_JOB, due_at=memory.expires_at)
    note_event(session, memory, "memory_captured", at=memory.recorded_at)
    return memory


def _first(session: Session, caller: Caller, draft: Draft, *, project: Project | None) -> Memory:
    memory_id, now = session.new_id(), session.instant()
    return Memory(
        id=memory_id,
        space_id=caller.space_id,
        kind=draft.kind,
        number=session.memories.next_number(caller.space_id, project.id if project else None, draft.kind),
        version=1,
        title=draft.title,
        content=draft.content,
        revision=_revision(memory_id, 1, draft=draft, project=project),
        recorded_at=now,
        updated_at=now,
        occurred=draft.occurred or instant_period(now),
        project_id=project.id if project else None,
        project_slug=project.slug if project else None,
        project_name=project.name if project else None,
        tags=draft.tags,
        files=draft.files,
        language=draft.language,
        handoff=draft.handoff,
        agent=draft.agent,
        client=caller.client,
        session_id=draft.session_id,
        source=draft.source or source_of(caller.client),
        channel=draft.channel,
        confidence=draft.confidence,
        derived=draft.derived,
    )


def _revision(memory_id: str, version: int, *, draft: Draft, project: Project | None) -> str:
    return revision_hash(
        id=memory_id,
        version=version,
        kind=draft.kind,
        title=draft.title,
        content=draft.content,
        tags=draft.tags,
        project=project.id if project else None,
        handoff=draft.handoff,
    )


def revise(session: Session, memory: Memory, *, stem: Stem, agent: str | None = None) -> Memory:
    """Store the memory's new wording as its next version; documents and embedding follow it."""
    now = session.instant()
    version = memory.version + 1
    revision = revision_hash(
        id=memory.id,
        version=version,
        kind=memory.kind,
        title=memory.title,
        content=memory.content,
        tags=memory.tags,
        project=memory.project_id,
        handoff=memory.handoff,
    )
    revised = dataclasses.replace(memory, version=version, revision=revision, updated_at=now)
    session.memories.save(revised, version_of(revised, now, agent=agent))
    if revised.is_live:
        put_document(session, revised, stem)
        queue(session, revised, EMBED_JOB, due_at=now)
    note_event(session, revised, "memory_updated", at=now)
    return revised


def set_state(session: Session, before: Memory, after: Memory, *, event: str, stem: Stem) -> Memory:
    """Store a change that is no new wording (review, archive, pin, …); it is found, or no longer found, at once."""
    now = session.instant()
    changed = dataclasses.replace(after, updated_at=now)
    session.memories.save(changed)
    if changed.is_live and not before.is_live:
        put_document(session, changed, stem)
    elif before.is_live and not changed.is_live:
        session.documents.remove(changed.space_id, changed.id)
    note_event(session, changed, event, at=now)
    return changed


def reinforce(session: Session, memory: Memory) -> Memory:
    """The same was said again: counted, and seen now (FAULTS DL2)."""
    changed = dataclasses.replace(memory, reinforcements=memory.reinforcements + 1, last_seen_at=session.instant())
    session.memories.save(changed)
    return changed


def require(session: Session, caller: Caller, memory_id: str) -> Memory:
    """The memory of that id in the caller's spaces, archived ones too. Raises ItemMissing."""
    memory = session.memories.get(caller.spaces, memory_id)
    if memory is None:
        raise ItemMissing
    return memory


def check_successor(session: Session, caller: Caller, memory: Memory, *, successor_id: str | None) -> Memory:
    """The memory that supersedes another. Raises InvalidInput for none, itself, or a circle; ItemMissing for an unknown one."""
    if not successor_id:
        raise InvalidInput("superseded_by: name the memory that takes its place", argument="superseded_by")
    if successor_id == memory.id:
        raise InvalidInput("superseded_by: a memory cannot supersede itself", argument="superseded_by")
    successor = require(session, caller, successor_id)
    seen, at = {memory.id}, successor
    while True:
        if at.id in seen:
            raise InvalidInput("superseded_by: the memories would supersede each other in a circle", argument="superseded_by")
        seen.add(at.id)
        following = session.memories.get(caller.spaces, at.superseded_by) if at.superseded_by else None
        if following is None or at.review is not ReviewState.SUPERSEDED:
            return successor
        at = following


def put_document(session: Session, memory: Memory, stem: Stem, *, analysis: Analysis | None = None) -> None:
    space = session.spaces.get(memory.space_id)
    if space is None:
        raise ItemMissing
    session.documents.put(document_of(memory, space.number, stem=stem, analysis=analysis))


def version_of(memory: Memory, at: datetime, *, agent: str | None = None) -> MemoryVersion:
    return MemoryVersion(
        memory_id=memory.id,
        version=memory.version,
        kind=memory.kind,
        title=memory.title,
        content=memory.content,
        tags=memory.tags,
        files=memory.files,
        project_id=memory.project_id,
        handoff=memory.handoff,
        revision=memory.revision,
        valid_from=at,
        agent=agent or memory.agent,
    )


def initial_confidence(memory: Memory, source: str) -> ConfidenceChange:
    return ConfidenceChange(
        memory_id=memory.id,
        old_score=None,
        new_score=memory.confidence,
        reason="initial",
        source=source,
        created_at=memory.recorded_at,
    )


def queue(session: Session, memory: Memory, kind: str, *, due_at: datetime) -> None:
    session.jobs.add(
        Job(
            id=session.new_id(),
            space_id=memory.space_id,
            kind=kind,
            entity_id=memory.id,
            state=JobState.QUEUED,
            due_at=due_at,
            created_at=memory.updated_at,
        )
    )


def note_event(session: Session, memory: Memory, event_type: str, *, at: datetime) -> None:
    session.events.add(
        Event(
            id=session.new_id(),
            space_id=memory.space_id,
            at=at,
            type=event_type,
            entity_type=memory.kind.value,
            entity_id=memory.id,
            entity_name=memory.heading,
            session_id=memory.session_id,
            agent=memory.agent,
        )
    )
