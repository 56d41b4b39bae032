"""Vectors follow the memories: made in the background, caught up after any outage, never of two models at once (SEMANTICS 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from perdure.domain.memory import Memory
from perdure.domain.secrets import redact
from perdure.domain.text import is_mostly_latin
from perdure.domain.vectors import Coverage, EmbeddingModel, windows
from perdure.errors import PerdureError, ProviderUnavailable
from perdure.ports.models import Embedder
from perdure.ports.store import Session, Store
from perdure.services.memories.writing import EMBED_JOB
from perdure.services.settings import SettingsService

BATCH = 16
"""Memories embedded at a time: small, so that a question never waits long for the processor."""

MakeEmbedder = Callable[[str], Embedder | None]
"""The embedder that the setting's words name; None for `off`. Raises InvalidInput for words that name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVector:
    """A question's vector, and the model it is comparable with."""

    vector: bytes
    model: EmbeddingModel


class EmbeddingService:
    def __init__(self, store: Store, settings: SettingsService, make: MakeEmbedder) -> None:
        self._store = store
        self._settings = settings
        self._make = make
        self._made: tuple[str, Embedder | None] | None = None
        self._trouble: str | None = None
        self._known: set[str] = set()

    @property
    def trouble(self) -> str | None:
        """Why the last embedding failed, in words; None when it did not."""
        return self._trouble

    async def embedder(self) -> Embedder | None:
        """The one that the setting `embedder` names; None when it is off. Nothing is loaded before it is used."""
        choice = await self._settings.get("embedder")
        if self._made is None or self._made[0] != choice:
            self._made = (choice, self._make(choice))
        return self._made[1]

    async def query_vector(self, text: str) -> QueryVector | None:
        """The question's vector; None where there is no embedder, it fails, or it does not read the question's script."""
        embedder = await self.embedder()
        if embedder is None:
            return None
        try:
            model = await asyncio.to_thread(lambda: embedder.model)
            if not model.any_script and not is_mostly_latin(text):
                return None
            if not await self._knows(model):
                return None  # nothing to compare with yet: the model need not even be loaded
            vector = await asyncio.to_thread(lambda: embedder.embed_query(redact(text)[0]))
        except ProviderUnavailable as error:
            self._trouble = error.message
            return None
        self._trouble = None
        return QueryVector(vector=vector, model=model)

    async def _knows(self, model: EmbeddingModel) -> bool:
        if model.key not in self._known and await self._store.read(lambda session: session.vectors.knows(model)):
            self._known.add(model.key)
        return model.key in self._known

    async def run_batch(self) -> int:
        """Embed the newest memories that lack vectors of the present model; answers how many. Raises ProviderUnavailable."""
        embedder = await self.embedder()
        if embedder is None:
            return 0
        model = await asyncio.to_thread(lambda: embedder.model)
        memories = await self._store.read(lambda session: _without_vectors(session, model))
        if not memories:
            return 0
        texts = await asyncio.to_thread(lambda: {memory.id: windows(embedded_text(memory)) for memory in memories})
        try:
            flat = await asyncio.to_thread(embedder.embed_documents, [text for each in texts.values() for text in each])
        except PerdureError as error:
            self._trouble = error.message
            raise
        self._trouble = None
        vectors = iter(flat)
        ready = {memory_id: [next(vectors) for _ in each] for memory_id, each in texts.items()}

        def work(session: Session) -> None:
            for memory in memories:
                present = session.memories.get((memory.space_id,), memory.id)
                if present is not None and present.revision == memory.revision:
                    session.vectors.put(memory.space_id, memory.id, model, ready[memory.id])
                session.jobs.discard(memory.space_id, EMBED_JOB, [memory.id])

        await self._store.write(work)
        return len(memories)

    async def coverage(self) -> Coverage | None:
        """How far the vectors follow the memories; None without an embedder."""
        embedder = await self.embedder()
        if embedder is None:
            return None
        try:
            model = await asyncio.to_thread(lambda: embedder.model)
        except ProviderUnavailable as error:
            self._trouble = error.message
            return None
        return await self._store.read(lambda session: session.vectors.coverage(model))


def embedded_text(memory: Memory) -> str:
    """What of a memory is embedded: title, content and the handoff's texts; as it is searched by words, but without
    secrets: an import keeps them, and the model may be another machine's."""
    handoff = "\n".join(memory.handoff.texts()) if memory.handoff else ""
    return redact("\n".join(part for part in (memory.title, memory.content, handoff) if part))[0]


def _without_vectors(session: Session, model: EmbeddingModel) -> list[Memory]:
    missing = session.vectors.missing(model, BATCH)
    spaces = tuple({space_id for space_id, _ in missing})
    found = session.memories.get_many(spaces, [memory_id for _, memory_id in missing])
    return [found[memory_id] for _, memory_id in missing if memory_id in found]
