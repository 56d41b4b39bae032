"""Stemming by PyStemmer (Snowball)."""

from __future__ import annotations

import threading
from functools import lru_cache

from Stemmer import Stemmer  # type: ignore[import-not-found]  # a compiled module without stubs

from perdure.domain.text import Stem

CACHED_WORDS = 50_000


def english_stem() -> Stem:
    """A function from a folded English word to its Snowball stem; any number of threads may call it.

    PyStemmer's objects are not safe between threads, so each thread has its own; the words already seen are shared.
    """
    local = threading.local()

    @lru_cache(maxsize=CACHED_WORDS)
    def stem(word: str) -> str:
        if not hasattr(local, "stemmer"):
            local.stemmer = Stemmer("english", 0)
        return str(local.stemmer.stemWord(word))

    return stem
