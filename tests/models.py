"""Models for tests that need no weights: what shares words is near, and nothing else is."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence

from perdure.domain.text import index_terms
from perdure.domain.vectors import EmbeddingModel
from perdure.errors import ProviderUnavailable
from perdure.providers.stemming import english_stem

_STEM = english_stem()


class HashEmbedder:
    """A text's vector counts its stemmed words, each hashed to one of the dimensions; any script.

    `trouble`: while it is set, each call raises ProviderUnavailable with that text. `embedded`: the documents so far.
    """

    def __init__(self, dimension: int = 256, *, name: str = "test", trouble: str | None = None) -> None:
        self.model = EmbeddingModel(id=name, revision="1", dimension=dimension, any_script=True)
        self.trouble = trouble
        self.embedded: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        vectors = [self.embed_query(text) for text in texts]
        self.embedded += texts
        return vectors

    def embed_query(self, text: str) -> bytes:
        if self.trouble is not None:
            raise ProviderUnavailable(self.trouble)
        counts = [0.0] * self.model.dimension
        for term in index_terms(text, _STEM) or [""]:
            counts[zlib.crc32(term.encode("utf-8", "replace")) % len(counts)] += 1.0
        length = math.sqrt(sum(count * count for count in counts))
        return struct.pack(f"<{len(counts)}f", *(count / length for count in counts))


class WordReranker:
    """The share of the query's stemmed words that a text has."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        wanted = set(index_terms(query, _STEM))
        return [len(wanted & set(index_terms(text, _STEM))) / max(1, len(wanted)) for text in texts]


def cosine(one: bytes, other: bytes) -> float:
    """Of two vectors of length 1 in the form that ports.models names."""
    count = len(one) // 4
    pairs = zip(struct.unpack(f"<{count}f", one), struct.unpack(f"<{count}f", other), strict=True)
    return math.fsum(a * b for a, b in pairs)
