"""The vault's lock: states, key slots and what its header tells without any key (SEMANTICS 6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class VaultState(StrEnum):
    OPEN = "open"
    LOCKED = "locked"
    MISSING = "missing"


class SlotKind(StrEnum):
    """How a vault is opened: by itself (key file, keyring) or by a person (passphrase, recovery key)."""

    KEY_FILE = "key_file"
    KEYRING = "keyring"
    PASSPHRASE = "passphrase"
    RECOVERY = "recovery"


AUTOMATIC_SLOTS = (SlotKind.KEY_FILE, SlotKind.KEYRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySlot:
    """One way to open the vault, without its secret."""

    id: str
    kind: SlotKind
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """What `perdure status` and cortexa_health tell about the vault."""

    state: VaultState
    vault_id: str | None
    path: str
    size_bytes: int
    cipher: str
    slots: tuple[KeySlot, ...]
    auto_lock_minutes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far long work is: `done` of `total` in `unit`s."""

    done: int
    total: int
    unit: str
