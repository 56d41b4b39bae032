"""How many documents hold a term, remembered between searches, because counting costs time in proportion to the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from perdure.engines.sql.connection import Connection

MAX_TERMS = 50_000
STALE_AFTER_WRITES = 5_000


@dataclass(slots=True)
class Frequencies:
    """Shared by all threads of an engine. Counts may lag by STALE_AFTER_WRITES documents: they steer cost, not correctness."""

    _counts: dict[str, int] = field(default_factory=dict)
    _writes: int = 0

    def note_write(self) -> None:
        self._writes += 1
        if self._writes >= STALE_AFTER_WRITES:
            self.forget()

    def forget(self) -> None:
        self._writes = 0
        self._counts = {}

    def of(self, connection: Connection, term: str) -> int:
        """Documents of all spaces that hold the term in any column."""
        counts = self._counts
        if (known := counts.get(term)) is not None:
            return known
        rows = connection.execute("SELECT doc FROM documents_terms WHERE term = ?", (term,))
        if len(counts) >= MAX_TERMS:
            counts.clear()
        counts[term] = rows[0][0] if rows else 0
        return counts[term]
