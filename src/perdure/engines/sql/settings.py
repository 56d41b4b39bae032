"""Settings that differ from their defaults, as rows."""

from __future__ import annotations

from perdure.engines.sql.connection import Connection


class SqlSettings:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM settings ORDER BY name"))

    def put(self, name: str, value: str | None) -> None:
        if value is None:
            self._connection.execute("DELETE FROM settings WHERE name = ?", (name,))
            return
        self._connection.execute(
            "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )
