"""The English stemmer joins the forms of a word, from any thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from perdure.domain.text import index_terms, query_terms
from perdure.providers.stemming import english_stem


def test_forms_of_a_word_share_a_stem() -> None:
    stem = english_stem()
    assert stem("connections") == stem("connected") == stem("connecting") == "connect"


def test_a_query_finds_another_form_of_its_word() -> None:
    stem = english_stem()
    assert query_terms("caching decision", stem) == ["cach", "decis"]
    assert set(query_terms("caching decisions", stem)) <= set(
        index_terms("We decided nothing, the decision: cache tokens.", stem)
    )


def test_many_threads_get_the_same_stems() -> None:
    stem = english_stem()
    words = [f"{root}{ending}" for root in ("connect", "index", "token", "cach") for ending in ("s", "ing", "ed", "ion")] * 200
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(english_stem(), words)) == [stem(word) for word in words]
