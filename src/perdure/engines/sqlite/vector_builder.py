"""The thread that makes graphs: off the way of every search, in small batches, at low priority, ended with the vault.

Until a graph is ready, and wherever it is not, all vectors are compared. So a graph that is missing, stale, damaged or of another
library costs time only. It is looked for in the vault first, and kept there when it has grown by a quarter.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import apsw

from perdure.engines.sql.connection import Connection
from perdure.engines.sqlite import vector_graph_rows
from perdure.engines.sqlite.connection import SqliteConnection
from perdure.engines.sqlite.vector_graph import BATCH, Graph, format_name
from perdure.engines.sqlite.vector_graph_rows import Step
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.engines.sqlite.vector_index import VectorIndex

KEPT_GROWTH = 1.25
NICENESS = 10
PAUSE_S = 0.001
WRITE_S = 60.0
_POLL_S = 0.1

_log = logging.getLogger("perdure.engines.sqlite")


class GraphBuilder:
    """`connect` opens a reader; `write` hands work to the writer. Idle, it is no thread at all until a graph is wanted."""

    def __init__(self, connect: Callable[[], SqliteConnection], write: Callable[[Callable[[Connection], None]], None]) -> None:
        self._connect = connect
        self._write = write
        self._wake = threading.Condition()
        self._wanted: list[VectorIndex] = []
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def request(self, index: VectorIndex) -> None:
        """Make its graph, or make it cover more."""
        with self._wake:
            if self._stopping.is_set() or index in self._wanted:
                return
            self._wanted.append(index)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="perdure-graphs", daemon=True)
                self._thread.start()
            self._wake.notify()

    def stop(self) -> None:
        """End the thread, also in the middle of a graph: it is made again from the rows."""
        with self._wake:
            self._stopping.set()
            self._wake.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        if sys.platform == "linux":  # elsewhere a thread has no priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        while (index := self._next()) is not None:
            try:
                self._build(index)
            except (apsw.Error, PerdureError, RuntimeError, ValueError, MemoryError) as error:
                _log.warning("a graph of vectors could not be made: %s", type(error).__name__)
                index.gives_up_graph = True
            finally:
                with self._wake:
                    self._wanted.remove(index)

    def _next(self) -> VectorIndex | None:
        with self._wake:
            self._wake.wait_for(lambda: self._wanted or self._stopping.is_set())
            return None if self._stopping.is_set() else self._wanted[0]

    def _build(self, index: VectorIndex) -> None:
        graph = index.graph or self._restored(index)
        whole = index.whole()
        if graph is None or whole.wears_out(graph):
            graph = Graph(index.shelf.dimension)
        else:
            index.graph = graph
        start = whole.covered(graph.last)
        while start < len(whole.keys) and not self._stopping.wait(PAUSE_S):
            graph.add(whole.keys[start : start + BATCH], whole.matrix[start : start + BATCH])
            start += BATCH
        if self._stopping.is_set():
            return
        index.graph = graph
        if graph.count > index.kept_count * KEPT_GROWTH:
            self._keep(index, graph)

    def _restored(self, index: VectorIndex) -> Graph | None:
        with closing(self._connect()) as connection:
            connection.execute("BEGIN")
            kept = vector_graph_rows.load(connection, index.shelf, format_name=format_name())
        whole = index.whole()
        graph = Graph.restored(kept, whole.keys, matrix=whole.matrix) if kept else None
        index.kept_count = graph.count if graph else 0
        return graph

    def _keep(self, index: VectorIndex, graph: Graph) -> None:
        kept = graph.kept()
        index.kept_count = graph.count
        if kept is not None:
            for step in vector_graph_rows.steps(index.shelf, kept, format_name=format_name()):
                if not self._written(step):
                    return

    def _written(self, step: Step) -> bool:
        """One step in the writer, awaited, so that other writes come between two of them."""
        done, succeeded = threading.Event(), threading.Event()

        def work(connection: Connection) -> None:
            try:
                step(connection)
                succeeded.set()
            finally:
                done.set()

        self._write(work)
        waited = 0.0
        while not done.wait(_POLL_S) and not self._stopping.is_set() and waited < WRITE_S:
            waited += _POLL_S
        return succeeded.is_set()
