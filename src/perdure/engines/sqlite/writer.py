"""The one thread that writes: callers that come together share a commit, and each stands or falls alone.

A batch is one transaction, each caller's work a savepoint in it. Callers are answered after COMMIT, which with synchronous=FULL
returns when the write-ahead log is on the disk. How callers gather: a batch as large as the last one is expected and waited for
while callers keep coming (at most GAP_S apart, at most GATHER_S in all); a lone caller expects only itself and never waits.
Waiting a fixed time instead was rejected: it slows the lone caller, who is the common one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque

import apsw

from perdure.engines.sql.clock import VaultClock
from perdure.engines.sqlite.connection import SqliteConnection
from perdure.engines.sqlite.failures import failure_of
from perdure.engines.sqlite.requests import Request, answer
from perdure.errors import PerdureError, VaultLocked
from perdure.ports.store import Session

GAP_S = 0.001
GATHER_S = 0.010
DEFER_S = 0.5
MAX_BATCH = 512

_log = logging.getLogger("perdure.engines.sqlite")


class Writer:
    """Owns the write connection from `start` to `stop`; `submit` and `defer` may be called from any thread."""

    def __init__(self, connection: SqliteConnection, session: Session, clock: VaultClock) -> None:
        self._connection = connection
        self._session = session
        self._clock = clock
        self._queue: deque[Request] = deque()
        self._deferred: deque[Request] = deque()
        self._deferred_until = 0.0
        self._wake = threading.Condition()
        self._stopping = False
        self._wanted = 1
        self._expected = 1
        self._thread = threading.Thread(target=self._run, name="perdure-writer", daemon=True)
        self.commits = 0
        self.writes = 0

    def start(self) -> None:
        self._thread.start()

    def submit(self, item: Request) -> None:
        """Raises VaultLocked after `stop`."""
        with self._wake:
            if self._stopping:
                raise VaultLocked()
            self._queue.append(item)
            if len(self._queue) >= self._wanted:
                self._wake.notify()

    def defer(self, item: Request) -> None:
        with self._wake:
            if self._stopping:
                return
            if not self._deferred:
                self._deferred_until = time.monotonic() + DEFER_S
                self._wake.notify()
            self._deferred.append(item)

    def stop(self) -> None:
        """Finish what is queued, deferred work too, then end the thread and close its connection."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while True:
            batch, deferred = self._take()
            if not batch and not deferred:
                return
            answer(self._write(batch, deferred))

    def _take(self) -> tuple[list[Request], list[Request]]:
        """The next batch; nothing at all when the writer is to end."""
        with self._wake:
            self._wanted = 1
            while not self._queue and not self._stopping:
                if not self._deferred:
                    self._wake.wait()
                elif (left := self._deferred_until - time.monotonic()) <= 0 or not self._wake.wait(left):
                    break
            self._gather()
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), MAX_BATCH))]
            if batch:
                self._expected = len(batch)
            deferred = list(self._deferred)
            self._deferred.clear()
        return batch, deferred

    def _gather(self) -> None:
        end = time.monotonic() + GATHER_S
        seen = len(self._queue)
        while seen and seen < self._expected and not self._stopping and time.monotonic() < end:
            self._wanted = self._expected
            self._wake.wait(GAP_S)
            if len(self._queue) == seen:
                break
            seen = len(self._queue)

    def _write(self, batch: list[Request], deferred: list[Request]) -> list[Request]:
        """Run all in as few transactions as possible: one, unless SQLite gives the whole of one up.

        What was deferred came before, so a caller of this batch sees it (the audit of earlier calls).
        """
        pending = deque(item for item in (*deferred, *batch) if not item.is_abandoned)
        answered: list[Request] = []
        while pending:
            answered += self._transaction(pending)
        return answered

    def _transaction(self, pending: deque[Request]) -> list[Request]:
        """Take from `pending` until all are done or the transaction is lost; answers those taken, each with its end."""
        taken: list[Request] = []
        try:
            self._begin()
            while pending:
                taken.append(pending.popleft())
                self._run_one(taken[-1])
            self._commit(len(taken))
        except apsw.Error as error:
            self._give_up(error)
            if not taken:
                taken.extend(pending)
                pending.clear()
            failure = failure_of(error)
            for item in taken:
                item.error = item.error or failure
        return taken

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._clock.load(self._connection.execute("SELECT last FROM clock")[0][0])

    def _commit(self, writes: int) -> None:
        self._connection.execute("UPDATE clock SET last = ? WHERE last < ?", (self._clock.last, self._clock.last))
        self._connection.execute("COMMIT")
        self.commits += 1
        self.writes += writes

    def _run_one(self, item: Request) -> None:
        """The work in a savepoint of its own. Raises apsw.Error when SQLite gave up the whole transaction."""
        execute = self._connection.execute
        execute("SAVEPOINT caller")
        try:
            item.outcome = item.work(self._session)
            execute("RELEASE caller")
        except BaseException as error:  # whatever a caller's work raises is that caller's answer
            item.error = failure_of(error) if isinstance(error, apsw.Error) else error
            if not isinstance(error, PerdureError):
                _log.warning("work failed in the writer: %s", type(error).__name__)
            if not self._connection.raw.in_transaction:
                raise error if isinstance(error, apsw.Error) else apsw.AbortError("given up") from error
            execute("ROLLBACK TO caller")
            execute("RELEASE caller")

    def _give_up(self, error: apsw.Error) -> None:
        _log.warning("a commit failed: %s", type(error).__name__)
        if self._connection.raw.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except apsw.Error as second:
                _log.warning("a rollback failed: %s", type(second).__name__)
