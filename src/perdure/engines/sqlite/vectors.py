"""Vectors of live memories: stored with them, compared exactly, and never found after they are gone.

Nearest neighbours come from an index in memory (vector_index.py) that knows row numbers only. Whatever it answers is looked up
in the reader's own snapshot, so a row that is not there, or does not match the filter, does not answer; when too few are left,
the next round looks deeper, at the end through all. A filter that leaves few is turned round: its rows are listed by SQL and
they alone are compared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from perdure.domain.retrieval import Candidate, Filter
from perdure.domain.vectors import Coverage, EmbeddingModel
from perdure.engines.sql.connection import Connection, Dialect, Value
from perdure.engines.sql.filters import LIVE, conditions
from perdure.engines.sqlite import scope, vector_rows
from perdure.engines.sqlite.vector_index import DEEPER, VectorIndexes, has_unit_length, packed, similarities
from perdure.engines.sqlite.vector_rows import Shelf
from perdure.errors import Internal

if TYPE_CHECKING:
    from perdure.engines.sqlite.vector_index import Ranked

MAX_LISTED = 30_000
"""Rows that a filter may leave to be listed and compared alone; listing more costs more than comparing all."""
SPARE = 3
"""How many times the limit the first round of a filtered search looks at: enough where the filter keeps half."""
LEAST_LOOK = 64

_SUBJECT = f"""
SELECT m.row, m.revision FROM documents d JOIN memories m ON m.row = d.memory_row AND {LIVE}
WHERE d.space_id = ? AND d.memory_id = ?
"""
_INSERT = "INSERT INTO vectors (space_id, memory_id, memory_row, model, revision, windows) VALUES (?, ?, ?, ?, ?, ?)"
_KNOWN = """
SELECT v.row, v.memory_id FROM vectors v
WHERE v.space_id = ? AND v.model = ? AND v.row IN (SELECT value FROM json_each(?))
"""
_MATCHING = """
SELECT v.row, v.memory_id FROM vectors v CROSS JOIN memories m ON m.row = v.memory_row
WHERE v.space_id = ? AND v.model = ? AND v.row IN (SELECT value FROM json_each(?)) AND {conditions}
"""
_LISTED_BY_TERMS = """
SELECT v.row
FROM documents_text CROSS JOIN documents e ON e.document_id = documents_text.rowid
CROSS JOIN vectors v ON v.memory_row = e.memory_row AND v.model = ?
WHERE documents_text MATCH ? AND documents_text.rowid BETWEEN ? AND ?
LIMIT ?
"""
_LISTED_BY_BOTH = """
SELECT v.row
FROM documents_text CROSS JOIN documents e ON e.document_id = documents_text.rowid
CROSS JOIN memories m ON m.row = e.memory_row
CROSS JOIN vectors v ON v.memory_row = e.memory_row AND v.model = ?
WHERE documents_text MATCH ? AND documents_text.rowid BETWEEN ? AND ? AND {conditions}
LIMIT ?
"""
_LISTED_BY_ROWS = """
SELECT v.row FROM memories m CROSS JOIN vectors v ON v.memory_row = m.row AND v.model = ?
WHERE {conditions} LIMIT ?
"""
_COSINES = """
SELECT memory_id, windows FROM vectors
WHERE space_id = ? AND memory_id IN (SELECT value FROM json_each(?)) AND +model = ?
"""
_WITHOUT = """
SELECT d.space_id, d.memory_id, m.recorded_at FROM documents d JOIN memories m ON m.row = d.memory_row
WHERE d.model IS ? AND d.document_id BETWEEN ? AND ? ORDER BY d.document_id DESC LIMIT ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One question to one shelf."""

    shelf: Shelf
    where: Filter
    limit: int

    @property
    def is_open(self) -> bool:
        """Nothing but the space narrows it. Only live memories have vectors, so `archived` adds none."""
        return self.where in (Filter(spaces=self.where.spaces), Filter(spaces=self.where.spaces, archived=True))


class SqliteVectors:
    """`indexes` are those that readers share. The writer has none: what its open transaction added may never have happened."""

    def __init__(self, connection: Connection, dialect: Dialect, indexes: VectorIndexes | None) -> None:
        self._connection = connection
        self._dialect = dialect
        self._indexes = indexes

    def put(self, space_id: str, memory_id: str, model: EmbeddingModel, vectors: Sequence[bytes]) -> None:
        for vector in vectors:
            _check(vector, model)
        subject = self._connection.execute(_SUBJECT, (space_id, memory_id))
        if not subject:
            return
        vector_rows.forget(self._connection, space_id, memory_id=memory_id)
        number = self._model_number(model)
        if number is None:
            made = self._connection.execute("INSERT INTO vector_models (key) VALUES (?) RETURNING model", (model.key,))
            number = int(made[0][0])
        memory_row, revision = subject[0]
        self._connection.execute(_INSERT, (space_id, memory_id, memory_row, number, revision, packed(vectors)))
        self._connection.execute(
            "UPDATE documents SET model = ? WHERE space_id = ? AND memory_id = ?", (number, space_id, memory_id)
        )

    def search(self, vector: bytes, model: EmbeddingModel, where: Filter, limit: int) -> list[Candidate]:
        _check(vector, model)
        number = self._model_number(model)
        if number is None or limit <= 0:
            return []
        found: list[Candidate] = []
        for space_id in dict.fromkeys(where.spaces):
            shelf = Shelf(space_id=space_id, model=number, dimension=model.dimension)
            found += self._search_shelf(vector, _Search(shelf=shelf, where=where, limit=limit))
        found.sort(key=lambda candidate: -candidate.score)
        return found[:limit]

    def cosines(self, vector: bytes, model: EmbeddingModel, spaces: Sequence[str], memory_ids: Sequence[str]) -> dict[str, float]:
        _check(vector, model)
        number = self._model_number(model)
        ids = json.dumps(list(memory_ids))
        rows = chain.from_iterable(self._connection.execute(_COSINES, (space_id, ids, number)) for space_id in spaces)
        stored = [(memory_id, windows) for memory_id, windows in rows if windows]
        scores = similarities(vector, [windows for _, windows in stored])
        return {memory_id: score for (memory_id, _), score in zip(stored, scores, strict=True)}

    def knows(self, model: EmbeddingModel) -> bool:
        return self._model_number(model) is not None

    def missing(self, model: EmbeddingModel, limit: int) -> list[tuple[str, str]]:
        found: list[tuple[int, str, str]] = []
        for number in self._other_models(model):
            for (space_number,) in self._connection.execute("SELECT number FROM spaces"):
                rows = self._connection.execute(_WITHOUT, (number, *scope.span(space_number), limit))
                found += [(recorded_at, space_id, memory_id) for space_id, memory_id, recorded_at in rows]
        found.sort(reverse=True)
        return [(space_id, memory_id) for _, space_id, memory_id in found[:limit]]

    def coverage(self, model: EmbeddingModel) -> Coverage:
        counts = dict(self._connection.execute("SELECT model, COUNT(*) FROM documents GROUP BY model"))
        embedded = counts.get(self._model_number(model), 0) if self._model_number(model) is not None else 0
        documents = sum(counts.values())
        return Coverage(documents=documents, embedded=embedded, foreign=documents - embedded - counts.get(None, 0))

    def _model_number(self, model: EmbeddingModel) -> int | None:
        rows = self._connection.execute("SELECT model FROM vector_models WHERE key = ?", (model.key,))
        return int(rows[0][0]) if rows else None

    def _other_models(self, model: EmbeddingModel) -> list[int | None]:
        rows = self._connection.execute("SELECT model FROM vector_models WHERE key <> ?", (model.key,))
        return [None, *(number for (number,) in rows)]

    def _search_shelf(self, vector: bytes, search: _Search) -> list[Candidate]:
        state = vector_rows.state_of(self._connection, search.shelf)
        if not state.present:
            return []
        view = (self._indexes or VectorIndexes()).view(self._connection, search.shelf, state=state)
        may_list = not search.is_open
        for ranked in view.rounds(vector, search.limit if search.is_open else max(LEAST_LOOK, SPARE * search.limit)):
            known = self._known(search, ranked.rows)
            if ranked.is_complete or len(known) >= search.limit:
                return _candidates(search, ranked, known=known)
            if may_list and len(known) * DEEPER < search.limit:  # the next round will not do either
                may_list = False
                if (listed := self._listed(search)) is not None:
                    ranked = view.among(vector, listed)
                    return _candidates(search, ranked, known=self._known(search, ranked.rows[: search.limit]))
        return []

    def _known(self, search: _Search, rows: Sequence[int]) -> dict[int, str]:
        """Row → memory id, of those rows that are there and match the filter."""
        params: tuple[Value, ...] = (search.shelf.space_id, search.shelf.model, json.dumps(rows))
        if search.is_open:
            return dict(self._connection.execute(_KNOWN, params))
        clause = conditions(search.where, search.shelf.space_id, dialect=self._dialect)
        return dict(self._connection.execute(_MATCHING.format(conditions=clause.sql), (*params, *clause.params)))

    def _listed(self, search: _Search) -> list[int] | None:
        """The rows of all that match the filter; None for more than MAX_LISTED."""
        terms = scope.expression(search.where)
        where = scope.beyond(search.where) if terms else search.where
        clause = conditions(where, search.shelf.space_id, dialect=self._dialect)
        if not terms:
            sql, params = _LISTED_BY_ROWS.format(conditions=clause.sql), clause.params
        elif where == Filter(spaces=where.spaces):
            sql, params = _LISTED_BY_TERMS, [terms, *self._span(search.shelf.space_id)]
        else:
            sql = _LISTED_BY_BOTH.format(conditions=clause.sql)
            params = [terms, *self._span(search.shelf.space_id), *clause.params]
        rows = self._connection.execute(sql, (search.shelf.model, *params, MAX_LISTED + 1))
        return None if len(rows) > MAX_LISTED else [row for (row,) in rows]

    def _span(self, space_id: str) -> tuple[int, int]:
        rows = self._connection.execute("SELECT number FROM spaces WHERE id = ?", (space_id,))
        return scope.span(rows[0][0])


def _candidates(search: _Search, ranked: Ranked, *, known: dict[int, str]) -> list[Candidate]:
    """Best first, each memory once: a row is one memory's, and its best window counts."""
    found = [(known[row], score) for row, score in ranked.best.items() if row in known]
    return [
        Candidate(memory_id=memory_id, space_id=search.shelf.space_id, score=score) for memory_id, score in found[: search.limit]
    ]


def _check(vector: bytes, model: EmbeddingModel) -> None:
    """Raises Internal for a vector that is none of the model's: it would never be found, or found for everything."""
    if len(vector) != 4 * model.dimension or not has_unit_length(vector):
        raise Internal(f"A vector of {model.id} is {model.dimension} numbers of length 1; another one came from the embedder.")
