"""Vectors in memory, to be compared with one question at once; a cache of the rows, pulled from them and never told.

Each search first takes in the rows that its own snapshot has and the index has not: no hook on writes, so another process's
writes are seen too, and what was rolled back never is. Row numbers only grow, so an older snapshot sees a prefix and nothing that
is newer than itself. Removed rows stay until a fifth is dead; whoever searches looks its answers up in its snapshot anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perdure.engines.sql.connection import Connection
from perdure.engines.sqlite import vector_rows
from perdure.engines.sqlite.deferred import Deferred
from perdure.engines.sqlite.vector_graph import Graph
from perdure.engines.sqlite.vector_rows import Shelf, State

if TYPE_CHECKING:
    import numpy as np

    from perdure.engines.sqlite.vector_arrays import Keys, Numbers
else:
    np = Deferred("numpy")

WINDOW_BITS = 16
DEAD_SHARE = 5
"""The index is packed when one row in so many is dead."""
DEEPER = 4
"""How many times deeper each round looks than the one before."""
UNIT_TOLERANCE = 1e-3
GRAPH_FROM = 20_000
"""Vectors from which a graph is worth its memory: comparing all of these takes as long as asking a graph (1 ms)."""
EXTEND_AT = 1_000
"""Vectors beyond the graph, compared one by one, from which it is made to cover more."""
MAX_THROUGH_GRAPH = 400
"""Neighbours asked of a graph at most: deeper it is slow, and finds too few of them."""

_LEAST_CAPACITY = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """Row → its best window's cosine, best first. Complete: there are no other rows."""

    best: dict[int, float]
    is_complete: bool

    @property
    def rows(self) -> list[int]:
        return list(self.best)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one snapshot sees: a key for each window (row, then window, ascending), and its vector of length 1."""

    keys: Keys
    matrix: Numbers
    graph: Graph | None = None

    def covered(self, last: int) -> int:
        """How many keys are no greater than that one."""
        return int(np.searchsorted(self.keys, last, side="right"))

    def wears_out(self, graph: Graph) -> bool:
        """Too much of the graph is of vectors that are gone."""
        return (graph.count - self.covered(graph.last)) * DEAD_SHARE > graph.count

    def rounds(self, vector: bytes, wanted: int) -> Iterator[Ranked]:
        """The nearest `wanted` windows, then ever more of them, until all were given."""
        query = np.frombuffer(vector, dtype="<f4")
        near = self._through_graph(query, wanted)
        if near is not None:
            yield near
            wanted *= DEEPER
        scores = self.matrix @ query
        while True:
            is_complete = wanted >= len(scores)
            yield Ranked(best=_best(self.keys, scores, wanted=wanted), is_complete=is_complete)
            if is_complete:
                return
            wanted *= DEEPER

    def _through_graph(self, query: Numbers, wanted: int) -> Ranked | None:
        """What the graph names and what lies beyond it, compared exactly; None when the graph is of no use now."""
        if self.graph is None or wanted > MAX_THROUGH_GRAPH:
            return None
        last = self.graph.last  # read before the question: it may grow meanwhile
        found = self.graph.nearest(query, wanted + wanted // 4)
        if found is None:
            return None
        found = found[found <= last]
        places = np.searchsorted(self.keys, found)
        inside = places < len(self.keys)
        here = places[inside][self.keys[places[inside]] == found[inside]]
        positions = np.concatenate((here, np.arange(self.covered(last), len(self.keys))))
        best = _best(self.keys[positions], self.matrix[positions] @ query, wanted=wanted)
        return Ranked(best=best, is_complete=False)

    def among(self, vector: bytes, rows: Sequence[int]) -> Ranked:
        """Every one of these rows that is here."""
        ascending = np.sort(np.array(rows, dtype=np.int64))
        starts = np.searchsorted(self.keys, ascending << WINDOW_BITS)
        ends = np.searchsorted(self.keys, (ascending + 1) << WINDOW_BITS)
        counts = ends - starts
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        positions = np.repeat(starts, counts) + within
        scores = self.matrix[positions] @ np.frombuffer(vector, dtype="<f4")
        return Ranked(best=_best(self.keys[positions], scores, wanted=len(positions)), is_complete=True)


class VectorIndex:
    """The vectors of one shelf. Arrays are only written beyond what any view holds, or made anew."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.graph: Graph | None = None
        self.kept_count = 0
        self.gives_up_graph = False
        self._lock = threading.Lock()
        self._keys: Keys = np.empty(0, dtype=np.int64)
        self._matrix: Numbers = np.empty((0, shelf.dimension), dtype=np.float32)
        self._count = 0
        self._rows = 0
        self._last = 0

    def view(self, connection: Connection, state: State) -> View:
        """What the snapshot of that state sees. An older one than others had may miss what was removed since."""
        with self._lock:
            if state.last > self._last:
                self._take_in(connection, state)
            if state.last == self._last and (self._rows - state.present) * DEAD_SHARE > self._rows:
                self._pack(connection, state)
            end = int(np.searchsorted(self._keys[: self._count], (state.last + 1) << WINDOW_BITS))
            return View(keys=self._keys[:end], matrix=self._matrix[:end], graph=self.graph)

    def whole(self) -> View:
        """All that was taken in, to make a graph of."""
        with self._lock:
            return View(keys=self._keys[: self._count], matrix=self._matrix[: self._count])

    def wants_graph(self, view: View) -> bool:
        """A graph is missing, worn out, or leaves too much beyond it."""
        if self.gives_up_graph or len(view.keys) < GRAPH_FROM:
            return False
        graph = view.graph
        return graph is None or len(view.keys) - view.covered(graph.last) >= EXTEND_AT or view.wears_out(graph)

    def _take_in(self, connection: Connection, state: State) -> None:
        if not self._count:
            self._reserve(state.windows)
        for page in vector_rows.pages(connection, self.shelf, after=self._last, last=state.last):
            counts = [len(windows) // (2 * self.shelf.dimension) for _, windows in page]
            vectors = unpacked(b"".join(windows for _, windows in page), self.shelf.dimension)
            end = self._count + len(vectors)
            self._reserve(end)
            self._keys[self._count : end] = _keys([row for row, _ in page], counts)
            self._matrix[self._count : end] = vectors
            self._count = end
            self._rows += len(page)
        self._last = state.last

    def _reserve(self, count: int) -> None:
        """Room for so many; views keep the arrays that they have."""
        if count <= len(self._keys):
            return
        capacity = max(count, len(self._keys) * 5 // 4, _LEAST_CAPACITY)
        keys = np.empty(capacity, dtype=np.int64)
        matrix = np.empty((capacity, self.shelf.dimension), dtype=np.float32)
        keys[: self._count] = self._keys[: self._count]
        matrix[: self._count] = self._matrix[: self._count]
        self._keys, self._matrix = keys, matrix

    def _pack(self, connection: Connection, state: State) -> None:
        """Only the rows of this snapshot stay."""
        present = np.array(vector_rows.present_rows(connection, self.shelf, last=state.last), dtype=np.int64)
        kept = np.isin(self._keys[: self._count] >> WINDOW_BITS, present)
        self._keys = self._keys[: self._count][kept]
        self._matrix = self._matrix[: self._count][kept]
        self._count = len(self._keys)
        self._rows = len(present)


class VectorIndexes:
    """The indexes that an engine's readers share: one for a space, of the model that was asked last."""

    def __init__(self, want_graph: Callable[[VectorIndex], None] | None = None) -> None:
        self._want_graph = want_graph
        self._lock = threading.Lock()
        self._indexes: dict[str, VectorIndex] = {}

    def view(self, connection: Connection, shelf: Shelf, *, state: State) -> View:
        with self._lock:
            index = self._indexes.get(shelf.space_id)
            if index is None or index.shelf != shelf:
                index = self._indexes[shelf.space_id] = VectorIndex(shelf)
        view = index.view(connection, state)
        if self._want_graph is not None and index.wants_graph(view):
            self._want_graph(index)
        return view


def has_unit_length(vector: bytes) -> bool:
    """True for finite numbers of length 1."""
    numbers = np.frombuffer(vector, dtype="<f4")
    return bool(abs(float(numbers @ numbers) - 1) < UNIT_TOLERANCE)


def packed(vectors: Sequence[bytes]) -> bytes:
    """Vectors as they are stored."""
    return bytes(np.frombuffer(b"".join(vectors), dtype="<f4").astype("<f2").tobytes())


def unpacked(windows: bytes, dimension: int) -> Numbers:
    """Stored vectors, of length 1 again."""
    numbers = np.frombuffer(windows, dtype="<f2").astype(np.float32).reshape(-1, dimension)
    numbers /= np.linalg.norm(numbers, axis=1, keepdims=True)
    return numbers


def similarities(vector: bytes, stored: Sequence[bytes]) -> list[float]:
    """For each memory's stored windows the cosine of the best one."""
    query = np.frombuffer(vector, dtype="<f4")
    if not stored:
        return []
    counts = np.array([len(windows) for windows in stored]) // (2 * len(query))
    scores = unpacked(b"".join(stored), len(query)) @ query
    best: list[float] = np.maximum.reduceat(scores, np.cumsum(counts) - counts).tolist()
    return best


def _keys(rows: Sequence[int], counts: Sequence[int]) -> Keys:
    repeats = np.array(counts, dtype=np.int64)
    starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
    within = np.arange(int(repeats.sum()), dtype=np.int64) - starts
    return np.repeat(np.array(rows, dtype=np.int64) << WINDOW_BITS, repeats) + within


def _best(keys: Keys, scores: Numbers, *, wanted: int) -> dict[int, float]:
    """Row → score of the best `wanted` windows, best first; of equals the newest first."""
    if wanted < len(scores):
        chosen = np.argpartition(scores, len(scores) - wanted)[-wanted:]
        keys, scores = keys[chosen], scores[chosen]
    best: dict[int, float] = {}
    order = np.lexsort((-keys, -scores))
    for row, score in zip((keys[order] >> WINDOW_BITS).tolist(), scores[order].tolist(), strict=True):
        best.setdefault(row, score)
    return best
