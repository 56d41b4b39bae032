"""The worker's turns, over a fake App: what is due is done, and nothing that fails stops the rest."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from perdure.app import App
from perdure.domain.vault import VaultState
from perdure.errors import ProviderUnavailable, VaultLocked
from perdure.surfaces.worker.loop import EMBED_PAUSE_S, LOOK_FOR_TEXTS_S, MAX_PAUSE_S, PRUNE_EVERY_S, Worker


class House:
    """Stands for the services that the worker calls, and writes down what was called."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.state = VaultState.OPEN
        self.jobs_left = 0
        self.texts_left = 0
        self.due: datetime | None = None
        self.fails: dict[str, Exception] = {}
        self.now_s = 0.0
        self.worked = asyncio.Event()

    def worker(self) -> Worker:
        services = SimpleNamespace(
            vault=self,
            jobs=SimpleNamespace(resume=self.resume, run_next=self.run_next, next_due=self.next_due),
            audit=SimpleNamespace(prune=self.prune),
            settings=SimpleNamespace(get=self.setting),
            embedding=SimpleNamespace(run_batch=self.embed),
        )
        return Worker(cast(App, services), monotonic=lambda: self.now_s)

    async def _note(self, name: str) -> None:
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]

    async def resume(self) -> int:
        await self._note("resume")
        return 0

    async def run_next(self) -> bool:
        await self._note("run_next")
        self.worked.set()
        self.jobs_left -= 1
        return self.jobs_left >= 0

    async def embed(self) -> int:
        if "embed" in self.fails:
            raise self.fails["embed"]
        self.texts_left -= 1
        return 16 if self.texts_left >= 0 else 0

    async def next_due(self) -> datetime | None:
        await self._note("next_due")
        return self.due

    async def prune(self, days: int) -> int:
        await self._note(f"prune {days}")
        return 1

    async def setting(self, name: str) -> Any:
        assert name == "audit_days"
        return 90

    async def lock_if_idle(self) -> bool:
        await self._note("lock_if_idle")
        return False


def test_a_turn_runs_what_is_due_and_says_when_to_look_again() -> None:
    house = House()
    house.jobs_left = 2
    assert asyncio.run(house.worker().turn()) == LOOK_FOR_TEXTS_S
    assert house.calls == ["resume", "run_next", "run_next", "run_next", "prune 90", "lock_if_idle", "next_due"]


def test_it_looks_again_when_the_next_job_is_due_but_not_too_late() -> None:
    house = House()
    worker = house.worker()
    house.due = datetime.now(UTC) + timedelta(seconds=5)
    assert 0 < asyncio.run(worker.turn()) <= 5
    house.due = datetime.now(UTC) + timedelta(days=5)
    assert asyncio.run(worker.turn()) == LOOK_FOR_TEXTS_S


def test_texts_are_embedded_batch_after_batch_until_none_is_left() -> None:
    house = House()
    house.texts_left = 2
    worker = house.worker()
    assert [asyncio.run(worker.turn()) for _ in range(3)] == [EMBED_PAUSE_S, EMBED_PAUSE_S, LOOK_FOR_TEXTS_S]


@pytest.mark.parametrize("failure", [ProviderUnavailable(), RuntimeError("inner text"), VaultLocked()])
def test_a_model_that_does_not_answer_is_not_asked_again_at_once(failure: Exception) -> None:
    house = House()
    house.fails["embed"] = failure
    assert asyncio.run(house.worker().turn()) == MAX_PAUSE_S
    assert "next_due" in house.calls


def test_old_audit_rows_are_removed_once_a_day() -> None:
    house = House()
    worker = house.worker()
    for _ in range(3):
        asyncio.run(worker.turn())
    assert house.calls.count("prune 90") == 1
    house.now_s += PRUNE_EVERY_S
    asyncio.run(worker.turn())
    assert house.calls.count("prune 90") == 2


def test_a_locked_vault_is_left_alone_and_its_jobs_are_resumed_once_it_is_open() -> None:
    house = House()
    worker = house.worker()
    house.state = VaultState.LOCKED
    assert asyncio.run(worker.turn()) == MAX_PAUSE_S
    assert house.calls == []
    house.state = VaultState.OPEN
    asyncio.run(worker.turn())
    asyncio.run(worker.turn())
    assert house.calls.count("resume") == 1


def test_a_vault_that_is_locked_in_between_ends_the_turn() -> None:
    house = House()
    house.fails["run_next"] = VaultLocked()
    assert asyncio.run(house.worker().turn()) == MAX_PAUSE_S
    assert house.calls == ["resume", "run_next"]


@pytest.mark.parametrize("failing", ["resume", "run_next", "prune 90", "lock_if_idle", "next_due"])
def test_one_failure_stops_nothing_else(failing: str, caplog: pytest.LogCaptureFixture) -> None:
    house = House()
    house.fails[failing] = RuntimeError("inner text")
    with caplog.at_level(logging.ERROR):
        assert asyncio.run(house.worker().turn()) == LOOK_FOR_TEXTS_S
    assert house.calls[-1] == "next_due"
    assert [record.getMessage() for record in caplog.records] == ["housekeeping failed: RuntimeError"]


def test_a_wake_ends_the_pause() -> None:
    async def scene() -> None:
        house = House()
        worker = house.worker()
        running = asyncio.create_task(worker.run())
        for _ in range(3):
            async with asyncio.timeout(10):
                await house.worked.wait()
            house.worked.clear()
            worker.wake()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(scene())
