"""Which memories and sessions hold a term: what ranking asks once the candidates are known."""

from __future__ import annotations

import json
from collections.abc import Sequence

from perdure.domain.retrieval import Holding
from perdure.engines.sql.connection import Connection, marks
from perdure.engines.sqlite.frequencies import Frequencies

MAX_LOOKED_AT = 4_000
"""Documents of a term that are gone through for their sessions; of a more common one the candidates' own sessions are told."""
MAX_TERMS = 24
"""The rarest terms of a long query; the others weigh next to nothing."""

_AMONG = """
SELECT d.memory_id, m.session_id FROM documents_text
CROSS JOIN documents d ON d.document_id = documents_text.rowid CROSS JOIN memories m ON m.row = d.memory_row
WHERE documents_text MATCH ? AND +documents_text.rowid IN (SELECT value FROM json_each(?))
"""
_SESSIONS = """
SELECT DISTINCT m.session_id FROM documents_text
CROSS JOIN documents d ON d.document_id = documents_text.rowid CROSS JOIN memories m ON m.row = d.memory_row
WHERE documents_text MATCH ? AND m.session_id IN (SELECT value FROM json_each(?)) AND d.space_id IN ({spaces})
"""
_DOCUMENTS = "SELECT document_id FROM documents WHERE space_id IN ({spaces}) AND memory_id IN (SELECT value FROM json_each(?))"


class Holders:
    def __init__(self, connection: Connection, frequencies: Frequencies) -> None:
        self._connection = connection
        self._frequencies = frequencies

    def of(
        self, matches: dict[str, str], spaces: Sequence[str], *, memory_ids: Sequence[str], sessions: Sequence[str]
    ) -> list[Holding]:
        """`matches`: term → its FTS5 expression."""
        within = marks(spaces)
        ids = self._connection.execute(_DOCUMENTS.format(spaces=within), (*spaces, json.dumps(list(memory_ids))))
        documents, asked = json.dumps([row[0] for row in ids]), json.dumps(list(sessions))
        counted = sorted((self._frequencies.of(self._connection, term), term) for term in matches)
        held = []
        for counted_before, term in counted[:MAX_TERMS]:
            rows = self._connection.execute(_AMONG, (matches[term], documents))
            frequency = max(counted_before, len(rows))  # counts may lag behind the documents
            if not frequency:
                continue
            found = {session for _, session in rows if session is not None}
            if sessions and frequency <= MAX_LOOKED_AT:
                more = self._connection.execute(_SESSIONS.format(spaces=within), (matches[term], asked, *spaces))
                found |= {session for (session,) in more}
            memories = frozenset(memory_id for memory_id, _ in rows)
            held.append(Holding(term=term, frequency=frequency, memories=memories, sessions=frozenset(found)))
        return held
