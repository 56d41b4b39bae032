from __future__ import annotations

import asyncio
from pathlib import Path

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.vault import VaultState
from perdure.domain.version import VERSION
from perdure.services.health import HealthService
from tests.services.conftest import Play


def test_health_counts_what_the_vault_holds(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for project in ("p", "q"):
            await app.memories.capture(me, Draft(content=f"of {project}", kind=Kind.NOTE, project=project, expires="1y"))
        gone = await app.memories.capture(me, Draft(content="archived", kind=Kind.NOTE))
        await app.memories.archive(me, gone.id)
        health = await app.health.health()
        assert (health.version, health.memories, health.projects) == (VERSION, 2, 2)
        assert health.vault.state is VaultState.OPEN
        assert health.jobs is not None
        assert health.jobs["expire.queued"] == 2

    play(scenario)


def test_health_answers_without_counts_while_the_vault_is_locked(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        health = await app.health.health()
        assert (health.memories, health.projects, health.jobs) == (None, None, None)
        assert health.vault.state is VaultState.LOCKED

    play(scenario)


def test_health_answers_where_there_is_no_vault(tmp_home: Path) -> None:
    app = build_app(read_launch(home=tmp_home / "new", environ={}))
    health = asyncio.run(app.health.health())
    assert (health.vault.state, health.vault.size_bytes, health.memories) == (VaultState.MISSING, 0, None)


def test_the_uptime_is_counted_from_the_making_of_the_service(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        readings = iter((100.0, 142.5))
        health = HealthService(app.jobs._store, app.vault, embedding=app.embedding, version="9", monotonic=lambda: next(readings))
        told = await health.health()
        assert (told.uptime_s, told.version) == (42.5, "9")

    play(scenario)
