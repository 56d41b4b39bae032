"""Where rows live: one port for every engine.

A service hands a function to `Store.read` or `Store.write`; the engine runs it on one of its own threads with a `Session`, whose
repositories do the SQL. A write is answered when its commit is durable; if the function raises, nothing of it is kept, and other
callers that share the commit are not touched. So rules stay in services, SQL in engines, and a transaction is visible where the
rule is. A function given to an engine must not await, must not keep the session, and may be run on any thread.

Every method takes the spaces it may touch (in a `Filter`, or as `spaces`); there is no path to a row without its space.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from perdure.domain.documents import Document
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, MemoryVersion
from perdure.domain.records import AuditEntry, ConfidenceChange, Event, Job, Link, ToolMetric
from perdure.domain.retrieval import Candidate, Filter, Holding, Standing
from perdure.domain.scopes import Project, Space
from perdure.domain.vectors import Coverage, EmbeddingModel

T = TypeVar("T")


class Spaces(Protocol):
    def add(self, space: Space) -> None: ...
    def get(self, space_id: str) -> Space | None: ...
    def all(self) -> list[Space]: ...


class Projects(Protocol):
    def add(self, project: Project) -> None: ...
    def get(self, space_id: str, project_id: str) -> Project | None: ...
    def find(self, spaces: Sequence[str], name: str) -> Project | None:
        """By exact id, else exact name, else slug, else name without regard to case; the first space wins."""
        ...

    def slugs(self, space_id: str, prefix: str) -> set[str]:
        """The slugs of the space that start with `prefix`, to make a new one unique."""
        ...

    def list(self, spaces: Sequence[str]) -> list[Project]:
        """With live counts and the time of the newest live memory, newest first."""
        ...


class Memories(Protocol):
    def add(self, memory: Memory, version: MemoryVersion) -> None:
        """Insert the memory with its first version."""
        ...

    def save(self, memory: Memory, version: MemoryVersion | None = None) -> None:
        """Write the row as it is now. With a version: close the newest one at its `valid_from`, insert it."""
        ...

    def get(self, spaces: Sequence[str], memory_id: str) -> Memory | None: ...
    def get_many(self, spaces: Sequence[str], memory_ids: Sequence[str]) -> dict[str, Memory]: ...
    def versions(self, spaces: Sequence[str], memory_id: str) -> list[MemoryVersion]:
        """Oldest first."""
        ...

    def next_number(self, space_id: str, project_id: str | None, kind: Kind) -> int:
        """The next integer id of that kind in that project; never given twice, also after a purge."""
        ...

    def reserve_number(self, space_id: str, project_id: str | None, kind: Kind, number: int) -> int:
        """That number if no memory of that kind in that project has it (an import), else the next; never given again."""
        ...

    def by_fingerprint(self, space_id: str, fingerprint: str, since: datetime) -> Memory | None:
        """The first memory recorded since then with that fingerprint (an idempotent retry), live or not purged."""
        ...

    def count(self, where: Filter) -> int: ...
    def ids(self, where: Filter) -> list[str]:
        """Every id that matches, oldest first."""
        ...

    def purge(self, space_id: str, memory_id: str, at: datetime) -> None:
        """Erase row, versions, links, confidence, jobs; leave a tombstone (id and time only)."""
        ...

    def is_purged(self, memory_id: str) -> bool: ...
    def export(self, spaces: Sequence[str], *, after: datetime | None, limit: int) -> list[tuple[Memory, list[MemoryVersion]]]:
        """A page of all memories, archived ones too, oldest first, strictly after that recorded time, with their versions."""
        ...

    def list(
        self, where: Filter, *, limit: int, offset: int = 0, oldest_first: bool = False, after: datetime | None = None
    ) -> list[Memory]:
        """Ordered by recorded time. `after` is exclusive: with `oldest_first` what came strictly after it (feed cursor),
        else what came strictly before it (paging)."""
        ...


class Standings(Protocol):
    """What ranking needs of many memories at once, without their texts."""

    def of(self, spaces: Sequence[str], memory_ids: Sequence[str]) -> dict[str, Standing]: ...
    def beside(self, where: Filter, memory_ids: Sequence[str], reach: int) -> dict[str, dict[int, str]]:
        """For each memory that belongs to a session: those that match the filter and were recorded up to `reach` places before
        (-1, -2, …) or after (1, 2, …) it in that session."""
        ...


class Documents(Protocol):
    """The searchable projection. One per live memory, written in the memory's transaction; removed when it is not live."""

    def put(self, document: Document) -> None:
        """Insert, or replace the document of that memory."""
        ...

    def remove(self, space_id: str, memory_id: str) -> None: ...
    def search(self, terms: Sequence[str], where: Filter, limit: int) -> list[Candidate]:
        """Full text by BM25, best first: documents that hold any of the terms (query terms of domain/text.py, literal).

        Work is bounded: very common terms are left out while rarer ones remain. Filters are part of the query.
        """
        ...

    def holdings(
        self, terms: Sequence[str], spaces: Sequence[str], memory_ids: Sequence[str], sessions: Sequence[str]
    ) -> list[Holding]:
        """Of each term that any document holds: which of these memories and sessions hold it.

        Work is bounded: of a very common term only the memories are looked at, and the sessions told are theirs.
        """
        ...

    def size(self, spaces: Sequence[str]) -> int:
        """About how many documents there are, at no cost: what a term's frequency is weighed against."""
        ...

    def count(self, spaces: Sequence[str]) -> int: ...
    def check(self) -> list[str]:
        """What is wrong between memories and documents, in words; empty when all is well."""
        ...

    def rebuild(self, make: Callable[[Memory], Document]) -> int:
        """Drop and write every document anew from the live memories; answers how many."""
        ...


class Vectors(Protocol):
    """Embeddings of live memories, hung on their documents: gone with them, and renewed when the text is.

    Vectors of different models (`EmbeddingModel.key`) are never compared. An index over them is a cache: rebuilt from the
    rows whenever it is missing, stale or damaged, and never trusted over them.
    """

    def put(self, space_id: str, memory_id: str, model: EmbeddingModel, vectors: Sequence[bytes]) -> None:
        """The vectors of a memory's windows instead of those it had; nothing for a memory that is not live."""
        ...

    def search(self, vector: bytes, model: EmbeddingModel, where: Filter, limit: int) -> list[Candidate]:
        """The memories whose best window is nearest, best first; the score is the cosine. The filter is part of the query."""
        ...

    def cosines(self, vector: bytes, model: EmbeddingModel, spaces: Sequence[str], memory_ids: Sequence[str]) -> dict[str, float]:
        """The best window's cosine of each of these memories that has vectors of the model."""
        ...

    def knows(self, model: EmbeddingModel) -> bool:
        """Whether any vector of the model was ever stored; cheap."""
        ...

    def missing(self, model: EmbeddingModel, limit: int) -> list[tuple[str, str]]:
        """(space id, memory id) of live memories without vectors of the model, the newest first."""
        ...

    def coverage(self, model: EmbeddingModel) -> Coverage: ...


class Jobs(Protocol):
    def add(self, job: Job) -> None: ...
    def claim(self, kinds: Sequence[str], now: datetime) -> Job | None:
        """The oldest due queued job of these kinds, set running; None when none is due."""
        ...

    def finish(self, job: Job, now: datetime) -> None:
        """Write back state, attempts, error and due time as the job says."""
        ...

    def discard(self, space_id: str, kind: str, entity_ids: Sequence[str]) -> None:
        """Remove the jobs of that kind for those entities: the work is done."""
        ...

    def next_due(self, kinds: Sequence[str]) -> datetime | None: ...
    def counts(self) -> dict[tuple[str, str], int]:
        """(kind, state) → how many."""
        ...

    def requeue_running(self) -> int:
        """At start: what was running when the process died is queued again."""
        ...


class Events(Protocol):
    def add(self, event: Event) -> None: ...
    def recent(self, spaces: Sequence[str], limit: int) -> list[Event]: ...


class Audit(Protocol):
    def add(self, entries: Sequence[tuple[AuditEntry, datetime]]) -> None: ...
    def recent(self, limit: int) -> list[tuple[AuditEntry, datetime]]: ...
    def metrics(self) -> list[ToolMetric]:
        """Per tool, most called first."""
        ...

    def prune(self, before: datetime) -> int: ...


class Confidence(Protocol):
    def add(self, space_id: str, change: ConfidenceChange) -> None: ...
    def history(self, spaces: Sequence[str], memory_id: str) -> list[ConfidenceChange]:
        """Oldest first."""
        ...


class Links(Protocol):
    def add(self, link: Link) -> None: ...
    def of(self, spaces: Sequence[str], entity_id: str) -> list[Link]:
        """From or to that entity, oldest first."""
        ...

    def remove(self, space_id: str, link_id: str) -> None: ...


class SettingRows(Protocol):
    def all(self) -> dict[str, str]:
        """Name → JSON text."""
        ...

    def put(self, name: str, value: str | None) -> None:
        """None removes the row, so that the default holds again."""
        ...


class Session(Protocol):
    """One transaction's view. `instant()` and `new_id()` belong to writes: strictly increasing UTC microseconds, UUIDv7."""

    @property
    def spaces(self) -> Spaces: ...
    @property
    def projects(self) -> Projects: ...
    @property
    def memories(self) -> Memories: ...
    @property
    def standings(self) -> Standings: ...
    @property
    def documents(self) -> Documents: ...
    @property
    def vectors(self) -> Vectors: ...
    @property
    def jobs(self) -> Jobs: ...
    @property
    def events(self) -> Events: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def confidence(self) -> Confidence: ...
    @property
    def links(self) -> Links: ...
    @property
    def settings(self) -> SettingRows: ...
    def instant(self) -> datetime: ...
    def new_id(self) -> str: ...


class Store(Protocol):
    async def read(self, work: Callable[[Session], T]) -> T:
        """Run on a reader with one consistent snapshot. Raises VaultLocked when the vault is not open."""
        ...

    async def write(self, work: Callable[[Session], T]) -> T:
        """Run on the writer; answered after the commit is durable.

        Raises what `work` raised (nothing of it is kept), VaultLocked, DiskFull, DiskReadOnly, VaultDamaged.
        """
        ...

    def defer(self, work: Callable[[Session], None]) -> None:
        """Run with the next commit, or within a second; not waited for (audit rows). Dropped when the vault is locked."""
        ...
