"""An embedding service elsewhere: patient with what passes, clear about what does not, and careful with the key."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator

import pytest

from perdure.errors import ProviderUnavailable
from perdure.ports.models import Embedder
from perdure.providers.remote import (
    BATCH,
    DOCUMENT_TRIES,
    MAX_TEXT_CHARS,
    MAX_WAIT_S,
    QUERY_TRIES,
    RemoteEmbedder,
    is_loopback,
)
from tests.models import cosine
from tests.providers.embedding_server import Answer, EmbeddingServer, running

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with running() as served:
        yield served


def _embedder(server: EmbeddingServer, waits: list[float] | None = None, *, key: str | None = None) -> RemoteEmbedder:
    taken = waits if waits is not None else []
    return RemoteEmbedder(server.address, "some-model", key=lambda: key, sleep=taken.append, timeout_s=10)


def test_texts_become_unit_vectors_in_their_order(server: EmbeddingServer) -> None:
    embedder: Embedder = _embedder(server)
    short, long = embedder.embed_documents(["a", "abcdef"])
    assert cosine(short, short) == pytest.approx(1, abs=1e-6)
    assert embedder.embed_query("abcdef") == long != short
    assert embedder.embed_documents([]) == []
    assert server.requests[0] == {
        "path": "/v1/embeddings",
        "model": "some-model",
        "input": ["a", "abcdef"],
        "encoding_format": "float",
    }
    assert server.keys == [None, None]


def test_many_texts_go_in_batches_and_a_long_one_is_cut(server: EmbeddingServer) -> None:
    assert len(_embedder(server).embed_documents(["a" * 100_000, "\ud800", "", *["x"] * (2 * BATCH)])) == 2 * BATCH + 3
    assert [len(request["input"]) for request in server.requests] == [BATCH, BATCH, 3]
    assert server.requests[0]["input"][:3] == ["a" * MAX_TEXT_CHARS, "?", " "]


def test_a_repeated_question_is_asked_once(server: EmbeddingServer) -> None:
    embedder = _embedder(server)
    assert embedder.embed_query("a") == embedder.embed_query("a")
    assert len(server.requests) == 1


def test_the_key_goes_to_the_service_and_into_no_error(server: EmbeddingServer) -> None:
    embedder = _embedder(server, key=f"{KEY}\n")
    embedder.embed_query("a")
    assert server.keys == [f"Bearer {KEY}"]
    server.usual = Answer(status=401, body=json.dumps({"error": f"wrong key {KEY}"}).encode())
    with pytest.raises(ProviderUnavailable, match="refuses the key") as raised:
        embedder.embed_query("b")
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert KEY not in repr(vars(embedder))


@pytest.mark.parametrize("key", ["bad\r\nkey-123", "ключ-123"])
def test_a_key_that_is_no_header_stays_out_of_the_error(server: EmbeddingServer, key: str) -> None:
    with pytest.raises(ProviderUnavailable, match="another key") as raised:
        _embedder(server, key=key).embed_query("a")
    assert "-123" not in "".join(traceback.format_exception(raised.value))
    assert server.requests == []


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_passes_is_tried_again_waiting_longer_each_time(server: EmbeddingServer, status: int) -> None:
    waits: list[float] = []
    server.answers = [Answer(status=status, body=b"")] * (DOCUMENT_TRIES - 1)
    assert len(_embedder(server, waits).embed_documents(["a"])) == 1
    assert waits == [0.5, 1.0, 2.0, 4.0]


def test_the_service_says_how_long_to_wait_within_reason(server: EmbeddingServer) -> None:
    waits: list[float] = []
    server.answers = [Answer(status=429, body=b"", headers={"retry-after": asked}) for asked in ("7", "86400", "tomorrow")]
    _embedder(server, waits).embed_documents(["a"])
    assert waits == [7.0, MAX_WAIT_S, 2.0]


@pytest.mark.parametrize(("status", "words"), [(429, "too many requests"), (503, "cannot embed now")])
def test_tries_are_bounded_and_fewer_for_a_question(server: EmbeddingServer, status: int, words: str) -> None:
    server.usual = Answer(status=status, body=b"")
    with pytest.raises(ProviderUnavailable, match=f"{words}.*{status}"):
        _embedder(server).embed_documents(["a"])
    assert len(server.requests) == DOCUMENT_TRIES
    with pytest.raises(ProviderUnavailable):
        _embedder(server).embed_query("a")
    assert len(server.requests) == DOCUMENT_TRIES + QUERY_TRIES


def test_nobody_at_the_address_is_said_and_a_return_noticed(server: EmbeddingServer) -> None:
    with running() as gone:
        address = gone.address
    waits: list[float] = []
    embedder = RemoteEmbedder(address, "m", sleep=waits.append)
    with pytest.raises(ProviderUnavailable, match=r"127\.0\.0\.1:\d+ does not answer"):
        embedder.embed_documents(["a"])
    assert len(waits) == DOCUMENT_TRIES - 1
    back = _embedder(server)
    server.answers = [Answer(status=500, body=b"")] * QUERY_TRIES
    with pytest.raises(ProviderUnavailable):
        back.embed_query("a")
    assert back.embed_query("a")


def test_a_service_that_hangs_is_left(server: EmbeddingServer) -> None:
    server.usual = Answer(hang=True)
    embedder = RemoteEmbedder(server.address, "m", sleep=lambda _: None, timeout_s=0.05)
    with pytest.raises(ProviderUnavailable, match="does not answer"):
        embedder.embed_query("a")
    assert len(server.requests) <= QUERY_TRIES


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"data": 3}',
        b'{"data": [{"index": 0}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": ["x"]}]}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 0, "embedding": [0.0, 0.0]}]}',
        b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999, 1.0]}]}',
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]}',
        b"[" * 100_000,
    ],
)
def test_an_answer_of_another_form_is_refused(server: EmbeddingServer, body: bytes) -> None:
    server.usual = Answer(body=body)
    with pytest.raises(ProviderUnavailable, match=r"answers with|another form"):
        _embedder(server).embed_query("a")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "words"), [(301, "redirect"), (307, "redirect"), (404, "'some-model'"), (400, "400"), (418, "418")]
)
def test_what_does_not_pass_is_not_tried_again_and_no_redirect_followed(server: EmbeddingServer, status: int, words: str) -> None:
    server.usual = Answer(status=status, body=b"", headers={"location": f"{server.address}/elsewhere"})
    with pytest.raises(ProviderUnavailable, match=words):
        _embedder(server, key=KEY).embed_documents(["a"])
    assert len(server.requests) == 1


def test_em2_a_service_opened_twice_in_one_process_has_its_768_dimensions_both_times(server: EmbeddingServer) -> None:
    server.usual = Answer(dimension=768)
    first, second = _embedder(server), _embedder(server)
    assert first.model == second.model
    assert first.model.key == f"some-model@{server.address[7:-3]}#768"
    assert len(second.embed_query("a")) == 768 * 4


def test_the_dimension_is_asked_once_and_a_changed_one_is_refused(server: EmbeddingServer) -> None:
    embedder = _embedder(server)
    assert embedder.model.dimension == embedder.model.dimension == 8
    assert len(server.requests) == 1
    server.usual = Answer(dimension=16)
    with pytest.raises(ProviderUnavailable, match="16 numbers where it answered with 8"):
        embedder.embed_documents(["a"])


@pytest.mark.parametrize(
    ("host", "local"),
    [("localhost:11434", True), ("127.0.0.1", True), ("[::1]:80", True), ("127.0.0.1.example.org", False), ("a@localhost", True)],
)
def test_this_machine_is_known_by_its_names(host: str, local: bool) -> None:
    assert is_loopback(host) == local
