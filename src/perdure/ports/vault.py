"""The vault as a thing that is created, opened, locked, copied and checked; and the header that opens it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from perdure.domain.access import Token, TokenKind
from perdure.domain.vault import KeySlot, Progress, SlotKind

OnProgress = Callable[[Progress], None]


class VaultEngine(Protocol):
    """An embedded engine's file. All methods block; services call them off the event loop."""

    @property
    def path(self) -> Path: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def cipher(self) -> str: ...
    def exists(self) -> bool: ...
    def create(self, key: bytes) -> None:
        """Make a new encrypted file and open it. Raises Conflict when a file is there: nothing is ever overwritten."""
        ...

    def open(self, key: bytes) -> None:
        """Open and migrate. Raises VaultMissing (never creates), WrongKey, VaultDamaged; asserts build, cipher and header."""
        ...

    def close(self) -> None:
        """Finish the commits under way, close every connection and forget the key."""
        ...

    def rekey(self, new_key: bytes) -> None: ...
    def backup(self, target: Path, on_progress: OnProgress | None = None) -> None:
        """Online copy under the same key, while reads and writes go on; the target is new and complete, or not there."""
        ...

    def check(self, *, deep: bool) -> list[str]:
        """What is wrong, in words; empty when all is well. Deep: reads every page (integrity_check)."""
        ...

    def stage(self, source: Path) -> Path:
        """Copy a backup's file beside the vault; answers the folder, in which the header to go with it is put.

        Raises VaultMissing, VaultDamaged (no vault at all), DiskFull, DiskReadOnly; nothing present is touched.
        """
        ...

    def discard_staged(self) -> None: ...
    def swap(self) -> Path:
        """End what is under way and take what is staged, file and header, instead of what is there.

        Answers the folder that keeps the latter; no later swap touches it. After a crash `resume_swap` finishes it. Calls get
        Busy until the vault is opened again.
        """
        ...

    def resume_swap(self) -> None: ...
    def export_sqlcipher(self, target: Path, passphrase: str) -> None:
        """Copy in SQLCipher 4 format, for other tools."""
        ...


class KeyHeader(Protocol):
    """The small file beside the vault: key slots, key check and token hashes; readable while the vault is locked.

    Every change is atomic and durable. The master key (32 bytes) is never written unwrapped.
    """

    @property
    def path(self) -> Path: ...
    def exists(self) -> bool: ...
    def create(self, *, resumed: bool = False) -> bytes:
        """A new header with a key-file slot; answers the new master key. Raises Conflict when one, or a key file, is there.

        `resumed`: a creation was cut off before, so a key file that stands there is put aside instead.
        """
        ...

    def vault_id(self) -> str: ...
    def slots(self) -> tuple[KeySlot, ...]: ...
    def unlock(self, secret: str | None = None) -> tuple[bytes, ...]:
        """The master key, by the automatic slots or by a passphrase or recovery key.

        Two keys, newest first, while a rekey is unfinished. Raises VaultMissing, VaultDamaged, WrongKey, VaultLocked (no
        automatic slot works and no secret was given).
        """
        ...

    def add_slot(self, master: bytes, kind: SlotKind, secret: str | None = None) -> str | None:
        """Add a way to open it; answers the recovery key for SlotKind.RECOVERY (shown once), else None."""
        ...

    def remove_slot(self, slot_id: str) -> None:
        """Raises NotFound, and Conflict for the last one."""
        ...

    def begin_rekey(self, master: bytes) -> bytes:
        """Wrap a new master key for every slot beside the old one; answers it."""
        ...

    def finish_rekey(self, master: bytes) -> None:
        """Keep only this master key."""
        ...

    def tokens(self) -> tuple[Token, ...]: ...
    def add_token(self, kind: TokenKind, name: str, user_id: str | None = None) -> tuple[Token, str]:
        """A new token and its secret, which is answered once and kept as a hash only."""
        ...

    def find_token(self, secret: str) -> Token | None:
        """The unrevoked token with that secret, in constant time; None when there is none."""
        ...

    def revoke_token(self, token_id: str) -> Token: ...
    def ensure_primary(self) -> None:
        """There is a primary token whose secret lies in the token file afterwards; one is made where there was none."""
        ...

    def primary_secret(self) -> str | None:
        """The primary token's secret from its own 0600 file, for the owner's own clients."""
        ...

    def copy_to(self, target: Path) -> None:
        """A durable 0600 copy of the header file, for a backup. The target must not exist."""
        ...

    def merge_into(self, source: Path, target: Path) -> None:
        """Write a backup's header with the present tokens beside its own: clients go on, and what was revoked since stays so.

        Raises VaultMissing and VaultDamaged for a source that is no header.
        """
        ...
