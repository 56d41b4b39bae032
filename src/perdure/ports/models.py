"""What the core needs of models that run elsewhere. All methods block; services call them off the event loop.

A vector is the little-endian float32 bytes of `model.dimension` numbers, of length 1 in the Euclidean sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from perdure.domain.vectors import EmbeddingModel


class Embedder(Protocol):
    @property
    def model(self) -> EmbeddingModel: ...
    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each text. Raises ProviderUnavailable."""
        ...

    def embed_query(self, text: str) -> bytes:
        """The vector of a question. Raises ProviderUnavailable."""
        ...


class Reranker(Protocol):
    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query; larger is better, comparable across queries. Raises ProviderUnavailable."""
        ...
