"""The daemon's housekeeping: due jobs, the idle lock, old audit rows. One thing that fails stops none of the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from perdure.app import App
from perdure.domain.vault import VaultState
from perdure.errors import ProviderUnavailable, VaultLocked

MAX_PAUSE_S = 15.0
"""How late at most an idle lock, an unlock or a job that someone else queued is noticed."""
EMBED_PAUSE_S = 0.01
"""Between batches: whoever waits for the processor comes first."""
LOOK_FOR_TEXTS_S = 1.0
"""How late at most a new memory's vector is begun."""
PRUNE_EVERY_S = 86_400.0
logger = logging.getLogger(__name__)


class Worker:
    """`monotonic` answers seconds that never go back."""

    def __init__(self, app: App, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._monotonic = monotonic
        self._wake = asyncio.Event()
        self._resumed = False
        self._prune_at = monotonic()

    def wake(self) -> None:
        """Look again at once."""
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            pause_s = await self.turn()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()
            self._wake.clear()

    async def turn(self) -> float:
        """Everything that is due now; answers after how many seconds to look again."""
        if self._app.vault.state is not VaultState.OPEN:
            self._resumed = False
            return MAX_PAUSE_S
        for work in (self._run_jobs, self._prune, self._app.vault.lock_if_idle):
            if not await self._survive(work):
                return MAX_PAUSE_S
        embedded = await self._embed()
        pause_s = self._pause_s(await self._next_due())
        return EMBED_PAUSE_S if embedded else pause_s if embedded is None else min(pause_s, LOOK_FOR_TEXTS_S)

    async def _embed(self) -> int | None:
        """How many memories got their vectors; None when the model does not answer, which is no reason to ask at once again."""
        try:
            return await self._app.embedding.run_batch()
        except ProviderUnavailable as error:
            logger.warning("no vectors for now: %s", error.message)
            return None
        except VaultLocked:
            return None
        except Exception as error:  # the rest of the work must go on
            logger.error("embedding failed: %s", getattr(error, "code", type(error).__name__), exc_info=error)
            return None

    async def _survive(self, work: Callable[[], Awaitable[object]]) -> bool:
        """Whether the vault is still open for more."""
        try:
            await work()
        except VaultLocked:
            return False
        except Exception as error:  # the rest of the work must go on
            logger.error("housekeeping failed: %s", getattr(error, "code", type(error).__name__), exc_info=error)
        return True

    async def _run_jobs(self) -> None:
        if not self._resumed:
            await self._app.jobs.resume()
            self._resumed = True
        while await self._app.jobs.run_next():
            pass

    async def _prune(self) -> None:
        if self._monotonic() < self._prune_at:
            return
        self._prune_at = self._monotonic() + PRUNE_EVERY_S
        removed = await self._app.audit.prune(await self._app.settings.get("audit_days"))
        if removed:
            logger.info("removed %d old audit rows", removed)

    async def _next_due(self) -> datetime | None:
        due: list[datetime | None] = [None]

        async def ask() -> None:
            due[0] = await self._app.jobs.next_due()

        await self._survive(ask)
        return due[0]

    def _pause_s(self, due: datetime | None) -> float:
        if due is None:
            return MAX_PAUSE_S
        return min(MAX_PAUSE_S, max(0.05, (due - datetime.now(due.tzinfo)).total_seconds()))
