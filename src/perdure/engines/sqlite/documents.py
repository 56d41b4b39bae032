"""The searchable projection in FTS5: written with the memory, searched within a budget, never with a ghost.

What a search costs was measured at 200,000 documents: scoring takes 0.4 µs for each document that matches, counting a term's
documents (which bm25 does for every term) 0.03 µs each. So terms are taken rarest first while the documents they bring stay
within MAX_SCORED; if even the rarest brings more, the newest MAX_SCORED are scored. Terms left out still order the candidates.
Filters are hashed terms of the column `scope`, weightless and ANDed, so that FTS5 skips what cannot answer; joining the memory's
row for each match instead was five times slower at that size, for its pages are rarely cached. Only what no such term tells is
joined: review states, which change without a new document, and times.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence

from perdure.domain.documents import Document
from perdure.domain.memory import Memory
from perdure.domain.retrieval import Candidate, Filter, Holding
from perdure.engines.sql.connection import Connection, Dialect, Value, marks
from perdure.engines.sql.filters import LIVE, Conditions, conditions
from perdure.engines.sql.memories import SqlMemories
from perdure.engines.sqlite import scope, vector_rows
from perdure.engines.sqlite.frequencies import Frequencies
from perdure.engines.sqlite.holdings import Holders
from perdure.errors import ItemMissing

MAX_SCORED = 4_000
MAX_TERMS = 64
REBUILD_PAGE = 500

_TERM_BREAK = re.compile(r"[\x00-\x20\x7f]+")
_TEXT_COLUMNS = "{title body labels}"
_SCORED = """
SELECT d.memory_id, d.space_id, -best.score, best.id
FROM (SELECT id, score FROM ({hits}) ORDER BY score, id DESC LIMIT ?) AS best
JOIN documents d ON d.document_id = best.id
ORDER BY best.score, best.id DESC
"""
_BM25 = "bm25(documents_text, 2.0, 1.0, 1.0, 0.0)"
_HITS = f"""
SELECT documents_text.rowid AS id, {_BM25} AS score FROM documents_text
WHERE documents_text MATCH ? AND documents_text.rowid BETWEEN ? AND ?
ORDER BY documents_text.rowid DESC LIMIT ?
"""
_FILTERED_HITS = f"""
SELECT documents_text.rowid AS id, {_BM25} AS score
FROM documents_text CROSS JOIN documents e ON e.document_id = documents_text.rowid CROSS JOIN memories m ON m.row = e.memory_row
WHERE documents_text MATCH ? AND documents_text.rowid BETWEEN ? AND ? AND {{conditions}}
ORDER BY documents_text.rowid DESC LIMIT ?
"""
_SUBJECT = """
SELECT row, revision, session_id, agent, source, channel, derived, tags, files FROM memories WHERE space_id = ? AND id = ?
"""
_MODEL = "SELECT model FROM vectors WHERE space_id = ? AND memory_id = ?"
_HOLDING = """
SELECT rowid FROM documents_text
WHERE documents_text MATCH ? AND rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM json_each(?))
"""
_MISSING = f"""
SELECT m.id FROM memories m LEFT JOIN documents d ON d.space_id = m.space_id AND d.memory_id = m.id
WHERE {LIVE} AND d.document_id IS NULL
"""
_GHOSTS = f"""
SELECT d.memory_id FROM documents d LEFT JOIN memories m ON m.row = d.memory_row AND m.id = d.memory_id AND {LIVE}
WHERE m.row IS NULL
"""
_UNPAIRED = """
SELECT (SELECT COUNT(*) FROM documents d LEFT JOIN documents_text_docsize t ON t.id = d.document_id WHERE t.id IS NULL)
     + (SELECT COUNT(*) FROM documents_text_docsize t LEFT JOIN documents d ON d.document_id = t.id WHERE d.document_id IS NULL)
"""


class SqliteDocuments:
    def __init__(self, connection: Connection, dialect: Dialect, frequencies: Frequencies) -> None:
        self._connection = connection
        self._dialect = dialect
        self._frequencies = frequencies

    def put(self, document: Document) -> None:
        """The memory's row must be there: the filters' values are taken from it. Raises ItemMissing."""
        key = (document.space_id, document.memory_id)
        rows = self._connection.execute(_SUBJECT, key)
        if not rows:
            raise ItemMissing()
        vector_rows.forget_older(self._connection, document.space_id, memory_id=document.memory_id, revision=rows[0][1])
        known = self._connection.execute("SELECT document_id FROM documents WHERE space_id = ? AND memory_id = ?", key)
        document_id = known[0][0] if known else self._next_id(document.space_number)
        if not known:
            self._connection.execute(
                f"INSERT INTO documents (document_id, space_id, memory_id, memory_row, model) VALUES (?, ?, ?, ?, ({_MODEL}))",
                (document_id, *key, rows[0][0], *key),
            )
        self._connection.execute(
            "INSERT OR REPLACE INTO documents_text (rowid, title, body, labels, scope) VALUES (?, ?, ?, ?, ?)",
            (document_id, document.title, document.body, document.labels, scope.terms(document, rows[0][2:])),
        )
        self._frequencies.note_write()

    def remove(self, space_id: str, memory_id: str) -> None:
        vector_rows.forget(self._connection, space_id, memory_id=memory_id)
        rows = self._connection.execute(
            "DELETE FROM documents WHERE space_id = ? AND memory_id = ? RETURNING document_id", (space_id, memory_id)
        )
        for (document_id,) in rows:
            self._connection.execute("DELETE FROM documents_text WHERE rowid = ?", (document_id,))

    def search(self, terms: Sequence[str], where: Filter, limit: int) -> list[Candidate]:
        clean = _clean(terms)
        found: list[tuple[Candidate, int]] = []
        if clean and limit > 0:
            for space_id in where.spaces:
                found += self._search_space(clean[:MAX_TERMS], where, space_id=space_id, limit=limit)
        found.sort(key=lambda hit: (-hit[0].score, -hit[1]))
        return [candidate for candidate, _ in found[:limit]]

    def holdings(
        self, terms: Sequence[str], spaces: Sequence[str], memory_ids: Sequence[str], sessions: Sequence[str]
    ) -> list[Holding]:
        matches = {term: f"{_TEXT_COLUMNS} : {scope.quoted(term)}" for term in _clean(terms)}
        holders = Holders(self._connection, self._frequencies)
        return holders.of(matches, spaces, memory_ids=memory_ids, sessions=sessions)

    def size(self, spaces: Sequence[str]) -> int:
        rows = self._connection.execute(f"SELECT number FROM spaces WHERE id IN ({marks(spaces)})", tuple(spaces))
        return sum(self._next_id(number) - 1 - scope.span(number)[0] for (number,) in rows)

    def count(self, spaces: Sequence[str]) -> int:
        rows = self._connection.execute(f"SELECT COUNT(*) FROM documents WHERE space_id IN ({marks(spaces)})", tuple(spaces))
        return int(rows[0][0])

    def check(self) -> list[str]:
        missing = len(self._connection.execute(_MISSING))
        ghosts = len(self._connection.execute(_GHOSTS))
        unpaired = int(self._connection.execute(_UNPAIRED)[0][0])
        strays = vector_rows.strays(self._connection)
        findings = (
            (missing, "live memories are not searchable"),
            (ghosts, "documents belong to no live memory"),
            (unpaired, "documents and full text differ"),
            (strays, "vectors belong to no document"),
        )
        return [f"{count} {words}; `perdure doctor` rebuilds the index." for count, words in findings if count]

    def rebuild(self, make: Callable[[Memory], Document]) -> int:
        self._connection.execute("DELETE FROM documents")
        self._connection.execute("INSERT INTO documents_text (documents_text) VALUES ('delete-all')")
        self._frequencies.forget()
        memories = SqlMemories(self._connection, self._dialect)
        rows = self._connection.execute(f"SELECT m.space_id, m.id FROM memories m WHERE {LIVE} ORDER BY m.recorded_at, m.id")
        for start in range(0, len(rows), REBUILD_PAGE):
            page = rows[start : start + REBUILD_PAGE]
            found = memories.get_many(tuple({space_id for space_id, _ in page}), [memory_id for _, memory_id in page])
            for _, memory_id in page:
                self.put(make(found[memory_id]))
        vector_rows.sweep(self._connection)
        return len(rows)

    def _next_id(self, space_number: int) -> int:
        low, high = scope.span(space_number)
        rows = self._connection.execute("SELECT MAX(document_id) FROM documents WHERE document_id BETWEEN ? AND ?", (low, high))
        return (low if rows[0][0] is None else int(rows[0][0])) + 1

    def _search_space(self, terms: Sequence[str], where: Filter, *, space_id: str, limit: int) -> list[tuple[Candidate, int]]:
        numbers = self._connection.execute("SELECT number FROM spaces WHERE id = ?", (space_id,))
        if not numbers:
            return []
        low, high = scope.span(numbers[0][0])
        size = self._next_id(numbers[0][0]) - 1 - low
        groups = scope.groups(where)
        most = min([size, *(sum(self._frequency(term) for term in group) for group in groups)])
        kept, dropped = self._within_budget(terms, most)
        match = f"{_TEXT_COLUMNS} : ({scope.any_of(kept)})"
        clause = conditions(scope.beyond(where), space_id, dialect=self._dialect)
        span = (scope.expression(where, match), low, high)
        rows = self._connection.execute(*_statement(span, where, clause=clause, limit=limit))
        hits = [(Candidate(memory_id=row[0], space_id=row[1], score=row[2]), int(row[3])) for row in rows]
        for term, frequency in dropped:
            hits = self._lifted(
                hits, f"{match} AND {_TEXT_COLUMNS} : {scope.quoted(term)}", span=(low, high), weight=_idf(frequency, size)
            )
        return hits

    def _within_budget(self, terms: Sequence[str], most: int) -> tuple[list[str], list[tuple[str, int]]]:
        """The terms to score, at least one, and those left out with their frequencies. `most`: no term brings more documents."""
        ranked = sorted((self._frequency(term), term) for term in terms)
        kept: list[str] = []
        dropped: list[tuple[str, int]] = []
        spent = 0
        for frequency, term in ranked:
            brings = min(frequency, most)
            if kept and spent + brings > MAX_SCORED:
                dropped.append((term, frequency))
            else:
                kept.append(term)
                spent += brings
        return kept, dropped

    def _frequency(self, term: str) -> int:
        return self._frequencies.of(self._connection, term)

    def _lifted(
        self, hits: list[tuple[Candidate, int]], match: str, *, span: tuple[int, int], weight: float
    ) -> list[tuple[Candidate, int]]:
        """The same hits, those that match scored higher by the weight of a term that was left out."""
        ids = json.dumps([document_id for _, document_id in hits])
        holding = {row[0] for row in self._connection.execute(_HOLDING, (match, *span, ids))}
        return [
            (Candidate(memory_id=c.memory_id, space_id=c.space_id, score=c.score + weight), document_id)
            if document_id in holding
            else (c, document_id)
            for c, document_id in hits
        ]


def _statement(span: tuple[Value, ...], where: Filter, *, clause: Conditions, limit: int) -> tuple[str, tuple[Value, ...]]:
    """The search in one space. Unless the filter asks for more than scope terms tell, no memory's row is touched."""
    if scope.beyond(where) == Filter(spaces=where.spaces):
        return _SCORED.format(hits=_HITS), (*span, MAX_SCORED, limit)
    hits = _FILTERED_HITS.format(conditions=clause.sql)
    return _SCORED.format(hits=hits), (*span, *clause.params, MAX_SCORED, limit)


def _idf(frequency: int, size: int) -> float:
    """As FTS5 weighs a term."""
    return max(1e-6, math.log((size - frequency + 0.5) / (frequency + 0.5)))


def _clean(terms: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(part for term in terms if _encodes(term) for part in _parts(term)))


def _parts(term: str) -> list[str]:
    """The term as the tokenizer sees it; one in all but hostile cases."""
    return [part for part in _TERM_BREAK.split(term) if part]


def _encodes(term: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in term)
