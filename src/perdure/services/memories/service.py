"""Capturing, reading and changing memories: the rules every door shares (SEMANTICS 2, 4, 5)."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta

from perdure.domain.access import Caller
from perdure.domain.documents import analyse
from perdure.domain.memory import (
    Captured,
    Changes,
    Draft,
    Memory,
    MemoryVersion,
    Privacy,
    ReviewState,
    clean_files,
    clean_tags,
    fingerprint,
)
from perdure.domain.records import ConfidenceChange, Job, Link
from perdure.domain.retrieval import Filter
from perdure.domain.templates import UserTemplate, apply_template
from perdure.domain.text import Stem
from perdure.errors import Conflict, InvalidInput
from perdure.ports.store import Session, Store
from perdure.services.memories import writing
from perdure.services.memories.checking import check_draft, redact_changes, redact_draft, redact_note
from perdure.services.settings import SettingsService

INLINE_CHARS = 20_000
"""Longer texts are scanned and analysed off the event loop, so that one big capture holds up nobody."""
RETRY_WINDOW = timedelta(minutes=1)
"""The same capture within this time is a retry and answers with the first id."""


class MemoryService:
    def __init__(self, store: Store, settings: SettingsService, stem: Stem) -> None:
        self._store = store
        self._settings = settings
        self._stem = stem

    async def ingest(self, caller: Caller, draft: Draft) -> Captured:
        """Capture text whose `/name:` prefix, if it has one, chooses kind and tags (SEMANTICS 4, Templates)."""
        raw = await self._settings.get("templates")
        templates = {name: UserTemplate(kind=t["kind"], tags=tuple(t.get("tags", ()))) for name, t in raw.items()}
        found = apply_template(draft.content, templates)
        shaped = dataclasses.replace(draft, content=found.content, kind=found.kind, tags=(*draft.tags, *found.tags))
        captured = await self.capture(caller, shaped)
        if found.unknown is None:
            return captured
        names = ", ".join(sorted(found.known))
        note = f"/{found.unknown}: is no template, so it was kept as text; there are {names}."
        return dataclasses.replace(captured, notes=(*captured.notes, note))

    async def capture(self, caller: Caller, draft: Draft) -> Captured:
        """Remember a draft; answers the id, durable when answered. The same capture within a minute answers the first id.

        Raises InvalidInput (blank text, bad handoff, secrets under secrets=refuse, …), VaultLocked, DiskFull.
        """
        refuse = await self._settings.get("secrets") == "refuse"
        policy = Privacy(await self._settings.get("capture_policy"))
        checked = check_draft(draft)

        def prepare() -> tuple[writing.Prepared, tuple[str, ...]]:
            clean, redacted = redact_draft(checked, refuse=refuse)
            return writing.Prepared(
                draft=clean,
                privacy=clean.privacy or policy,
                fingerprint=fingerprint(clean, caller.space_id),
                analysis=analyse(clean, clean.project, stem=self._stem),
            ), redacted

        is_long = len(draft.content) > INLINE_CHARS
        prepared, redacted = await asyncio.to_thread(prepare) if is_long else prepare()

        def work(session: Session) -> Captured:
            since = session.instant() - RETRY_WINDOW
            retry = session.memories.by_fingerprint(caller.space_id, prepared.fingerprint, since)
            if retry is not None:
                writing.reinforce(session, retry)
                return Captured(id=retry.id, existing=True, redacted=redacted)
            return Captured(id=writing.insert(session, caller, prepared, stem=self._stem).id, redacted=redacted)

        return await self._store.write(work)

    async def get(self, caller: Caller, memory_id: str) -> Memory:
        """The memory as it stands, archived ones too. Raises ItemMissing."""
        return await self._store.read(lambda session: writing.require(session, caller, memory_id))

    async def versions(self, caller: Caller, memory_id: str) -> list[MemoryVersion]:
        """Every version, oldest first. Raises ItemMissing."""

        def work(session: Session) -> list[MemoryVersion]:
            writing.require(session, caller, memory_id)
            return session.memories.versions(caller.spaces, memory_id)

        return await self._store.read(work)

    async def links(self, caller: Caller, memory_id: str) -> list[Link]:
        return await self._store.read(lambda session: session.links.of(caller.spaces, memory_id))

    async def confidence_history(self, caller: Caller, memory_id: str) -> list[ConfidenceChange]:
        """Oldest first. Raises ItemMissing."""

        def work(session: Session) -> list[ConfidenceChange]:
            writing.require(session, caller, memory_id)
            return session.confidence.history(caller.spaces, memory_id)

        return await self._store.read(work)

    async def list(self, where: Filter, *, limit: int, offset: int = 0, after: datetime | None = None) -> list[Memory]:
        """Newest first; the filter names the spaces. `after`: strictly before that recorded time (paging)."""
        return await self._store.read(lambda session: session.memories.list(where, limit=limit, offset=offset, after=after))

    async def count(self, where: Filter) -> int:
        return await self._store.read(lambda session: session.memories.count(where))

    async def feed(
        self, caller: Caller, channel: str, *, since: datetime | None, limit: int, exclude_agent: str | None
    ) -> Sequence[Memory]:
        """What was posted to the channel strictly after `since`, oldest first; nothing skipped or repeated.

        `exclude_agent` is applied while reading on, so that a page is full while more is there.
        """

        def work(session: Session) -> Sequence[Memory]:
            found: list[Memory] = []
            cursor = since
            while len(found) < limit:
                page = session.memories.list(
                    Filter(spaces=caller.spaces, channel=channel), limit=limit, oldest_first=True, after=cursor
                )
                found += [m for m in page if exclude_agent is None or m.agent != exclude_agent]
                if len(page) < limit:
                    break
                cursor = page[-1].recorded_at
            return found[:limit]

        return await self._store.read(work)

    async def update(self, caller: Caller, memory_id: str, *, changes: Changes) -> Memory:
        """Revise in place; every version is kept. Raises ItemMissing, InvalidInput, Conflict naming the newest version."""
        refuse = await self._settings.get("secrets") == "refuse"
        clean = await asyncio.to_thread(redact_changes, changes, refuse=refuse)

        def work(session: Session) -> Memory:
            memory = writing.require(session, caller, memory_id)
            if clean.expected_version is not None and clean.expected_version != memory.version:
                raise Conflict(
                    f"The memory is at version {memory.version}, not {clean.expected_version}: read it again and repeat.",
                    version=memory.version,
                )
            revised = dataclasses.replace(
                memory,
                content=memory.content if clean.content is None else clean.content,
                title=memory.title if clean.title is None else clean.title,
                tags=memory.tags if clean.tags is None else clean_tags(clean.tags),
                files=memory.files if clean.files is None else clean_files(clean.files),
            )
            return memory if revised == memory else writing.revise(session, revised, stem=self._stem)

        return await self._store.write(work)

    async def review(
        self, caller: Caller, memory_id: str, *, state: ReviewState, superseded_by: str | None = None, note: str | None = None
    ) -> Memory:
        """Set the review state; `superseded` needs the successor, which is linked. Raises ItemMissing, InvalidInput."""
        if superseded_by and state is not ReviewState.SUPERSEDED:
            raise InvalidInput("superseded_by: goes with the state superseded only", argument="superseded_by")
        note = await self._clean_note(note)

        def work(session: Session) -> Memory:
            memory = writing.require(session, caller, memory_id)
            successor: Memory | None = None
            if state is ReviewState.SUPERSEDED:
                successor = writing.check_successor(session, caller, memory, successor_id=superseded_by)
            _relink(session, memory, successor)
            changed = dataclasses.replace(
                memory, review=state, review_note=note, superseded_by=successor.id if successor else None
            )
            return writing.set_state(session, memory, changed, event=f"memory_{state.value}", stem=self._stem)

        return await self._store.write(work)

    async def _clean_note(self, note: str | None) -> str | None:
        """A review note is stored like any text: bounded, and without secrets."""
        if note is None or not note.strip():
            return None
        return redact_note(note, refuse=await self._settings.get("secrets") == "refuse")

    async def archive(self, caller: Caller, memory_id: str, *, reason: str = "deleted") -> Memory:
        """Soft delete: found no more, kept with its versions, brought back by restore. Raises ItemMissing."""

        def work(session: Session) -> Memory:
            memory = writing.require(session, caller, memory_id)
            if memory.archived_at is not None:
                return memory
            changed = dataclasses.replace(memory, archived_at=session.instant(), archive_reason=reason)
            return writing.set_state(session, memory, changed, event="memory_archived", stem=self._stem)

        return await self._store.write(work)

    async def restore(self, caller: Caller, memory_id: str) -> Memory:
        """Bring an archived memory back; a passed expiry is dropped with it. Raises ItemMissing."""

        def work(session: Session) -> Memory:
            memory = writing.require(session, caller, memory_id)
            if memory.archived_at is None:
                return memory
            expires = None if memory.archive_reason == "expired" else memory.expires_at
            changed = dataclasses.replace(memory, archived_at=None, archive_reason=None, expires_at=expires)
            return writing.set_state(session, memory, changed, event="memory_restored", stem=self._stem)

        return await self._store.write(work)

    async def archive_many(self, where: Filter) -> int:
        """Archive what matches; answers how many. Raises InvalidInput for a filter that would match everything (FAULTS DL1)."""
        if where == Filter(spaces=where.spaces):
            raise InvalidInput("filter: a bulk delete needs at least one condition besides the space", argument="filter")

        def work(session: Session) -> int:
            ids = session.memories.ids(where)
            for memory in session.memories.get_many(where.spaces, ids).values():
                changed = dataclasses.replace(memory, archived_at=session.instant(), archive_reason="deleted")
                writing.set_state(session, memory, changed, event="memory_archived", stem=self._stem)
            return len(ids)

        return await self._store.write(work)

    async def purge(self, caller: Caller, memory_id: str, *, confirm: str) -> None:
        """Erase content, versions and index entries for ever; `confirm` must repeat the id. Leaves a tombstone.

        Raises ItemMissing, InvalidInput when the confirmation is not the id.
        """
        if confirm != memory_id:
            raise InvalidInput("confirm: repeat the memory's id to erase it for ever", argument="confirm")

        def work(session: Session) -> None:
            memory = writing.require(session, caller, memory_id)
            session.documents.remove(memory.space_id, memory.id)
            session.memories.purge(memory.space_id, memory.id, session.instant())

        await self._store.write(work)

    async def expire(self, job: Job) -> None:
        """Archive a memory whose last day has passed (job `expire`); a restored or purged one is left alone."""

        def work(session: Session) -> None:
            memory = session.memories.get((job.space_id,), job.entity_id)
            if memory is None or memory.archived_at or memory.expires_at is None or memory.expires_at > session.instant():
                return
            changed = dataclasses.replace(memory, archived_at=session.instant(), archive_reason="expired")
            writing.set_state(session, memory, changed, event="memory_expired", stem=self._stem)

        await self._store.write(work)


def _relink(session: Session, memory: Memory, successor: Memory | None) -> None:
    """Make the supersedes link say what the memory's review state says."""
    for link in session.links.of((memory.space_id,), memory.id):
        if link.kind == "supersedes" and link.target_id == memory.id:
            session.links.remove(memory.space_id, link.id)
    if successor is not None:
        session.links.add(
            Link(
                id=session.new_id(),
                space_id=memory.space_id,
                kind="supersedes",
                source_type=successor.kind.value,
                source_id=successor.id,
                target_type=memory.kind.value,
                target_id=memory.id,
                created_at=session.instant(),
            )
        )
