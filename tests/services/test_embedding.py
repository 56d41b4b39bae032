from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Changes, Draft
from perdure.domain.retrieval import Answer, Filter, Query
from perdure.errors import InvalidInput, ProviderUnavailable
from perdure.ports.models import Embedder
from tests.models import HashEmbedder


class Shelf:
    """Embedders by the setting's words; `down` makes them fail as one that cannot be reached does; `seen` is what they read."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.seen: list[str] = []

    def __call__(self, choice: str) -> Embedder | None:
        if choice == "off":
            return None
        if not choice.startswith(("bundled", "test")):
            raise InvalidInput("embedder: there are bundled, test and off", argument="embedder")
        return Flaky(self, choice)


class Flaky(HashEmbedder):
    def __init__(self, shelf: Shelf, choice: str) -> None:
        super().__init__(128 if choice == "bundled" else 64, name=choice)
        self._shelf, self._choice = shelf, choice

    def embed_documents(self, texts: Any) -> list[bytes]:
        self._answer()
        self._shelf.seen += texts
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> bytes:
        self._answer()
        self._shelf.seen.append(text)
        return super().embed_query(text)

    def _answer(self) -> None:
        if self._choice in self._shelf.down:
            raise ProviderUnavailable


def play(home: Path, shelf: Shelf, scenario: Any) -> None:
    async def body() -> None:
        app = build_app(read_launch(home=home, environ={}), make_embedder=shelf)
        await app.vault.start()
        try:
            coroutine: Coroutine[Any, Any, None] = scenario(app, app.access.local_owner())
            await coroutine
        finally:
            await app.vault.close()

    asyncio.run(body())


async def tell(app: App, me: Caller, content: str) -> str:
    return (await app.memories.capture(me, Draft(content=content, kind=Kind.NOTE))).id


async def ask(app: App, me: Caller, text: str) -> Answer:
    return await app.retrieval.search(Query(text=text, filter=Filter(spaces=me.spaces)))


async def catch_up(app: App) -> int:
    done = 0
    while batch := await app.embedding.run_batch():
        done += batch
    return done


def test_words_find_at_once_and_vectors_follow(tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await tell(app, me, "the harbour cluster hosts our deployments")
        before = await ask(app, me, "harbour")
        assert ([h.memory.id for h in before.hits], before.signals) == ([item], ("embedding_unavailable",))
        assert await catch_up(app) == 1
        after = await ask(app, me, "harbour cluster hosts deployments")
        assert after.signals == ()
        assert {"keyword", "semantic"} <= set(after.hits[0].why)
        assert (await app.health.health()).jobs == {}

    play(tmp_home, Shelf(), scenario)


def test_em6_what_was_stored_while_the_embedder_was_down_is_embedded_afterwards(tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        shelf.down.add("bundled")
        item = await tell(app, me, "stored while it was down")
        with pytest.raises(ProviderUnavailable):
            await app.embedding.run_batch()
        answer = await ask(app, me, "stored down")
        assert ([h.memory.id for h in answer.hits], answer.signals) == ([item], ("embedding_unavailable",))
        assert "unavailable" in (await app.health.health()).embedding
        shelf.down.clear()
        assert await catch_up(app) == 1
        assert (await app.health.health()).embedding == "ready"

    shelf = Shelf()
    play(tmp_home, shelf, scenario)


def test_em1_em3_em5_another_model_never_meets_the_old_vectors_and_all_is_embedded_anew(tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for number in range(20):
            await tell(app, me, f"memory number {number} about pelicans")
        assert await catch_up(app) == 20
        await app.settings.put("embedder", "test")
        assert (await ask(app, me, "pelicans")).signals == ("embedding_unavailable",)
        assert await app.memories.count(Filter(spaces=me.spaces)) == 20
        assert await catch_up(app) == 20
        assert (await ask(app, me, "pelicans")).signals == ()

    play(tmp_home, Shelf(), scenario)


def test_sr6_a_revised_memory_is_embedded_anew_and_its_old_vector_is_gone(tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await tell(app, me, "prefers python for scripts")
        await catch_up(app)
        await app.memories.update(me, item, changes=Changes(content="likes gardening on sundays"))
        coverage = await app.embedding.coverage()
        assert coverage is not None
        assert (coverage.documents, coverage.embedded) == (1, 0)
        assert await catch_up(app) == 1
        assert (await ask(app, me, "python scripts")).hits == ()

    play(tmp_home, Shelf(), scenario)


def test_an_embedder_that_is_none_is_refused_and_off_leaves_words(tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        with pytest.raises(InvalidInput, match="embedder"):
            await app.settings.put("embedder", "nonsense")
        await app.settings.put("embedder", "off")
        await tell(app, me, "plain words")
        assert await catch_up(app) == 0
        assert (await ask(app, me, "words")).signals == ("embedding_unavailable",)
        assert (await app.health.health()).embedding == "off"

    play(tmp_home, Shelf(), scenario)


def test_se3_no_model_reads_a_secret_that_was_imported_or_asked_for(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf()

    async def scenario(app: App, me: Caller) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("perdure.services.memories.checking.redact", lambda text: (text, ()))
            await tell(app, me, "deploy, password = hunter2zebra9")
        await catch_up(app)
        await ask(app, me, "deploy, password = hunter2zebra9")

    play(tmp_home, shelf, scenario)
    assert set(shelf.seen) == {"deploy, password = [redacted:password]"}


def test_hc5_a_very_long_text_is_embedded_in_windows_and_found_by_its_end(tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await tell(app, me, "filler words " * 2000 + "the okapi sleeps at noon")
        assert await catch_up(app) == 1
        answer = await ask(app, me, "okapi sleeps noon")
        assert answer.hits[0].memory.id == item

    play(tmp_home, Shelf(), scenario)
