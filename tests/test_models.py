"""The models that stand in for real ones: the same always, and near where words are shared."""

from __future__ import annotations

import pytest

from perdure.errors import ProviderUnavailable
from perdure.ports.models import Embedder, Reranker
from tests.models import HashEmbedder, WordReranker, cosine


def test_shared_words_are_near_in_any_script_and_others_are_far() -> None:
    embedder: Embedder = HashEmbedder()
    one, other, far = embedder.embed_documents(["the parsers failed", "a parser fails", "北京 weather"])
    assert cosine(one, other) > 0.9
    assert cosine(one, far) < 0.5
    assert embedder.embed_query("天气 北京") == HashEmbedder().embed_query("天气 北京")
    assert len(HashEmbedder(8).embed_query("")) == 8 * 4


def test_trouble_is_raised_until_it_ends() -> None:
    embedder = HashEmbedder(trouble="gone")
    with pytest.raises(ProviderUnavailable, match="gone"):
        embedder.embed_documents(["a"])
    embedder.trouble = None
    embedder.embed_documents(["a"])
    assert embedder.embedded == ["a"]


def test_the_reranker_counts_shared_words() -> None:
    reranker: Reranker = WordReranker()
    assert reranker.score("which parser failed", ["the parser fails", "weather"]) == [1.0, 0.0]
