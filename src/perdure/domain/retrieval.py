"""What a search asks and what it answers (SEMANTICS 3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, ReviewState


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories may answer; it is part of the query, never applied after it. Empty tuples and None mean "any".

    Archived and superseded memories never answer unless `archived` is set (lists and history only). `tags` must all be there.
    """

    spaces: tuple[str, ...]
    kinds: tuple[Kind, ...] = ()
    project_id: str | None = None
    session_id: str | None = None
    agent: str | None = None
    source: str | None = None
    channel: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reviews: tuple[ReviewState, ...] = ()
    recorded_from: datetime | None = None
    recorded_to: datetime | None = None
    occurred_from: datetime | None = None
    occurred_to: datetime | None = None
    derived: bool | None = None
    archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A search: the words, the filter, and what lifts a hit without excluding others."""

    text: str
    filter: Filter
    limit: int = 10
    boost_project_id: str | None = None
    boost_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One hit of one leg: the document's memory and its raw score (larger is better; BM25 for full text)."""

    memory_id: str
    space_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What ranking needs to know of a memory, without its text: its opening (48 characters) and whether it ends as a question."""

    memory_id: str
    space_id: str
    kind: Kind
    occurred_start: datetime
    reinforcements: int
    is_pinned: bool
    project_id: str | None
    files: tuple[str, ...]
    session_id: str | None = None
    chars: int = 0
    opening: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A term of a query: how many documents hold it, which of the memories asked about do, and which of the sessions."""

    term: str
    frequency: int
    memories: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One answer: the memory, its blended score, why it came, and the parts of the score."""

    memory: Memory
    score: float
    why: tuple[str, ...]
    parts: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The hits best first, how many candidates there were, and signals such as `embedding_unavailable`."""

    hits: tuple[Hit, ...]
    found: int
    signals: tuple[str, ...] = ()
