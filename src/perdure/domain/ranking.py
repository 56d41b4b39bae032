"""How a hit's score is made of its parts (SEMANTICS 3: the blend, the boosts, the half-lives). Starting values, tuned on data."""

from __future__ import annotations

import math
from datetime import datetime

from perdure.domain.kinds import HALF_LIFE_DAYS, Kind
from perdure.domain.retrieval import Standing

RELEVANCE_WEIGHT = 0.60
RECENCY_WEIGHT = 0.25
REINFORCEMENT_WEIGHT = 0.15
PROJECT_BOOST = 1.15
FILE_BOOST = 1.10


def recency(kind: Kind, happened: datetime, *, now: datetime) -> float:
    """1 for what happened now, 0.5 after the kind's half-life, never negative."""
    age_days = max(0.0, (now - happened).total_seconds() / 86_400)
    return float(2.0 ** (-age_days / HALF_LIFE_DAYS[kind]))


def reinforcement(count: int) -> float:
    """0 for a memory stated once, 1 from eleven statements on."""
    return min(1.0, math.log(max(1, count)) / math.log(11))


def blend(
    standing: Standing, relevance: float, *, now: datetime, project_id: str | None, files: tuple[str, ...]
) -> dict[str, float]:
    """The parts of a hit's score and their blend under `score`; relevance lies in 0..1."""
    parts = {
        "relevance": relevance,
        "recency": recency(standing.kind, standing.occurred_start, now=now),
        "reinforcement": reinforcement(standing.reinforcements),
    }
    score = (
        RELEVANCE_WEIGHT * parts["relevance"] + RECENCY_WEIGHT * parts["recency"] + REINFORCEMENT_WEIGHT * parts["reinforcement"]
    )
    if project_id is not None and standing.project_id == project_id:
        parts["project"] = PROJECT_BOOST
        score *= PROJECT_BOOST
    matching = sum(1 for path in files if any(same_file(path, other) for other in standing.files))
    if matching:
        parts["file"] = FILE_BOOST**matching
        score *= parts["file"]
    parts["score"] = score
    return parts


def same_file(one: str, other: str) -> bool:
    """Whether two paths name the same file: equal, or one ends with the whole other, part by part."""
    a, b = one.replace("\\", "/").strip("/").split("/"), other.replace("\\", "/").strip("/").split("/")
    shorter = min(len(a), len(b))
    return shorter > 0 and a[-shorter:] == b[-shorter:]
