"""Slow work as rows: whoever runs the worker hands in what each kind of job does."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta

from perdure.domain.records import Job, JobState
from perdure.errors import PerdureError, VaultLocked
from perdure.ports.store import Session, Store

Handler = Callable[[Job], Awaitable[None]]
MAX_ATTEMPTS = 5
FIRST_DELAY_S = 2.0


class JobService:
    def __init__(self, store: Store, handlers: Mapping[str, Handler]) -> None:
        self._store = store
        self._handlers = dict(handlers)
        self._kinds = tuple(self._handlers)

    async def resume(self) -> int:
        """Queue again what was running when the process died; answers how many."""
        return await self._store.write(lambda session: session.jobs.requeue_running())

    async def run_next(self) -> bool:
        """Run the oldest due job; False when none is due. A failure is tried again with back-off, five times in all."""

        def claim(session: Session) -> Job | None:
            return session.jobs.claim(self._kinds, session.instant())

        if not self._kinds or not await self._is_due():
            return False
        job = await self._store.write(claim)
        if job is None:
            return False
        failure: PerdureError | None = None
        try:
            await self._handlers[job.kind](job)
        except VaultLocked:
            raise
        except PerdureError as error:
            failure = error

        def finish(session: Session) -> None:
            now = session.instant()
            session.jobs.finish(_finished(job, failure, now=now), now)

        await self._store.write(finish)
        return True

    async def _is_due(self) -> bool:
        due = await self.next_due()
        return due is not None and due <= datetime.now(due.tzinfo)

    async def next_due(self) -> datetime | None:
        """When the next job of a kind that is handled here may start."""
        return await self._store.read(lambda session: session.jobs.next_due(self._kinds))

    async def counts(self) -> dict[tuple[str, str], int]:
        return await self._store.read(lambda session: session.jobs.counts())


def _finished(job: Job, failure: PerdureError | None, *, now: datetime) -> Job:
    """The job after one more attempt; a failed one waits from now on, for it may have been due long ago."""
    attempts = job.attempts + 1
    if failure is None:
        return dataclasses.replace(job, state=JobState.DONE, attempts=attempts, error=None)
    if attempts >= MAX_ATTEMPTS:
        return dataclasses.replace(job, state=JobState.FAILED, attempts=attempts, error=failure.code)
    due_at = now + timedelta(seconds=FIRST_DELAY_S * 4**job.attempts)
    return dataclasses.replace(job, state=JobState.QUEUED, attempts=attempts, error=failure.code, due_at=due_at)
