"""A Filter as terms of full text: the hashed terms of the column `scope`, which tell most of what a filter can ask."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from perdure.domain.documents import Document
from perdure.domain.retrieval import Filter

SPACE_BITS = 40

_DERIVED = "derived"


def span(space_number: int) -> tuple[int, int]:
    """The first and the last document id of a space, both inclusive."""
    low = space_number << SPACE_BITS
    return low, low + (1 << SPACE_BITS) - 1


def quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def groups(where: Filter) -> list[list[str]]:
    """Scope terms of the filter: a document must hold one of each group."""
    several = [("f", where.files), ("k", where.kinds), *(("t", (tag,)) for tag in where.tags)]
    single = (("p", where.project_id), ("s", where.session_id), ("a", where.agent), ("o", where.source), ("c", where.channel))
    several += [(name, (value,)) for name, value in single if value is not None]
    found = [[_term(name, value) for value in values] for name, values in several if values]
    return [*found, [_DERIVED]] if where.derived else found


def expression(where: Filter, text: str = "") -> str:
    """What to MATCH for the filter, and for the text's own expression where there is one; empty when no term tells anything."""
    parts = [text] if text else []
    parts += [f"scope : ({any_of(group)})" for group in groups(where)]
    excluded = f" NOT scope : {quoted(_DERIVED)}" if where.derived is False and parts else ""
    return " AND ".join(parts) + excluded


def any_of(terms: Sequence[str]) -> str:
    return " OR ".join(map(quoted, terms))


def beyond(where: Filter) -> Filter:
    """What of the filter no scope term tells: review states, which change without a new document, and times."""
    return Filter(
        spaces=where.spaces,
        reviews=where.reviews,
        recorded_from=where.recorded_from,
        recorded_to=where.recorded_to,
        occurred_from=where.occurred_from,
        occurred_to=where.occurred_to,
    )


def terms(document: Document, values: tuple[Any, ...]) -> str:
    """The column `scope` of a document; `values` of its memory: session, agent, source, channel, derived, tags, files."""
    session_id, agent, source, channel, derived, tags, files = values
    single = (("p", document.project_id), ("k", document.kind), ("s", session_id), ("a", agent), ("o", source), ("c", channel))
    several = [("t", tag) for tag in json.loads(tags)] + [("f", path) for path in json.loads(files)]
    found = [_term(name, value) for name, value in (*single, *several) if value is not None]
    return " ".join([*found, _DERIVED] if derived else found)


def _term(name: str, value: str) -> str:
    """A filter's value as one short literal term, whatever it holds."""
    return name + blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
