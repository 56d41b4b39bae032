"""The header file's format: what is written is what is read, to the byte, or the file counts as damaged."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from perdure.domain.access import Token
from perdure.domain.vault import KeySlot, SlotKind
from perdure.errors import VaultDamaged

FORMAT = 1
CIPHER = "aegis"

Salt = Annotated[bytes, Field(min_length=16, max_length=16)]
Key = Annotated[bytes, Field(min_length=32, max_length=32)]
WrappedKey = Annotated[bytes, Field(min_length=60, max_length=60)]
"""Nonce (12), private key (32), authentication tag (16)."""
Box = Annotated[bytes, Field(min_length=80, max_length=80)]
"""Ephemeral public key (32), master key (32), authentication tag (16)."""

_MAX_MEMORY_KIB = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Argon2Profile:
    """What one guess of a passphrase costs; bounded, so that a forged header cannot stall the machine."""

    time_cost: Annotated[int, Field(ge=1, le=64)]
    memory_kib: Annotated[int, Field(ge=8, le=_MAX_MEMORY_KIB)]
    lanes: Annotated[int, Field(ge=1, le=64)]

    def __post_init__(self) -> None:
        if self.memory_kib < 8 * self.lanes:
            raise ValueError("Argon2 needs 8 KiB of memory for each lane")


RECOMMENDED = Argon2Profile(time_cost=3, memory_kib=64 * 1024, lanes=4)
"""RFC 9106, second recommended option."""
CHEAPEST = Argon2Profile(time_cost=1, memory_kib=8, lanes=1)
"""For tests only."""


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Seal(Record):
    """One master key for one slot; the tag, under that master key, vouches for the slot and the box."""

    master_id: UUID
    box: Box
    tag: Key


class Slot(Record):
    """A key pair whose private half only the slot's secret unwraps, and the master keys sealed to its public half."""

    id: str
    kind: SlotKind
    created_at: datetime
    salt: Salt
    argon2: Argon2Profile | None
    public_key: Key
    wrapped_key: WrappedKey
    seals: tuple[Seal, ...] = ()

    def public(self) -> KeySlot:
        return KeySlot(id=self.id, kind=self.kind, created_at=self.created_at)


class Master(Record):
    """A master key that stands, known by its check; while a rekey is unfinished the older one vouches for the newer."""

    id: UUID
    created_at: datetime
    check: Key
    voucher: Key | None = None


class Document(Record):
    """The whole header; `masters` newest first, two of them while a rekey is unfinished."""

    format: int = FORMAT
    cipher: str = CIPHER
    vault_id: UUID
    created_at: datetime
    masters: tuple[Master, ...] = Field(min_length=1, max_length=2)
    slots: tuple[Slot, ...] = Field(min_length=1)
    tokens: tuple[Token, ...] = ()
    checksum: str = ""


def encode(document: Document) -> bytes:
    """The file's bytes; the checksum tells accidents, the tags and key checks tell intent."""
    checksum = hashlib.sha256(_json(document, "")).hexdigest()
    return _json(document, checksum)


def decode(raw: bytes) -> Document:
    """Raises VaultDamaged for anything that `encode` would not have written, and says so when a newer perdure wrote it."""
    try:
        version = _Version.model_validate_json(raw).format
        if version > FORMAT:
            raise VaultDamaged(
                f"The key header has format {version}, written by a newer perdure; this one reads up to format {FORMAT}. "
                "Nothing was changed. Install the newer version."
            )
        document = Document.model_validate_json(raw)
        same = version == FORMAT and encode(document) == raw
    except ValueError as error:  # pydantic's ValidationError is one
        raise _damaged() from error
    if not same:
        raise _damaged()
    return document


class _Version(BaseModel):
    format: int


def _json(document: Document, checksum: str) -> bytes:
    return document.model_copy(update={"checksum": checksum}).model_dump_json(indent=1).encode()


def _damaged() -> VaultDamaged:
    return VaultDamaged("The key header is damaged; nothing was changed. Restore it from a backup with `perdure vault restore`.")
