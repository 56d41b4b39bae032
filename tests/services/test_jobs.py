from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import pytest

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.records import Job, JobState
from perdure.errors import ProviderUnavailable, VaultLocked
from perdure.ports.store import Session, Store
from perdure.services.jobs import MAX_ATTEMPTS, JobService
from tests.services.conftest import Play


def store_of(app: App) -> Store:
    return app.jobs._store


async def queue(store: Store, owner: str, kind: str, delay: timedelta = timedelta()) -> None:
    def work(session: Session) -> None:
        now = session.instant()
        session.jobs.add(
            Job(
                id=session.new_id(),
                space_id=owner,
                kind=kind,
                entity_id="e",
                state=JobState.QUEUED,
                due_at=now + delay,
                created_at=now,
            )
        )

    await store.write(work)


async def make_due(store: Store, kind: str) -> None:
    """Bring a job that waits for its next attempt forward."""

    def work(session: Session) -> None:
        now = session.instant()
        job = session.jobs.claim([kind], now + timedelta(days=1))
        assert job is not None
        session.jobs.finish(dataclasses.replace(job, state=JobState.QUEUED, due_at=now), now)

    await store.write(work)


def test_a_due_job_is_run_once_and_one_that_is_not_due_is_left(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        ran: list[str] = []

        async def handle(job: Job) -> None:
            ran.append(job.kind)

        jobs = JobService(store_of(app), {"now": handle, "later": handle})
        await queue(store_of(app), me.space_id, "now")
        await queue(store_of(app), me.space_id, "later", delay=timedelta(hours=1))
        assert await jobs.run_next()
        assert not await jobs.run_next()
        assert ran == ["now"]
        assert await jobs.next_due() is not None

    play(scenario)


def test_a_job_that_fails_waits_and_is_given_up_after_five_attempts(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        ran: list[int] = []

        async def fail(job: Job) -> None:
            ran.append(job.attempts)
            raise ProviderUnavailable

        jobs = JobService(store_of(app), {"hard": fail})
        await queue(store_of(app), me.space_id, "hard")
        for attempt in range(MAX_ATTEMPTS):
            assert await jobs.run_next(), attempt
            assert not await jobs.run_next(), "it waits before it is tried again"
            if attempt < MAX_ATTEMPTS - 1:
                await make_due(store_of(app), "hard")
        assert ran == list(range(MAX_ATTEMPTS))
        assert (await jobs.counts())["hard", "failed"] == 1

    play(scenario)


def test_each_failure_waits_four_times_as_long_counted_from_now_even_for_a_job_long_overdue(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        async def fail(job: Job) -> None:
            raise ProviderUnavailable

        async def instant() -> datetime:
            return await store_of(app).write(lambda session: session.instant())

        jobs = JobService(store_of(app), {"hard": fail})
        await queue(store_of(app), me.space_id, "hard", delay=timedelta(days=-9))
        for seconds in (2, 8, 32, 128):
            before = await instant()
            assert await jobs.run_next()
            due = await jobs.next_due()
            assert due is not None
            assert before < due - timedelta(seconds=seconds) < await instant()
            await make_due(store_of(app), "hard")

    play(scenario)


def test_a_job_that_succeeds_at_last_is_done_without_an_error(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        async def fail_once(job: Job) -> None:
            if job.attempts == 0:
                raise ProviderUnavailable
            assert job.error == "provider_unavailable"

        jobs = JobService(store_of(app), {"flaky": fail_once})
        await queue(store_of(app), me.space_id, "flaky")
        assert await jobs.run_next()
        await make_due(store_of(app), "flaky")
        assert await jobs.run_next()
        assert (await jobs.counts())["flaky", "done"] == 1

    play(scenario)


def test_a_vault_that_is_locked_under_a_job_costs_it_no_attempt(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        attempts: list[int] = []

        async def locked_at_first(job: Job) -> None:
            attempts.append(job.attempts)
            if len(attempts) == 1:
                raise VaultLocked

        jobs = JobService(store_of(app), {"cut": locked_at_first})
        await queue(store_of(app), me.space_id, "cut")
        with pytest.raises(VaultLocked):
            await jobs.run_next()
        assert await jobs.resume() == 1
        assert await jobs.run_next()
        assert attempts == [0, 0]

    play(scenario)


def test_the_job_due_longest_is_run_first_and_one_of_an_unknown_kind_never(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        ran: list[str] = []

        async def handle(job: Job) -> None:
            ran.append(job.kind)

        jobs = JobService(store_of(app), {"young": handle, "old": handle})
        for kind, delay in (("young", -1), ("old", -2), ("foreign", -3)):
            await queue(store_of(app), me.space_id, kind, delay=timedelta(hours=delay))
        while await jobs.run_next():
            pass
        assert ran == ["old", "young"]
        assert (await jobs.counts())["foreign", "queued"] == 1

    play(scenario)


def test_what_was_running_when_the_process_died_is_run_again(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        async def die(job: Job) -> None:
            raise KeyboardInterrupt

        jobs = JobService(store_of(app), {"cut": die})
        await queue(store_of(app), me.space_id, "cut")
        with pytest.raises(KeyboardInterrupt):
            await jobs.run_next()
        assert (await jobs.counts())["cut", "running"] == 1
        assert await jobs.resume() == 1
        assert (await jobs.counts())["cut", "queued"] == 1

    play(scenario)


def test_a_memory_whose_last_day_has_passed_is_archived_by_its_job(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, Draft(content="soon gone", kind=Kind.NOTE, expires="1h"))).id

        def hurry(session: Session) -> None:
            memory = session.memories.get(me.spaces, item)
            assert memory is not None
            session.memories.save(dataclasses.replace(memory, expires_at=session.instant()))

        await store_of(app).write(hurry)
        await make_due(store_of(app), "expire")
        assert await app.jobs.run_next()
        memory = await app.memories.get(me, item)
        assert memory.archive_reason == "expired"

    play(scenario)
