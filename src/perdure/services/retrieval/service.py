"""Finding memories: candidates, relevance, the blend, why each hit came (SEMANTICS 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from datetime import datetime

from perdure.domain.access import Caller
from perdure.domain.memory import Memory
from perdure.domain.ranking import blend
from perdure.domain.retrieval import Answer, Candidate, Filter, Hit, Query
from perdure.domain.scopes import Project
from perdure.domain.text import Stem, query_terms
from perdure.ports.store import Session, Store

CANDIDATES = 100
"""How deep each leg looks."""
EMBEDDING_UNAVAILABLE = "embedding_unavailable"
NOTABLE_RECENCY = 0.5


class RetrievalService:
    def __init__(self, store: Store, stem: Stem, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._stem = stem
        self._clock = clock

    async def search(self, query: Query) -> Answer:
        """The best memories for the query's words, best first; an empty query or no match gives no hits, never an error."""
        terms = query_terms(query.text, self._stem)

        def work(session: Session) -> tuple[list[Candidate], dict[str, Memory]]:
            found = session.documents.search(terms, query.filter, max(CANDIDATES, query.limit))
            return found, session.memories.get_many(query.filter.spaces, [c.memory_id for c in found])

        candidates, memories = await self._store.read(work) if terms else ([], {})
        now = self._clock()
        hits = [
            _hit(memories[c.memory_id], relevance, query, now)
            for c, relevance in zip(candidates, _relevance(candidates), strict=True)
            if c.memory_id in memories
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.memory.id))
        return Answer(hits=tuple(hits[: query.limit]), found=len(hits), signals=(EMBEDDING_UNAVAILABLE,))

    async def brief(
        self, caller: Caller, text: str, *, project: str | None, files: Sequence[str], limit: int, derived: bool = False
    ) -> tuple[Answer, Project | None]:
        """Prior thoughts for the work described (cortexa_context, legacy): the whole vault, project and files lifted.

        An unknown project lifts nothing; it is no error here (seed 000: a boost, not a scope).
        """
        found = await self._store.read(lambda session: session.projects.find(caller.spaces, project)) if project else None
        where = Filter(spaces=caller.spaces, derived=None if derived else False)
        query = Query(
            text=text,
            filter=where,
            limit=limit,
            boost_project_id=found.id if found else None,
            boost_files=tuple(files),
        )
        answer = await self.search(query)
        if found is None or len(answer.hits) >= limit:
            return answer, found
        return await self._fill(answer, query, found), found

    async def _fill(self, answer: Answer, query: Query, project: Project) -> Answer:
        """The project's newest memories behind the hits, so that a session starts with what was last known there."""
        where = dataclasses.replace(query.filter, project_id=project.id)
        newest = await self._store.read(lambda session: session.memories.list(where, limit=query.limit))
        known = {hit.memory.id for hit in answer.hits}
        now = self._clock()
        more = [_hit(memory, 0.0, query, now) for memory in newest if memory.id not in known]
        more.sort(key=lambda hit: (-hit.score, hit.memory.id))
        hits = (*answer.hits, *more)[: query.limit]
        return dataclasses.replace(answer, hits=hits, found=answer.found + len(more))


def _relevance(candidates: list[Candidate]) -> list[float]:
    """Scores divided by the best one, so that the blend's parts compare; in 0..1."""
    best = max((c.score for c in candidates), default=0.0)
    return [c.score / best if best > 0 else 0.0 for c in candidates]


def _hit(memory: Memory, relevance: float, query: Query, now: datetime) -> Hit:
    parts = blend(memory, relevance, now, project_id=query.boost_project_id, files=query.boost_files)
    why = [
        name
        for name, holds in (
            ("keyword", relevance > 0),
            ("project", "project" in parts),
            ("file", "file" in parts),
            ("recency", parts["recency"] >= NOTABLE_RECENCY),
            ("reinforced", memory.reinforcements > 1),
            ("pinned", memory.pinned),
        )
        if holds
    ]
    return Hit(memory=memory, score=parts["score"], why=tuple(why), parts=parts)
