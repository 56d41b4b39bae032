"""The header's cryptography: slot keys from secrets, master keys sealed to slots, and tags that vouch for both.

A slot is a key pair rather than a wrapped master key, so that a rekey can seal a new master key for every slot without
knowing a passphrase or a recovery key. Every use of a key carries its own label, vault id and slot id.
"""

from __future__ import annotations

import hmac
import os
import unicodedata
from uuid import UUID

from argon2.exceptions import HashingError
from argon2.low_level import Type, hash_secret_raw
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from perdure.engines.header.document import Document, Master, Seal, Slot
from perdure.errors import Busy, VaultDamaged, WrongKey

KEY_BYTES = 32
_NONCE_BYTES = 12
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def normalised_passphrase(passphrase: str) -> str:
    """The same text however the keyboard composed its letters (NFKC)."""
    return unicodedata.normalize("NFKC", passphrase)


def passphrase_bytes(passphrase: str) -> bytes:
    """What is hashed; lone surrogates, which a terminal's stray bytes become, are kept rather than refused."""
    return normalised_passphrase(passphrase).encode("utf-8", "surrogatepass")


def with_key_pair(slot: Slot, secret: bytes, *, vault_id: UUID) -> Slot:
    """The slot with a new key pair, its private half wrapped by the secret."""
    private = X25519PrivateKey.generate()
    nonce = os.urandom(_NONCE_BYTES)
    wrapped = ChaCha20Poly1305(_slot_key(slot, secret)).encrypt(nonce, private.private_bytes_raw(), _label(slot, vault_id))
    return slot.model_copy(update={"public_key": private.public_key().public_bytes_raw(), "wrapped_key": nonce + wrapped})


def private_key(slot: Slot, secret: bytes, *, vault_id: UUID) -> X25519PrivateKey | None:
    """The slot's private key, or None when the secret is another one."""
    nonce, wrapped = slot.wrapped_key[:_NONCE_BYTES], slot.wrapped_key[_NONCE_BYTES:]
    try:
        raw = ChaCha20Poly1305(_slot_key(slot, secret)).decrypt(nonce, wrapped, _label(slot, vault_id))
    except InvalidTag:
        return None
    return X25519PrivateKey.from_private_bytes(raw)


def with_seal(slot: Slot, master: bytes, *, master_id: UUID, document: Document) -> Slot:
    """The slot with this master key sealed to it. The caller has verified the slot, or has just made it."""
    public = X25519PublicKey.from_public_bytes(slot.public_key)
    box = _SUITE.encrypt(master, public, info=_label(slot, document.vault_id, master_id=master_id))
    seal = Seal(master_id=master_id, box=box, tag=_tag(slot, box, master=master, master_id=master_id, vault_id=document.vault_id))
    return slot.model_copy(update={"seals": (*slot.seals, seal)})


def open_masters(slot: Slot, private: X25519PrivateKey, *, document: Document) -> tuple[bytes, ...]:
    """Every standing master key, newest first, with every slot verified. Raises VaultDamaged."""
    masters = tuple(_open_master(slot, private, entry=entry, document=document) for entry in document.masters)
    for entry, older in zip(document.masters, masters[1:], strict=False):
        # Anyone can seal a key of their own to a public key; only a holder of the older one can vouch for it.
        if entry.voucher is None or not hmac.compare_digest(entry.voucher, voucher(entry, older)):
            raise _altered()
    return masters


def verify(entry: Master, master: bytes, *, document: Document) -> None:
    """Raises VaultDamaged when the header's constants or any slot are not as a holder of this master key wrote them."""
    if not hmac.compare_digest(entry.check, key_check(entry.id, master, document=document)):
        raise _altered()
    for slot in document.slots:
        seal = _seal_of(slot, entry.id)
        expected = _tag(slot, seal.box, master=master, master_id=entry.id, vault_id=document.vault_id)
        if not hmac.compare_digest(seal.tag, expected):
            raise _altered()


def require_master(document: Document, master: bytes) -> Master:
    """The entry of this master key, everything verified. Raises WrongKey when it is none that stands, and VaultDamaged."""
    for entry in document.masters:
        if hmac.compare_digest(entry.check, key_check(entry.id, master, document=document)):
            verify(entry, master, document=document)
            return entry
    raise WrongKey()


def key_check(master_id: UUID, master: bytes, *, document: Document) -> bytes:
    """Known only to holders of the master key; it also covers what never changes in the header."""
    constants = f"{document.format}|{document.cipher}|{document.vault_id}|{document.created_at.isoformat()}|{master_id}"
    return hmac.digest(_authentication_key(master), b"check|" + constants.encode(), "sha256")


def voucher(entry: Master, older: bytes) -> bytes:
    """What shows that a holder of the older master key chose this newer one."""
    return hmac.digest(_authentication_key(older), b"next|" + entry.id.bytes + entry.check, "sha256")


def _open_master(slot: Slot, private: X25519PrivateKey, *, entry: Master, document: Document) -> bytes:
    try:
        label = _label(slot, document.vault_id, master_id=entry.id)
        master = _SUITE.decrypt(_seal_of(slot, entry.id).box, private, info=label)
    except (InvalidTag, ValueError) as error:
        raise _altered() from error
    verify(entry, master, document=document)
    return master


def _seal_of(slot: Slot, master_id: UUID) -> Seal:
    for seal in slot.seals:
        if seal.master_id == master_id:
            return seal
    raise _altered()


def _tag(slot: Slot, box: bytes, *, master: bytes, master_id: UUID, vault_id: UUID) -> bytes:
    slot_text = slot.model_dump_json(exclude={"seals"})  # JSON text holds no NUL, so the parts cannot be shifted
    text = f"slot\0{vault_id}\0{master_id}\0{slot_text}\0".encode()
    return hmac.digest(_authentication_key(master), text + box, "sha256")


def _authentication_key(master: bytes) -> bytes:
    """Its own key, so that nothing in the header is computed with the key that encrypts the vault."""
    return HKDFExpand(SHA256(), KEY_BYTES, b"perdure/1/header-authentication").derive(master)


def _slot_key(slot: Slot, secret: bytes) -> bytes:
    """Argon2id for what people think up; HKDF for what is random already."""
    if slot.argon2 is None:
        return HKDF(SHA256(), KEY_BYTES, slot.salt, f"perdure/1/slot/{slot.kind}".encode()).derive(secret)
    try:
        return hash_secret_raw(
            secret,
            slot.salt,
            time_cost=slot.argon2.time_cost,
            memory_cost=slot.argon2.memory_kib,
            parallelism=slot.argon2.lanes,
            hash_len=KEY_BYTES,
            type=Type.ID,
        )
    except HashingError as error:
        raise Busy("There is not enough free memory to check the passphrase; close some programs and try again.") from error


def _label(slot: Slot, vault_id: UUID, *, master_id: UUID | None = None) -> bytes:
    return f"perdure/1/{vault_id}/{slot.kind}/{slot.id}/{master_id or 'private-key'}".encode()


def _altered() -> VaultDamaged:
    return VaultDamaged(
        "The key header does not match its own seals: it was altered or mixed with another vault's. Nothing was changed. "
        "Restore it from a backup with `perdure vault restore`."
    )
