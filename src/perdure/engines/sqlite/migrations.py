"""Numbered schema changes, forward only, each in one transaction with the row that records it.

A fresh vault is made by the same migrations, so it cannot differ from one that grew up through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from perdure.engines.sqlite.connection import SqliteConnection
from perdure.errors import Conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    number: int
    name: str
    sql: str


def known_migrations() -> tuple[Migration, ...]:
    """Those in `migrations/`, by number; a file's name is `0001_core.sql`."""
    found = []
    for file in files("perdure.engines.sqlite").joinpath("migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found.append(Migration(number=int(number), name=name, sql=file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def migrate(connection: SqliteConnection, migrations: Sequence[Migration], *, now_us: int) -> None:
    """Bring the vault to the newest schema. Raises Conflict, changing nothing, for a vault of a newer perdure."""
    done = _applied(connection)
    newest = migrations[-1].number
    if max(done, default=0) > newest:
        raise Conflict(
            f"The vault was made by a newer perdure (schema {max(done)}, this one knows {newest}); nothing was changed. "
            "Update perdure."
        )
    for migration in migrations:
        if migration.number not in done:
            _apply(connection, migration, now_us=now_us)


def _applied(connection: SqliteConnection) -> set[int]:
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'"):
        return set()
    return {row[0] for row in connection.execute("SELECT number FROM migrations")}


def _apply(connection: SqliteConnection, migration: Migration, *, now_us: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)"
        )
        connection.execute(migration.sql)
        connection.execute(
            "INSERT INTO migrations (number, name, applied_at) VALUES (?, ?, ?)", (migration.number, migration.name, now_us)
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.raw.in_transaction:
            connection.execute("ROLLBACK")
        raise
