"""Opening the encrypted file: the one way to a connection, with what must hold asserted each time.

Two packages install the module `apsw`; under the plain one a key is silently ignored and the vault would be plain text. So the
build, the cipher and the file's first bytes are looked at on every open, never assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from perdure.engines.sql.connection import Dialect, Value
from perdure.errors import Internal, VaultDamaged, VaultMissing, WrongKey

CIPHER = "aegis"
KEY_BYTES = 32
PAGE_BYTES = 4096
PLAIN_HEADER = b"SQLite format 3\0"
BUSY_TIMEOUT_MS = 10_000
CACHE_KIB = 32_768
CHECKPOINT_PAGES = 2000
JOURNAL_BYTES = 64 << 20
STATEMENTS = 200

DIALECT = Dialect(
    has_tag="EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)",
    has_file="EXISTS (SELECT 1 FROM json_each(m.files) WHERE value = ?)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How connections of an engine are opened; all but the path are the benchmark's to change."""

    path: Path
    encrypted: bool = True
    synchronous: str = "FULL"
    vfs: str | None = None


class SqliteConnection:
    """A connection of one thread; every row set is read whole before the next statement."""

    def __init__(self, raw: apsw.Connection) -> None:
        self.raw = raw
        self._cursor = raw.cursor()

    def execute(self, sql: str, params: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        return self._cursor.execute(sql, params).fetchall()

    def close(self) -> None:
        self._cursor.close(True)
        self.raw.close()


def assert_build(encrypted: bool) -> None:
    """Raises Internal when the library at hand cannot encrypt."""
    if encrypted and not getattr(apsw, "mc_version", "").startswith("SQLite3 Multiple Ciphers"):
        raise Internal("The SQLite library at hand cannot encrypt: uninstall `apsw`, reinstall `apsw-sqlite3mc`.")


def keyed(path: Path, key: bytes, *, profile: Profile, flags: int) -> apsw.Connection:
    """A connection with its key set and its cipher asserted; whether the key fits shows at the first read."""
    assert_build(profile.encrypted)
    raw = apsw.Connection(str(path), flags=flags, vfs=profile.vfs, statementcachesize=STATEMENTS)
    try:
        if profile.encrypted:
            if len(key) != KEY_BYTES:
                raise Internal(f"A vault's key has {KEY_BYTES} bytes.")
            raw.execute("PRAGMA cipher = 'aegis'")
            raw.execute(f'PRAGMA key = "raw:{key.hex()}"')
            if raw.pragma("cipher") != CIPHER:
                raise Internal("The vault's cipher is not in force; nothing was read or written.")
        raw.set_busy_timeout(BUSY_TIMEOUT_MS)
        raw.pragma("temp_store", "MEMORY")
    except BaseException:
        raw.close()
        raise
    return raw


def open_writer(key: bytes, profile: Profile) -> SqliteConnection:
    """The write connection of a file that exists. Raises VaultMissing, WrongKey, VaultDamaged."""
    raw = _open(key, profile, flags=apsw.SQLITE_OPEN_READWRITE)
    raw.pragma("journal_mode", "WAL")
    raw.pragma("synchronous", profile.synchronous)
    raw.pragma("secure_delete", True)
    raw.pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
    raw.pragma("journal_size_limit", JOURNAL_BYTES)
    return SqliteConnection(raw)


def open_reader(key: bytes, profile: Profile) -> SqliteConnection:
    """A connection that cannot write. Raises as open_writer."""
    raw = _open(key, profile, flags=apsw.SQLITE_OPEN_READONLY)
    raw.pragma("query_only", True)
    return SqliteConnection(raw)


def _open(key: bytes, profile: Profile, *, flags: int) -> apsw.Connection:
    assert_file(profile)
    raw = keyed(profile.path, key, profile=profile, flags=flags)
    try:
        raw.pragma("cache_size", -CACHE_KIB)
        raw.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()
        assert_file(profile)
    except apsw.NotADBError as error:
        raw.close()
        raise (WrongKey() if profile.encrypted else VaultDamaged()) from error
    except BaseException:
        raw.close()
        raise
    return raw


def assert_file(profile: Profile) -> None:
    """The file is there, encrypted, and as long as its pages make it.

    A wrong key and a damaged first page look alike to SQLite. What tells damage without a key: the length, and the eight bytes
    that the cipher leaves readable (page size, journal modes, reserved bytes). All else is told as a wrong key; a caller that
    has proven its key against the key header knows that it is damage. A length that is no multiple of a page is normal while a
    write-ahead log is there: it mends the last page.
    """
    try:
        with profile.path.open("rb") as file:
            head = file.read(24)
            size = file.seek(0, 2)
    except FileNotFoundError:
        raise VaultMissing() from None
    if not profile.encrypted:
        return
    if head.startswith(PLAIN_HEADER):
        raise VaultDamaged("The vault file is not encrypted: it is not perdure's; nothing was changed.")
    log = profile.path.with_name(profile.path.name + "-wal")
    has_log = log.exists() and log.stat().st_size > 0
    page = int.from_bytes(head[16:18], "big")
    if size < PAGE_BYTES or page != PAGE_BYTES or head[21:24] != b"\x40\x20\x20" or (size % PAGE_BYTES and not has_log):
        raise VaultDamaged()
