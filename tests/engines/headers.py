"""Key headers as the tests make them: a fixed clock, the cheapest passphrase hash, a keyring in memory."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from perdure.domain.vault import SlotKind
from perdure.engines.header.document import CHEAPEST
from perdure.engines.header.header import FileKeyHeader
from perdure.errors import ProviderUnavailable

NOW = datetime(2026, 11, 30, 9, 15, 2, 1, tzinfo=UTC)
PASSPHRASE = "correct horse battery staple"


class MemoryKeyring:
    def __init__(self) -> None:
        self.entries: dict[str, str] = {}
        self.reachable = True

    def get(self, name: str) -> str | None:
        if not self.reachable:
            raise ProviderUnavailable()
        return self.entries.get(name)

    def set(self, name: str, secret: str) -> None:
        self.entries[name] = secret

    def delete(self, name: str) -> None:
        self.entries.pop(name, None)


def header_in(home: Path, keyring: MemoryKeyring | None = None) -> FileKeyHeader:
    return FileKeyHeader(
        home / "header.json",
        key_file=home / "vault.key",
        token_file=home / "primary.token",
        profile=CHEAPEST,
        clock=lambda: NOW,
        keyring=keyring,
    )


def full_header(home: Path) -> tuple[FileKeyHeader, bytes, MemoryKeyring, str]:
    """A header with one slot of each kind: itself, its master key, its keyring and its recovery key."""
    keyring = MemoryKeyring()
    header = header_in(home, keyring)
    master = header.create()
    header.add_slot(master, SlotKind.KEYRING)
    header.add_slot(master, SlotKind.PASSPHRASE, PASSPHRASE)
    recovery_key = header.add_slot(master, SlotKind.RECOVERY)
    assert recovery_key is not None
    return header, master, keyring, recovery_key
