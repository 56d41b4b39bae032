"""Finding memories: candidates of both legs, relevance, the blend, why each hit came (SEMANTICS 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perdure.domain.access import Caller
from perdure.domain.fusion import REACH, Evidence, Relevance, relevance
from perdure.domain.memory import Memory
from perdure.domain.ranking import blend
from perdure.domain.retrieval import Answer, Filter, Hit, Query, Standing
from perdure.domain.scopes import Project
from perdure.domain.text import Stem, query_terms
from perdure.ports.store import Session, Store
from perdure.services.retrieval.embedding import EmbeddingService, QueryVector

CANDIDATES = 100
"""How deep each leg looks."""
MIN_COSINE = 0.62
"""What no word and no neighbour of the question speaks for answers only from here on."""
EMBEDDING_UNAVAILABLE = "embedding_unavailable"
NOTABLE_RECENCY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A query made ready: its terms, and its vector where there is one."""

    query: Query
    terms: tuple[str, ...]
    vector: QueryVector | None

    @property
    def signals(self) -> tuple[str, ...]:
        return () if self.vector else (EMBEDDING_UNAVAILABLE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    standing: Standing
    parts: dict[str, float]
    relevance: Relevance | None = None


class RetrievalService:
    def __init__(self, store: Store, stem: Stem, clock: Callable[[], datetime], *, embedding: EmbeddingService) -> None:
        self._store = store
        self._stem = stem
        self._clock = clock
        self._embedding = embedding

    async def search(self, query: Query) -> Answer:
        """The best memories for the query, best first; an empty query or no match gives no hits, never an error."""
        question = await self._question(query)
        if not question.terms and question.vector is None:
            return Answer(hits=(), found=0, signals=question.signals)
        return await self._store.read(lambda session: self._answer(session, question))

    async def _question(self, query: Query) -> _Question:
        terms = query_terms(query.text, self._stem)
        vector = await self._embedding.query_vector(query.text) if query.text.strip() else None
        return _Question(query=query, terms=tuple(terms), vector=vector)

    def _answer(self, session: Session, question: _Question) -> Answer:
        query = question.query
        found, standings = self._relevances(session, question)
        ranked = self._rank(query, {memory_id: one for memory_id, one in found.items() if _holds(one)}, standings=standings)
        hits = self._hits(session, query, ranked[: query.limit])
        return Answer(hits=hits, found=len(ranked), signals=question.signals)

    def _relevances(self, session: Session, question: _Question) -> tuple[dict[str, Relevance], dict[str, Standing]]:
        """Both legs' candidates with what stands beside them in their sessions, and how relevant each is."""
        where, spaces = question.query.filter, question.query.filter.spaces
        depth = max(CANDIDATES, question.query.limit)
        literal = [c.memory_id for c in session.documents.search(question.terms, where, depth)]
        cosines: dict[str, float] = {}
        if question.vector is not None:
            nearest = session.vectors.search(question.vector.vector, question.vector.model, where, depth)
            cosines = {candidate.memory_id: candidate.score for candidate in nearest}
        candidates = list(dict.fromkeys((*literal, *cosines)))
        windows = session.standings.beside(where, candidates, REACH)
        pool = list(dict.fromkeys((*candidates, *(other for window in windows.values() for other in window.values()))))
        standings = session.standings.of(spaces, pool)
        sessions = sorted({s.session_id for s in standings.values() if s.session_id is not None})
        evidence = Evidence(
            question=question.query.text,
            documents=session.documents.size(spaces),
            holdings=session.documents.holdings(question.terms, spaces, pool, sessions),
            cosines=cosines,
            standings=standings,
            windows=windows,
        )
        return relevance(evidence), standings

    def _rank(self, query: Query, found: Mapping[str, Relevance], *, standings: Mapping[str, Standing]) -> list[_Ranked]:
        """Best first. Relevance is divided by the best one, so that the blend's parts compare."""
        best = max((one.score for one in found.values()), default=0.0)
        now = self._clock()
        ranked = []
        for memory_id, one in found.items():
            standing = standings[memory_id]
            share = max(0.0, one.score) / best if best > 0 else 0.0
            parts = blend(standing, share, now=now, project_id=query.boost_project_id, files=query.boost_files)
            ranked.append(_Ranked(standing=standing, parts=parts, relevance=one))
        ranked.sort(key=lambda one: (-one.parts["score"], one.standing.memory_id))
        return ranked

    def _hits(self, session: Session, query: Query, ranked: Sequence[_Ranked]) -> tuple[Hit, ...]:
        memories = session.memories.get_many(query.filter.spaces, [one.standing.memory_id for one in ranked])
        return tuple(
            Hit(memory=memory, score=one.parts["score"], why=_why(one, memory), parts=one.parts)
            for one in ranked
            if (memory := memories.get(one.standing.memory_id)) is not None
        )

    async def brief(
        self, caller: Caller, text: str, *, project: str | None, files: Sequence[str], limit: int, derived: bool = False
    ) -> tuple[Answer, Project | None]:
        """Prior thoughts for the work described (cortexa_context, legacy): the whole vault, project and files lifted.

        Where the words find fewer than `limit`, the project's newest follow, so that a session starts with what was last known
        there. An unknown project lifts nothing; it is no error here (seed 000: a boost, not a scope).
        """
        where = Filter(spaces=caller.spaces, derived=None if derived else False)
        question = await self._question(Query(text=text, filter=where, limit=limit, boost_files=tuple(files)))

        def work(session: Session) -> tuple[Answer, Project | None]:
            found = session.projects.find(caller.spaces, project) if project else None
            query = dataclasses.replace(question.query, boost_project_id=found.id if found else None)
            answer = self._answer(session, dataclasses.replace(question, query=query))
            if found is not None and len(answer.hits) < limit:
                answer = self._filled(session, answer, query=query, project=found)
            return answer, found

        return await self._store.read(work)

    def _filled(self, session: Session, answer: Answer, *, query: Query, project: Project) -> Answer:
        where = dataclasses.replace(query.filter, project_id=project.id)
        known = {hit.memory.id for hit in answer.hits}
        newest = session.memories.list(where, limit=query.limit + len(known))
        more = {memory.id: _NOTHING for memory in newest if memory.id not in known}
        standings = session.standings.of(query.filter.spaces, list(more))
        ranked = self._rank(query, more, standings=standings)[: query.limit - len(known)]
        hits = (*answer.hits, *self._hits(session, query, ranked))
        return dataclasses.replace(answer, hits=hits, found=answer.found + len(ranked))


_NOTHING = Relevance(score=0.0, words=0.0, near=0.0)


def _holds(one: Relevance) -> bool:
    """Whether a candidate is an answer at all: a word of the question in it or around it, or a vector near enough."""
    return one.near > 0 or one.cosine >= MIN_COSINE


def _why(ranked: _Ranked, memory: Memory) -> tuple[str, ...]:
    parts, found = ranked.parts, ranked.relevance or _NOTHING
    reasons = (
        ("keyword", found.words > 0),
        ("semantic", found.cosine >= MIN_COSINE),
        ("session", found.words == 0 and found.near > 0),
        ("project", "project" in parts),
        ("file", "file" in parts),
        ("recency", parts["recency"] >= NOTABLE_RECENCY),
        ("reinforced", memory.reinforcements > 1),
        ("pinned", memory.pinned),
    )
    return tuple(name for name, holds in reasons if holds)
