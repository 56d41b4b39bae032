"""What a person types to open the vault, and what is said when it does not."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.domain.vault import SlotKind
from perdure.engines.header.document import Document, Slot
from perdure.engines.header.recovery import looks_like_recovery_key, parse_recovery_key
from perdure.engines.header.sealing import normalised_passphrase, passphrase_bytes
from perdure.errors import InvalidInput, WrongKey

MIN_PASSPHRASE_CHARS = 8


def by_person(document: Document, secret: str) -> Iterator[tuple[Slot, bytes]]:
    recovery = parse_recovery_key(secret)
    for slot in document.slots:
        if slot.kind is SlotKind.RECOVERY and recovery is not None:
            yield slot, recovery
    for slot in document.slots:  # after the recovery slots, for each of these costs an Argon2 run
        if slot.kind is SlotKind.PASSPHRASE:
            yield slot, passphrase_bytes(secret)


def checked_passphrase(kind: SlotKind, secret: str | None) -> str | None:
    if kind is not SlotKind.PASSPHRASE:
        if secret is not None:
            raise InvalidInput(f"secret: a {kind} slot makes its own; give one for a passphrase slot only", argument="secret")
        return None
    if secret is None or len(normalised_passphrase(secret).strip()) < MIN_PASSPHRASE_CHARS:
        raise InvalidInput(
            f"passphrase: must have at least {MIN_PASSPHRASE_CHARS} characters; four or more random words are better",
            argument="passphrase",
        )
    return secret


def wrong_secret(document: Document, secret: str) -> WrongKey:
    kinds = {slot.kind for slot in document.slots}
    if not kinds & {SlotKind.PASSPHRASE, SlotKind.RECOVERY}:
        return WrongKey("This vault has no passphrase or recovery key: it opens by its key file or the system's keyring.")
    if SlotKind.RECOVERY in kinds and looks_like_recovery_key(secret) and parse_recovery_key(secret) is None:
        return WrongKey(
            "That recovery key is mistyped: its check does not fit. Nothing was changed; compare it letter by letter."
        )
    return WrongKey()


def how_to_unlock(document: Document) -> str:
    kinds = {slot.kind for slot in document.slots}
    ways = []
    if SlotKind.PASSPHRASE in kinds:
        ways.append("give its passphrase")
    if SlotKind.RECOVERY in kinds:
        ways.append("give its recovery key")
    if SlotKind.KEY_FILE in kinds:
        ways.append("put its key file back in its place")
    if SlotKind.KEYRING in kinds:
        ways.append("make the system's keyring available")
    return f"The vault is locked: {' or '.join(ways)}, with `perdure vault unlock`."
