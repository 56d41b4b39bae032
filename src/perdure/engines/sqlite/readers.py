"""A few threads that read, each with its own read-only connection; one piece of work sees one snapshot."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from queue import SimpleQueue

import apsw

from perdure.engines.sqlite.connection import SqliteConnection
from perdure.engines.sqlite.failures import failure_of
from perdure.engines.sqlite.requests import Request, answer
from perdure.errors import PerdureError, VaultLocked
from perdure.ports.store import Session

_log = logging.getLogger("perdure.engines.sqlite")


class Readers:
    def __init__(self, pairs: Sequence[tuple[SqliteConnection, Session]]) -> None:
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._run, args=pair, name=f"perdure-reader-{number}", daemon=True)
            for number, pair in enumerate(pairs)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, item: Request) -> None:
        """Raises VaultLocked after `stop`."""
        with self._lock:
            if self._stopped:
                raise VaultLocked()
            self._queue.put(item)

    def stop(self) -> None:
        """Finish what is queued, then end the threads and close their connections."""
        with self._lock:
            self._stopped = True
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, connection: SqliteConnection, session: Session) -> None:
        while (item := self._queue.get()) is not None:
            if not item.is_abandoned:
                _read(connection, session=session, item=item)
                answer((item,))
        connection.close()


def _read(connection: SqliteConnection, *, session: Session, item: Request) -> None:
    try:
        connection.execute("BEGIN")
        item.outcome = item.work(session)
    except BaseException as error:  # noqa: BLE001 - whatever a caller's work raises is that caller's answer
        item.error = failure_of(error) if isinstance(error, apsw.Error) else error
        if not isinstance(error, PerdureError):
            _log.warning("work failed in a reader: %s", type(error).__name__)
    finally:
        if connection.raw.in_transaction:
            connection.execute("ROLLBACK")
