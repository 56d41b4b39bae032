"""How well each candidate answers a question: what of its words it holds, near it or in its session, and what the vectors say.

Learned on the development conversations and checked on the other public sets with the same constants (docs/retrieval.md). A turn
read alone is hard to find: the words of a question are often spread over the turns around the one that answers it. So a word
counts whole in the memory itself, less two places around it in its session, little elsewhere in the session. Each word weighs its
share of the question's information (how rare it is in the vault), so that a literal identifier outweighs any paraphrase. Cosines
run from 0 for the last vector candidate to 1 for the first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from perdure.domain.retrieval import Holding, Standing
from perdure.domain.spans import gap_days, spans_in

NEAR = 0.65
"""A word two places around, or nearer."""
SESSION = 0.25
"""A word elsewhere in the session."""
REACH = 2
COSINE, BESIDE_COSINE, SESSION_COSINE = 0.2, 0.2, 0.2
SPEAKER = 0.1
QUESTION = 0.12
"""A memory that asks seldom answers."""
LENGTH, USUAL_CHARS = 0.08, 430.0
"""Long memories hold many words by chance: so much less for each e-fold over the usual length."""
DATE, DATE_DAYS = 0.5, 10.0
"""A memory of the day that the question names; halves every ten days away from it."""

_SPEAKER = re.compile(r"([A-Za-z][\w .'-]{0,39}): ")
_FIRST_PERSON = frozenset(("i", "my", "me", "mine", "we", "our", "us"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found for a question. `windows`: for each candidate its surroundings in the session, by place relative to it.

    `documents` is how many memories the vault's spaces hold; `cosines` those of the vector candidates.
    """

    question: str
    documents: int
    holdings: Sequence[Holding]
    cosines: Mapping[str, float]
    standings: Mapping[str, Standing]
    windows: Mapping[str, Mapping[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """`score` orders the candidates; `words` is the share of the question's information that the memory itself holds."""

    score: float
    words: float
    near: float
    cosine: float = field(default=0.0)


def relevance(evidence: Evidence) -> dict[str, Relevance]:
    """The relevance of every memory that has a standing."""
    shares = _shares(evidence)
    close = _close(evidence.windows)
    cosines = _normalised(evidence.cosines)
    best = _best_by_session(cosines, evidence.standings)
    speakers = _speakers(evidence)
    spans = spans_in(evidence.question, sorted({s.occurred_start.year for s in evidence.standings.values()}))
    found = {}
    for memory_id, standing in evidence.standings.items():
        words, near = _words(standing, shares, close=close.get(memory_id, {}))
        beside = sum(cosines.get(other, 0.0) for other, place in close.get(memory_id, {}).items() if place == 1) / 2
        score = near + COSINE * cosines.get(memory_id, 0.0) + BESIDE_COSINE * beside
        score += SESSION_COSINE * best.get(standing.session_id or memory_id, 0.0) + _manner(standing, speakers)
        if spans:
            score += DATE * 2.0 ** (-gap_days(spans, _day(standing)) / DATE_DAYS)
        found[memory_id] = Relevance(score=score, words=words, near=near, cosine=evidence.cosines.get(memory_id, 0.0))
    return found


def _shares(evidence: Evidence) -> list[tuple[Holding, float]]:
    weights = [math.log(1 + (evidence.documents - held.frequency + 0.5) / (held.frequency + 0.5)) for held in evidence.holdings]
    total = sum(weights) or 1.0
    return [(held, weight / total) for held, weight in zip(evidence.holdings, weights, strict=True)]


def _words(standing: Standing, shares: Sequence[tuple[Holding, float]], *, close: Mapping[str, int]) -> tuple[float, float]:
    """The share of the question's information in the memory itself, and with what stands around it."""
    words = near = 0.0
    for held, share in shares:
        if standing.memory_id in held.memories:
            words += share
            near += share
        elif not held.memories.isdisjoint(close):
            near += NEAR * share
        elif standing.session_id is not None and standing.session_id in held.sessions:
            near += SESSION * share
    return words, near


def _close(windows: Mapping[str, Mapping[int, str]]) -> dict[str, dict[str, int]]:
    """For each memory those up to REACH places from it, with the distance, as far as some candidate's surroundings show."""
    close: dict[str, dict[str, int]] = {}
    for centre, window in windows.items():
        places = {0: centre, **window}
        for at, memory_id in places.items():
            mine = close.setdefault(memory_id, {})
            mine |= {other: abs(at - to) for to, other in places.items() if other != memory_id and abs(at - to) <= REACH}
    return close


def _normalised(cosines: Mapping[str, float]) -> dict[str, float]:
    if not cosines:
        return {}
    low, high = min(cosines.values()), max(cosines.values())
    return {memory_id: (cosine - low) / max(1e-9, high - low) for memory_id, cosine in cosines.items()}


def _best_by_session(cosines: Mapping[str, float], standings: Mapping[str, Standing]) -> dict[str, float]:
    """A memory without a session is one of its own."""
    best: dict[str, float] = {}
    for memory_id, cosine in cosines.items():
        if standing := standings.get(memory_id):
            session = standing.session_id or memory_id
            best[session] = max(best.get(session, 0.0), cosine)
    return best


def _speakers(evidence: Evidence) -> frozenset[str]:
    """The one speaker among the candidates whom the question names; none when it names several."""
    said = set(re.findall(r"[a-z]+", evidence.question.lower().replace("'s", "")))
    named = {
        name
        for standing in evidence.standings.values()
        if (name := _speaker(standing)) and (name in said or (name == "user" and said & _FIRST_PERSON))
    }
    return frozenset(named) if len(named) == 1 else frozenset()


def _speaker(standing: Standing) -> str:
    match = _SPEAKER.match(standing.opening)
    return match[1].lower() if match else ""


def _manner(standing: Standing, speakers: frozenset[str]) -> float:
    length = LENGTH * math.log(max(1.0, standing.chars / USUAL_CHARS))
    return SPEAKER * (_speaker(standing) in speakers) - QUESTION * standing.asks - length


def _day(standing: Standing) -> date:
    return standing.occurred_start.date()
