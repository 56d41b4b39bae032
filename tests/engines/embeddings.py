"""Vectors for the engine's tests: few dimensions, any direction, and the nearest of them by the plain formula."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from perdure.domain.memory import Memory
from perdure.domain.retrieval import Filter
from perdure.domain.vectors import EmbeddingModel
from perdure.ports.store import Session
from tests.engines.stores import EVERYTHING, MINE, NOON, remember

MODEL = EmbeddingModel(id="model", revision="1", dimension=4)
OTHER_MODEL = EmbeddingModel(id="other", revision="1", dimension=4)
WIDE_MODEL = EmbeddingModel(id="model", revision="1", dimension=8)


def vector(*numbers: float) -> bytes:
    """These numbers at length 1."""
    length = math.sqrt(sum(number * number for number in numbers))
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


def turned(degrees: float) -> bytes:
    """A vector of MODEL in a plane: the nearer the angles, the nearer the vectors."""
    return vector(math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0, 0)


def scattered(count: int, seed: int, dimension: int = MODEL.dimension) -> list[bytes]:
    """Directions without order, the same for the same seed."""
    source = random.Random(seed)
    return [vector(*(source.gauss(0, 1) for _ in range(dimension))) for _ in range(count)]


def cosine(one: bytes, other: bytes) -> float:
    count = len(one) // 4
    return math.fsum(a * b for a, b in zip(struct.unpack(f"<{count}f", one), struct.unpack(f"<{count}f", other), strict=True))


def embed(session: Session, *vectors: bytes, model: EmbeddingModel = MODEL, **values: Any) -> Memory:
    """A memory with these windows."""
    memory = remember(session, "word", **values)
    session.vectors.put(memory.space_id, memory.id, model, vectors)
    return memory


def archive(session: Session, memory_id: str, space_id: str = MINE) -> None:
    memory = session.memories.get((space_id,), memory_id)
    assert memory is not None
    session.memories.save(replace(memory, archived_at=NOON))
    session.documents.remove(space_id, memory_id)


def execute(session: Any, sql: str, *params: Any) -> Any:
    """A statement past the repositories."""
    return session.vectors._connection.execute(sql, params)


def nearest(
    session: Session, query: bytes, where: Filter = EVERYTHING, *, limit: int = 10, model: EmbeddingModel = MODEL
) -> list[str]:
    return [candidate.memory_id for candidate in session.vectors.search(query, model, where, limit)]


def assert_nearest(found: Sequence[str], query: bytes, *, windows: dict[str, Sequence[bytes]], limit: int) -> None:
    """These are the nearest by the plain formula, each once, best first; what differs by less than storing changes may swap."""
    scores = {memory_id: max(cosine(query, window) for window in windows[memory_id]) for memory_id in windows}
    wanted = sorted(scores.values(), reverse=True)[:limit]
    assert len(set(found)) == len(found)
    assert [scores[memory_id] for memory_id in found] == pytest.approx(wanted, abs=1e-3)
