"""Export and import of memories: everything is kept, a repeated import adds nothing, a bad record stops no other."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from perdure.domain.access import Caller
from perdure.domain.scopes import Project
from perdure.domain.text import Stem
from perdure.domain.transfer import Parcel, check_parcel, project_record, read_record, record_of
from perdure.errors import InvalidInput, PerdureError
from perdure.ports.store import Session, Store
from perdure.services.memories import writing

PAGE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """How many records were added, stood there already, and why others were refused (by their position, from 0)."""

    added: int = 0
    existing: int = 0
    refused: tuple[tuple[int, str], ...] = ()


class TransferService:
    def __init__(self, store: Store, stem: Stem) -> None:
        self._store = store
        self._stem = stem

    async def export(self, caller: Caller) -> AsyncIterator[dict[str, Any]]:
        """Every project, then every memory of the caller's spaces as records, oldest first, archived ones too."""
        for project in await self._store.read(lambda session: session.projects.list(caller.spaces)):
            yield project_record(project)
        after: datetime | None = None
        while True:
            page = await self._page(caller, after)
            for parcel in page:
                yield record_of(parcel)
            if len(page) < PAGE:
                return
            after = page[-1].memory.recorded_at

    async def _page(self, caller: Caller, after: datetime | None) -> list[Parcel]:
        def work(session: Session) -> list[Parcel]:
            return [
                Parcel(
                    memory=memory,
                    versions=tuple(versions),
                    confidence=tuple(session.confidence.history(caller.spaces, memory.id)),
                )
                for memory, versions in session.memories.export(caller.spaces, after=after, limit=PAGE)
            ]

        return await self._store.read(work)

    async def import_records(self, caller: Caller, records: Sequence[Any]) -> ImportReport:
        """Add records to the caller's own space, each by itself; what is there already (by id) is left as it is."""
        added = existing = 0
        refused: list[tuple[int, str]] = []
        for start in range(0, len(records), PAGE):
            # Together, in their order: the writer gives each its savepoint and all of them one commit.
            page = records[start : start + PAGE]
            outcomes = await asyncio.gather(*(self._try(caller, record) for record in page))
            added += sum(outcome is True for outcome in outcomes)
            existing += sum(outcome is False for outcome in outcomes)
            refused += [(start + n, outcome) for n, outcome in enumerate(outcomes) if isinstance(outcome, str)]
        return ImportReport(added=added, existing=existing, refused=tuple(refused))

    async def _try(self, caller: Caller, record: Any) -> bool | str:
        """Whether it was added, or why it was refused. Raises what concerns every record (VaultLocked, DiskFull, …)."""
        try:
            if not isinstance(record, dict):
                raise InvalidInput("record: must be a JSON object")
            return await self._import(read_record(record, caller.space_id))
        except PerdureError as error:
            if error.code not in ("invalid_input", "conflict"):
                raise
            return error.message

    async def _import(self, item: Parcel | Project) -> bool:
        if isinstance(item, Project):
            return await self._store.write(lambda session: _add_project(session, item))
        check_parcel(item)
        return await self._store.write(lambda session: _add_parcel(session, item, self._stem))


def _add_project(session: Session, project: Project) -> bool:
    if session.projects.get(project.space_id, project.id) is not None:
        return False
    taken = session.projects.slugs(project.space_id, project.slug)
    if project.slug in taken:
        slug = next(s for n in range(2, len(taken) + 3) if (s := f"{project.slug}-{n}") not in taken)
        project = dataclasses.replace(project, slug=slug)
    session.projects.add(project)
    return True


def _add_parcel(session: Session, parcel: Parcel, stem: Stem) -> bool:
    memory = parcel.memory
    if session.memories.get((memory.space_id,), memory.id) is not None:
        return False
    if session.memories.is_purged(memory.id):
        raise InvalidInput("id: this memory was erased here for ever and is not brought back by an import", argument="id")
    if memory.project_id and session.projects.get(memory.space_id, memory.project_id) is None:
        raise InvalidInput("project_id: the project's own record must stand before its memories", argument="project_id")
    number = session.memories.reserve_number(memory.space_id, memory.project_id, memory.kind, memory.number)
    memory = dataclasses.replace(memory, number=number)
    session.memories.add(memory, parcel.versions[0])
    for version in parcel.versions[1:]:
        session.memories.save(memory, version)
    for change in parcel.confidence or (writing.initial_confidence(memory, "import"),):
        session.confidence.add(memory.space_id, change)
    if memory.is_live:
        writing.put_document(session, memory, stem)
        writing.queue(session, memory, writing.EMBED_JOB, due_at=session.instant())
    if memory.expires_at and memory.archived_at is None:
        writing.queue(session, memory, writing.EXPIRE_JOB, due_at=memory.expires_at)
    return True
