"""Texts and queries as the same literal terms, whatever script or symbols they hold (SEMANTICS 3, full text).

A term holds no white space and no control character; engines store and match it as it is. Words are folded and stemmed and leave
English stop words out; an identifier (`src/auth.js`, `C++`, `getUserName`) is one literal term and its parts; a run of a script
without spaces is its characters and pairs in a text, its pairs alone in a query. Stemming ignores case, so that `APIs` finds
`API`; words of up to three letters are not stemmed, so that `GBs` stays apart from `GB`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice, pairwise

from perdure.domain.scripts import SPACELESS, compose, fold, is_mostly_latin, separate

__all__ = ["Stem", "index_terms", "is_mostly_latin", "normalized", "query_terms"]

Stem = Callable[[str], str]

MAX_QUERY_TERMS = 64
MAX_QUERY_CHARS = 20_000
MAX_TERM_CHARS = 100
"""Longer terms are cut to this, in texts and queries alike."""

_MEMO_CHARS = 64
_WORD = re.compile(r"[0-9A-Za-z\x80-\U0010ffff]+")
_RUN = re.compile(f"([{SPACELESS}]+)|([^{SPACELESS}]+)")
_BREAK = re.compile(
    r"""["`()\[\]{}<>;|]+|,(?![0-9])|(?<![0-9]),|'(?![0-9A-Za-z\x80-\U0010ffff])|(?<![0-9A-Za-z\x80-\U0010ffff])'"""
)
_LEADING = "!?:*%&=^,"
_TRAILING = "!?:*&=^~@,.-"
_POSSESSIVE = re.compile(r"'[sS](?![0-9A-Za-z\x80-\U0010ffff])")
_CAMEL = re.compile(r"[a-z][0-9]{0,9}[A-Z]|[A-Z]{2}[a-z]{2}")
_HUMP = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_STOP_WORDS = frozenset(
    """
    a about above after again against all am an and any are arent as at be because been before being below between both
    but by can cant could couldnt did didnt do does doesnt doing dont down during each few for from further had hadnt has
    hasnt have havent having he her here hers herself him himself his how i if in into is isnt it its itself just me more
    most my myself no nor not now of off on once only or other our ours ourselves out over own same she should shouldnt so
    some such than that thats the their theirs them themselves then there these they this those through to too under until
    up very was wasnt we were werent what whats when where which while who whom why will with wont would wouldnt you your
    youre yours yourself yourselves
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
_CONTRACTIONS = frozenset(
    """
    aren't can't couldn't didn't doesn't don't hadn't hasn't haven't he'd he'll he's how's i'd i'll i'm i've isn't it'll
    it's let's she'd she'll she's shouldn't that's there's they'd they'll they're they've wasn't we'd we'll we're we've
    weren't what's when's where's who's why's won't wouldn't you'd you'll you're you've
    """.split()  # noqa: SIM905 - a list of words reads best as words
)


def index_terms(text: str, stem: Stem) -> list[str]:
    """The terms under which a text is found, in its order, repeated as often as they occur."""
    text = separate(compose(text))
    return _index(text, _Analyser(stem)) or _index(text, _Analyser(stem, stop_words=frozenset()))


def query_terms(text: str, stem: Stem) -> list[str]:
    """The terms a query asks for, each once, the first 64 of them; empty when it holds nothing but punctuation and space."""
    text = separate(compose(text[:MAX_QUERY_CHARS]))
    return _query(text, _Analyser(stem, query=True)) or _query(text, _Analyser(stem, query=True, stop_words=frozenset()))


def normalized(text: str) -> str:
    """The form by which two texts are the same: case, width, white space and trailing punctuation do not count."""
    return " ".join(compose(text).casefold().split()).rstrip(" .,;:!?\u3002\u3001\u2026")


def _index(text: str, analyser: _Analyser) -> list[str]:
    memo: dict[str, tuple[str, ...]] = {}
    terms: list[str] = []
    for chunk in text.split():
        known = memo.get(chunk)
        if known is None:
            known = tuple(analyser.terms(chunk))
            if len(chunk) <= _MEMO_CHARS:
                memo[chunk] = known
        terms.extend(known)
    return terms


def _query(text: str, analyser: _Analyser) -> list[str]:
    distinct = dict.fromkeys(term for chunk in text.split() for term in analyser.terms(chunk))
    return list(islice(distinct, MAX_QUERY_TERMS))


class _Analyser:
    """Terms of one run without white space; a query leaves out the one-letter parts of identifiers and the characters of runs."""

    def __init__(self, stem: Stem, *, query: bool = False, stop_words: frozenset[str] = _STOP_WORDS) -> None:
        self._stem = stem
        self._query = query
        self._stop_words = stop_words

    def terms(self, chunk: str) -> Iterator[str]:
        if chunk.isascii():
            if chunk.isalnum():
                yield from self._word(chunk)
            else:
                yield from self._pieces(chunk)
            return
        for spaceless, other in _RUN.findall(chunk):
            if spaceless:
                yield from self._characters(fold(spaceless))
            else:
                yield from self._pieces(other)

    def _characters(self, run: str) -> Iterator[str]:
        if not self._query or len(run) == 1:
            yield from run
        for left, right in pairwise(run):
            yield left + right

    def _pieces(self, chunk: str) -> Iterator[str]:
        """Quotes, brackets, semicolons and commas part a chunk; sentence punctuation around a piece is no part of it."""
        for piece in _BREAK.split(chunk):
            core = piece.lstrip(_LEADING).rstrip(_TRAILING)
            if "'" not in core:
                yield from self._identifier(core)
            elif fold(core) in _CONTRACTIONS:
                yield from self._word(core.replace("'", ""), is_stop_word=True)
            else:
                for part in _POSSESSIVE.sub("", core).split("'"):
                    yield from self._identifier(part)

    def _identifier(self, core: str) -> Iterator[str]:
        words = _WORD.findall(core)
        if not words:
            return
        if len(words[0]) == len(core):
            yield from self._word(core)
            return
        literal = fold(core[:MAX_TERM_CHARS])[:MAX_TERM_CHARS]
        if literal:
            yield literal
        for word in words:
            if not self._query or len(word) > 1:
                yield from self._word(word)

    def _word(self, word: str, *, is_stop_word: bool = False) -> Iterator[str]:
        word = word[:MAX_TERM_CHARS]
        folded = fold(word)[:MAX_TERM_CHARS]
        if is_stop_word or folded in _STOP_WORDS:
            if folded and (not self._stop_words or (len(word) > 1 and word.isupper())):
                yield folded
            return
        if folded:
            yield self._stem(folded) if len(folded) > 3 and folded.isascii() and folded.isalpha() else folded
        if len(word) > 2 and word.isascii() and _CAMEL.search(word):
            for hump in _HUMP.findall(word):
                if not self._query or len(hump) > 1:
                    yield from self._plain(hump)

    def _plain(self, hump: str) -> Iterator[str]:
        folded = hump.lower()
        if folded not in self._stop_words:
            yield self._stem(folded) if len(folded) > 3 and folded.isalpha() else folded
