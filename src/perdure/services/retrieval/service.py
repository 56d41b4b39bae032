"""Finding memories: candidates, relevance, the blend, why each hit came (SEMANTICS 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from perdure.domain.access import Caller
from perdure.domain.memory import Memory
from perdure.domain.ranking import NEIGHBOUR_WEIGHTS, blend, with_neighbours
from perdure.domain.retrieval import Answer, Filter, Hit, Query, Standing
from perdure.domain.scopes import Project
from perdure.domain.text import Stem, query_terms
from perdure.ports.store import Session, Store

CANDIDATES = 100
"""How deep each leg looks."""
EMBEDDING_UNAVAILABLE = "embedding_unavailable"
NOTABLE_RECENCY = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ranked:
    standing: Standing
    parts: dict[str, float]
    is_literal: bool


class RetrievalService:
    def __init__(self, store: Store, stem: Stem, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._stem = stem
        self._clock = clock

    async def search(self, query: Query) -> Answer:
        """The best memories for the query's words, best first; an empty query or no match gives no hits, never an error."""
        terms = query_terms(query.text, self._stem)
        if not terms:
            return Answer(hits=(), found=0, signals=(EMBEDDING_UNAVAILABLE,))
        return await self._store.read(lambda session: self._answer(session, terms, query))

    def _answer(self, session: Session, terms: Sequence[str], query: Query) -> Answer:
        candidates = session.documents.search(terms, query.filter, max(CANDIDATES, query.limit))
        scores = {candidate.memory_id: candidate.score for candidate in candidates}
        beside = session.standings.beside(query.filter, list(scores), len(NEIGHBOUR_WEIGHTS))
        lifted = with_neighbours(scores, beside)
        ranked = self._rank(session, query, lifted, literal=scores)
        return Answer(hits=self._hits(session, query, ranked[: query.limit]), found=len(ranked), signals=(EMBEDDING_UNAVAILABLE,))

    def _rank(
        self, session: Session, query: Query, scores: Mapping[str, float], *, literal: Mapping[str, float]
    ) -> list[_Ranked]:
        """Best first. Scores are divided by the best one, so that the blend's parts compare."""
        best = max(scores.values(), default=0.0) or 1.0
        now = self._clock()
        ranked = [
            _Ranked(
                standing=standing,
                parts=blend(
                    standing,
                    scores[standing.memory_id] / best,
                    now=now,
                    project_id=query.boost_project_id,
                    files=query.boost_files,
                ),
                is_literal=standing.memory_id in literal,
            )
            for standing in session.standings.of(query.filter.spaces, list(scores)).values()
        ]
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
        terms = query_terms(text, self._stem)
        where = Filter(spaces=caller.spaces, derived=None if derived else False)
        query = Query(text=text, filter=where, limit=limit, boost_files=tuple(files))

        def work(session: Session) -> tuple[Answer, Project | None]:
            found = session.projects.find(caller.spaces, project) if project else None
            boosted = dataclasses.replace(query, boost_project_id=found.id if found else None)
            answer = self._answer(session, terms, boosted)
            if found is not None and len(answer.hits) < limit:
                answer = self._filled(session, answer, boosted, project=found)
            return answer, found

        return await self._store.read(work)

    def _filled(self, session: Session, answer: Answer, query: Query, *, project: Project) -> Answer:
        where = dataclasses.replace(query.filter, project_id=project.id)
        known = {hit.memory.id for hit in answer.hits}
        newest = session.memories.list(where, limit=query.limit + len(known))
        more = {memory.id: 0.0 for memory in newest if memory.id not in known}
        ranked = self._rank(session, query, more, literal={})[: query.limit - len(known)]
        hits = (*answer.hits, *self._hits(session, query, ranked))
        return dataclasses.replace(answer, hits=hits, found=answer.found + len(ranked))


def _why(ranked: _Ranked, memory: Memory) -> tuple[str, ...]:
    parts = ranked.parts
    reasons = (
        ("keyword", ranked.is_literal),
        ("session", not ranked.is_literal and parts["relevance"] > 0),
        ("project", "project" in parts),
        ("file", "file" in parts),
        ("recency", parts["recency"] >= NOTABLE_RECENCY),
        ("reinforced", memory.reinforcements > 1),
        ("pinned", memory.pinned),
    )
    return tuple(name for name, holds in reasons if holds)
