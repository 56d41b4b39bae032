from __future__ import annotations

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.vault import VaultState
from perdure.domain.version import VERSION
from tests.services.conftest import Play


def test_health_counts_what_the_vault_holds(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for project in ("p", "q"):
            await app.memories.capture(me, Draft(content=f"of {project}", kind=Kind.NOTE, project=project))
        health = await app.health.health()
        assert (health.version, health.memories, health.projects) == (VERSION, 2, 2)
        assert health.vault.state is VaultState.OPEN
        assert health.uptime_s >= 0

    play(scenario)


def test_health_answers_without_counts_while_the_vault_is_locked(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        health = await app.health.health()
        assert (health.memories, health.projects, health.jobs) == (None, None, None)
        assert health.vault.state is VaultState.LOCKED

    play(scenario)
