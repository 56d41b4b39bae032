"""A graph over vectors: the nearest of very many without comparing all. An approximation; what it names is compared exactly.

The library lets one thread at a time into a graph safely (its threads share scratch space by number), so each call holds a lock;
a search that cannot have it soon goes without the graph. Kept as bytes, a graph holds links and keys but no vectors: those are
put back from the rows, so that the bytes are a sixth as many and nothing of an erased memory is in them.
"""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING

from perdure.engines.sqlite.deferred import Deferred

if TYPE_CHECKING:
    import numpy as np
    import usearch
    from usearch import index as usearch_index

    from perdure.engines.sqlite.vector_arrays import Keys, Numbers
else:
    np = Deferred("numpy")
    # Loaded after usearch, onnxruntime ends the process or misreads models (tests/providers/test_together.py): so before it.
    usearch = Deferred("usearch", after="onnxruntime")
    usearch_index = Deferred("usearch.index", after="onnxruntime")

CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 512
"""Measured at 70,000 sentences' vectors of 384: recall 0.998 at 10 and 0.996 at 100 in 1 ms; with 256 it is 0.985 at 100."""
EXPANSION_SHARE = 4
"""The search is so many times as wide as what is asked of it, where that is more."""
BATCH = 16
"""Vectors added under one hold of the lock: about 7 ms."""
PATIENCE_S = 0.005

_SHAPE = struct.Struct("<II")
_SAMPLES = 16
_SELF_COSINE = 0.99
_MISSES = 4
"""One in so many of the sample may be missed: the graph is an approximation."""


def format_name() -> str:
    """Which graphs this program can read: the library's version and what a graph was made with."""
    return f"1 usearch {usearch.__version__} ip f16 {CONNECTIVITY}"


class Graph:
    """Nearest neighbours among vectors that were added with ascending keys; removed ones stay in it."""

    def __init__(self, dimension: int) -> None:
        self.last = -1
        self.count = 0
        self._dimension = dimension
        self._lock = threading.Lock()
        self._keys: list[Keys] = []
        self._index = usearch_index.Index(
            ndim=dimension,
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
            enable_key_lookups=False,
        )

    def add(self, keys: Keys, vectors: Numbers) -> None:
        """At most BATCH of them, with keys beyond the last one."""
        with self._lock:
            self._index.add(keys, vectors, threads=1)
            self._keys.append(keys)
            self.count += len(keys)
            self.last = int(keys[-1])

    def nearest(self, query: Numbers, wanted: int) -> Keys | None:
        """The keys of about the nearest; None when another thread is inside."""
        if not self._lock.acquire(timeout=PATIENCE_S):
            return None
        try:
            width = max(EXPANSION_SEARCH, EXPANSION_SHARE * wanted)
            self._index.expansion_search = width  # type: ignore[misc]  # the library has the setter, its description has not
            found: Keys = self._index.search(query, wanted, threads=1).keys.astype(np.int64)
            return found
        finally:
            self._lock.release()

    def kept(self) -> bytes | None:
        """The graph without its vectors; None when the library writes in an unknown way."""
        with self._lock:
            whole = self._index.save() or b""
            keys = np.concatenate(self._keys)
        head = _SHAPE.pack(len(keys), 2 * self._dimension)
        start = len(head) + len(keys) * 2 * self._dimension
        if not whole.startswith(head) or not whole.startswith(b"usearch", start):
            return None
        return _SHAPE.pack(len(keys), self._dimension) + keys.tobytes() + whole[start:]

    @classmethod
    def restored(cls, kept: bytes, keys: Keys, *, matrix: Numbers) -> Graph | None:
        """The graph that `kept` gave, over the vectors of these keys; those no longer there are nowhere near anything.

        None when it is of another dimension, mostly of vectors that are gone, or does not find what is in it.
        """
        count, dimension = _SHAPE.unpack_from(kept)
        if dimension != matrix.shape[1]:
            return None
        theirs = np.frombuffer(kept, dtype=np.int64, count=count, offset=_SHAPE.size)
        places = np.minimum(np.searchsorted(keys, theirs), max(len(keys) - 1, 0))
        present = keys[places] == theirs if len(keys) else np.zeros(count, dtype=bool)
        vectors = np.zeros((count, dimension), dtype=np.float16)
        vectors[present] = matrix[places[present]]
        graph = cls(dimension)
        links = memoryview(kept)[_SHAPE.size + theirs.nbytes :]
        graph._index.load(b"".join((_SHAPE.pack(count, 2 * dimension), vectors.tobytes(), links)))
        graph._keys, graph.count = [theirs], count
        graph.last = int(theirs[-1])
        return graph if graph._finds(theirs[present], matrix[places[present]]) else None

    def _finds(self, keys: Keys, matrix: Numbers) -> bool:
        """Most of a sample of its own vectors are found by themselves, or by their equals."""
        if len(self._index) != self.count or not len(keys):
            return False
        sample = range(0, len(keys), max(1, len(keys) // _SAMPLES))
        missed = 0
        for place in sample:
            found = self.nearest(matrix[place], 1)
            at = 0 if found is None or not len(found) else min(int(np.searchsorted(keys, found[0])), len(keys) - 1)
            missed += bool(matrix[at] @ matrix[place] < _SELF_COSINE)
        return missed * _MISSES <= len(sample)
