"""RemoteEmbedder: any service that speaks OpenAI's /v1/embeddings, on this machine or beyond."""

from __future__ import annotations

import json
import math
import struct
import threading
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from perdure.domain.vectors import EmbeddingModel
from perdure.errors import ProviderUnavailable

if TYPE_CHECKING:
    import httpx2

MAX_TEXT_CHARS = 8_000
"""Longer texts are cut: services refuse what exceeds their model (8,191 tokens at OpenAI). Documents come in shorter windows."""
BATCH = 64
CACHED_QUERIES = 64
DOCUMENT_TRIES = 5
QUERY_TRIES = 2
"""A question waits for an answer, and is answered by its words when none comes."""
CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 30.0
QUERY_TIMEOUT_S = 5.0
MAX_WAIT_S = 20.0
_PASSING = frozenset({408, 429, 500, 502, 503, 504})


def no_key() -> str | None:
    return None


class RemoteEmbedder:
    """The model `name` at an address such as https://api.openai.com/v1; the dimension is what its first answer has.

    `key` is asked at each call, and what it gives is sent as a bearer token, neither kept nor named anywhere. Redirects are
    not followed. Too many requests, server errors and broken connections are tried again, waiting longer each time.
    """

    def __init__(
        self,
        address: str,
        name: str,
        *,
        key: Callable[[], str | None] = no_key,
        sleep: Callable[[float], None] = time.sleep,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self._url = f"{address.rstrip('/')}/embeddings"
        self._host = urlsplit(address).netloc
        self._name = name
        self._key = key
        self._sleep = sleep
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._dimension: int | None = None
        self._cached = lru_cache(maxsize=CACHED_QUERIES)(self._query)

    @property
    def model(self) -> EmbeddingModel:
        """Named after the model and its host, for hosts tell no revision. Asks the service at first, for the dimension."""
        dimension = self._dimension or len(self._embed(["dimension"], tries=QUERY_TRIES)[0])
        return EmbeddingModel(id=self._name, revision=self._host, dimension=dimension, any_script=True)

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        found: list[bytes] = []
        for start in range(0, len(texts), BATCH):
            found += [_packed(vector) for vector in self._embed(texts[start : start + BATCH], tries=DOCUMENT_TRIES)]
        return found

    def embed_query(self, text: str) -> bytes:
        return self._cached(text)

    def _query(self, text: str) -> bytes:
        return _packed(self._embed([text], tries=QUERY_TRIES)[0])

    def _embed(self, texts: Sequence[str], *, tries: int) -> list[list[float]]:
        """One unit vector for each text, all of the dimension seen first."""
        cut = [text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode() or " " for text in texts]
        response = self._post({"model": self._name, "input": cut, "encoding_format": "float"}, tries=tries)
        vectors = [self._unit(numbers) for numbers in self._read(response, len(cut))]
        with self._lock:
            self._dimension = self._dimension or len(vectors[0])
            expected = self._dimension
        for vector in vectors:
            if len(vector) != expected:
                raise self._trouble(
                    f"answers with {len(vector)} numbers where it answered with {expected} before: its model was changed. "
                    "Restart perdure, which then embeds everything anew"
                )
        return vectors

    def _post(self, body: dict[str, Any], *, tries: int) -> httpx2.Response:
        for attempt in range(1, tries + 1):
            response = self._post_once(body, patient=tries == DOCUMENT_TRIES)
            if response is not None and response.status_code not in _PASSING:
                break
            if attempt < tries:
                self._sleep(min(MAX_WAIT_S, max(_asked_wait(response), 0.5 * 2.0 ** (attempt - 1))))
        return self._checked(response)

    def _post_once(self, body: dict[str, Any], *, patient: bool) -> httpx2.Response | None:
        """The answer, or None where none came. No inner error goes on from here: its text may hold the key."""
        import httpx2  # noqa: PLC0415 - a third of a second that only users of a remote model pay

        answer_s = min(self._timeout_s, ANSWER_TIMEOUT_S if patient else QUERY_TIMEOUT_S)
        timeout = httpx2.Timeout(answer_s, connect=min(self._timeout_s, CONNECT_TIMEOUT_S))
        key = (self._key() or "").strip()
        if not (key.isascii() and key.isprintable()):
            raise self._trouble("needs another key: this one holds characters that no key has")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            return self._open().post(self._url, json=body, headers=headers, timeout=timeout)
        except httpx2.HTTPError:
            return None

    def _open(self) -> httpx2.Client:
        import httpx2  # noqa: PLC0415 - as above

        with self._lock:
            if self._client is None:
                # A proxy that the environment names is for the world, not for this machine.
                self._client = httpx2.Client(follow_redirects=False, trust_env=not is_loopback(self._host))
            return self._client

    def _checked(self, response: httpx2.Response | None) -> httpx2.Response:
        if response is None:
            raise self._trouble("does not answer; is it running, and are its address and key right?")
        status = response.status_code
        if status == 200:
            return response
        reasons = {
            401: "refuses the key; set a valid one",
            403: "refuses the key; set a valid one",
            404: f"knows no embedding model {self._name!r} at this address; check both",
            429: "has had too many requests or has no credit left",
        }
        if 300 <= status < 400:
            raise self._trouble("answers with a redirect, which is not followed; name the final address")
        raise self._trouble(f"{reasons.get(status, 'cannot embed now')} (status {status})")

    def _read(self, response: httpx2.Response, count: int) -> list[list[float]]:
        """The answer's vectors in the order of the question."""
        try:
            rows = sorted(json.loads(response.content)["data"], key=lambda row: row["index"])
            vectors = [[float(number) for number in row["embedding"]] for row in rows]
            in_order = [row["index"] for row in rows] == list(range(count))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._trouble("answers in another form than OpenAI's /v1/embeddings; check the address") from error
        if not in_order:
            raise self._trouble(f"answers with {len(vectors)} vectors for {count} texts")
        return vectors

    def _unit(self, vector: list[float]) -> list[float]:
        length = math.hypot(*vector)
        if not 0.0 < length < math.inf:
            raise self._trouble("answers with a vector that is empty, zero or not finite")
        return [number / length for number in vector]

    def _trouble(self, what: str) -> ProviderUnavailable:
        return ProviderUnavailable(f"The embedding service at {self._host} {what}.")


def is_loopback(netloc: str) -> bool:
    return (urlsplit(f"//{netloc}").hostname or "") in ("localhost", "127.0.0.1", "::1")


def _asked_wait(response: httpx2.Response | None) -> float:
    """Seconds of a Retry-After header; 0 for none or a date."""
    asked = response.headers.get("retry-after", "") if response is not None else ""
    return float(asked) if asked.isascii() and asked.isdigit() else 0.0


def _packed(vector: list[float]) -> bytes:
    return struct.pack(f"<{len(vector)}f", *vector)
