"""The record of calls as rows; it belongs to the vault, not to a space."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from perdure.domain.records import AuditEntry, ToolMetric
from perdure.engines.sql.connection import Connection, instant_at, micros

_COLUMNS = """
tool_name, agent, session_id, input_summary, output_status, duration_ms, error_message, token_id, tokens, at
"""


class SqlAudit:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, entries: Sequence[tuple[AuditEntry, datetime]]) -> None:
        for entry, at in entries:
            self._connection.execute(
                f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    entry.tool_name,
                    entry.agent,
                    entry.session_id,
                    entry.input_summary,
                    entry.output_status,
                    entry.duration_ms,
                    entry.error_message,
                    entry.token_id,
                    entry.tokens,
                    micros(at),
                ),
            )

    def recent(self, limit: int) -> list[tuple[AuditEntry, datetime]]:
        """Newest first."""
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM audit ORDER BY at DESC, id DESC LIMIT ?", (limit,))
        return [
            (
                AuditEntry(
                    tool_name=row[0],
                    agent=row[1],
                    session_id=row[2],
                    input_summary=row[3],
                    output_status=row[4],
                    duration_ms=row[5],
                    error_message=row[6],
                    token_id=row[7],
                    tokens=row[8],
                ),
                instant_at(row[9]),
            )
            for row in rows
        ]

    def metrics(self) -> list[ToolMetric]:
        """A call is successful when its `output_status` is `ok`."""
        rows = self._connection.execute(
            """
            SELECT tool_name, COUNT(*), SUM(CASE WHEN output_status = 'ok' THEN 1 ELSE 0 END), AVG(duration_ms), SUM(tokens)
            FROM audit GROUP BY tool_name ORDER BY COUNT(*) DESC, tool_name
            """
        )
        return [
            ToolMetric(
                tool_name=tool,
                total_calls=total,
                successful_calls=successful,
                error_rate=(total - successful) / total,
                avg_duration_ms=duration,
                total_tokens=tokens,
            )
            for tool, total, successful, duration, tokens in rows
        ]

    def prune(self, before: datetime) -> int:
        return len(self._connection.execute("DELETE FROM audit WHERE at < ? RETURNING id", (micros(before),)))
