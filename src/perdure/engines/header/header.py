"""FileKeyHeader: the small file that opens the vault and knows its callers, readable while the vault is locked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

from perdure.domain.access import Token, TokenKind
from perdure.domain.vault import AUTOMATIC_SLOTS, KeySlot, SlotKind
from perdure.engines.header.automatic import AutomaticSecrets, Keyring
from perdure.engines.header.document import Argon2Profile, Document, Master, Slot, decode, encode
from perdure.engines.header.files import Stamp, create_file, delete_file, locked, make_folder, read_file, replace_file, stamp_of
from perdure.engines.header.person import by_person, checked_passphrase, how_to_unlock, wrong_secret
from perdure.engines.header.recovery import RECOVERY_BYTES, format_recovery_key
from perdure.engines.header.sealing import (
    KEY_BYTES,
    key_check,
    open_masters,
    passphrase_bytes,
    private_key,
    require_master,
    voucher,
    with_key_pair,
    with_seal,
)
from perdure.engines.header.tokens import live_by_digest, match_token, new_token, token_digest
from perdure.errors import Conflict, NotFound, VaultDamaged, VaultLocked, VaultMissing, WrongKey

_UNSET = bytes(KEY_BYTES)


@dataclass(frozen=True, slots=True)
class _Cached:
    stamp: Stamp
    document: Document
    live: Mapping[str, Token]


class FileKeyHeader:
    """`ports.vault.KeyHeader` in one JSON file; threads and processes may share it.

    Readers take no lock, because a change replaces the whole file at once. Removing a slot does not change the master key: who
    once opened the vault through that slot may have kept it, so rekey after removing one for that reason.
    """

    def __init__(
        self,
        path: Path,
        *,
        key_file: Path,
        token_file: Path,
        profile: Argon2Profile,
        clock: Callable[[], datetime],
        keyring: Keyring | None = None,
    ) -> None:
        self._path = path
        self._token_file = token_file
        self._profile = profile
        self._clock = clock
        self._automatic = AutomaticSecrets(key_file, keyring)
        self._cached: _Cached | None = None

    @property
    def path(self) -> Path:
        return self._path

    def exists(self) -> bool:
        return self._path.exists()

    def create(self, *, resumed: bool = False) -> bytes:
        """A new header with a key-file slot and a primary token; answers the new master key (32 bytes).

        Raises Conflict when a header or a key file is there. The header is written last: a crash before leaves no vault, and
        `resumed` then puts the key file it left aside.
        """
        for folder in (self._path.parent, self._token_file.parent):
            make_folder(folder)
        with locked(self._lock_path), ExitStack() as undo:
            if self.exists():
                raise Conflict(f"There is a key header already at {self._path}; nothing was changed.")
            if resumed:
                self._automatic.put_aside()
            master = os.urandom(KEY_BYTES)
            vault_id, now = uuid4(), self._now()
            slot, _ = self._new_slot(SlotKind.KEY_FILE, vault_id=vault_id, undo=undo)
            document = Document(vault_id=vault_id, created_at=now, masters=(_blank_master(now),), slots=(slot,))
            token, secret = new_token(TokenKind.PRIMARY, "primary", created_at=now)
            replace_file(self._token_file, secret.encode())
            self._write(_with_master(document, master).model_copy(update={"tokens": (token,)}))
            undo.pop_all()
        return master

    def vault_id(self) -> str:
        return str(self._read().vault_id)

    def slots(self) -> tuple[KeySlot, ...]:
        return tuple(slot.public() for slot in self._read().slots)

    def unlock(self, secret: str | None = None) -> tuple[bytes, ...]:
        """The master key; two, newest first, while a rekey is unfinished. A given secret is tried alone.

        Raises VaultMissing, VaultDamaged, WrongKey, and VaultLocked when no slot opens by itself and no secret was given.
        """
        document = self._read()
        found_one = False
        for slot, candidate in by_person(document, secret) if secret is not None else self._by_itself(document):
            found_one = True
            private = private_key(slot, candidate, vault_id=document.vault_id)
            if private is not None:
                return open_masters(slot, private, document=document)
        if secret is not None:
            raise wrong_secret(document, secret)
        if found_one:
            raise WrongKey()
        raise VaultLocked(how_to_unlock(document))

    def add_slot(self, master: bytes, kind: SlotKind, secret: str | None = None) -> str | None:
        """Add a way to open it; answers the recovery key for SlotKind.RECOVERY, which is shown once.

        `secret` is the passphrase of SlotKind.PASSPHRASE (at least 8 characters). Raises InvalidInput, WrongKey, Conflict
        (a second automatic slot of that kind, a key file that is there, an unfinished rekey) and ProviderUnavailable.
        """
        passphrase = checked_passphrase(kind, secret)
        with self._changing() as document, ExitStack() as undo:
            _refuse_unfinished_rekey(document)
            entry = require_master(document, master)
            if kind in AUTOMATIC_SLOTS and any(slot.kind is kind for slot in document.slots):
                raise Conflict(f"There is a {kind} slot already; remove it first with `perdure vault key remove`.")
            slot, recovery_key = self._new_slot(kind, passphrase, vault_id=document.vault_id, undo=undo)
            sealed = with_seal(slot, master, master_id=entry.id, document=document)
            self._write(document.model_copy(update={"slots": (*document.slots, sealed)}))
            undo.pop_all()
        return recovery_key

    def remove_slot(self, slot_id: str) -> None:
        """Also forgets the slot's key file or keyring entry. Raises NotFound, and Conflict for the last slot."""
        with self._changing() as document:
            removed = next((slot for slot in document.slots if slot.id == slot_id), None)
            if removed is None:
                raise NotFound("No key slot has that id; `perdure vault key list` shows them.")
            rest = tuple(slot for slot in document.slots if slot.id != slot_id)
            if not rest:
                raise Conflict("The last key slot cannot be removed: nothing would open the vault. Add another one first.")
            self._write(document.model_copy(update={"slots": rest}))
            stored = self._automatic.read(removed.kind, _keyring_name(document.vault_id, slot_id))
            # A key file that opens another vault may have taken this one's place: it stays.
            if stored is not None and private_key(removed, stored, vault_id=document.vault_id) is not None:
                self._automatic.delete(removed.kind, _keyring_name(document.vault_id, slot_id))

    def begin_rekey(self, master: bytes) -> bytes:
        """Seal a new master key for every slot, beside the old one; answers it. Raises WrongKey, VaultDamaged, Conflict."""
        with self._changing() as document:
            _refuse_unfinished_rekey(document)
            require_master(document, master)  # and every slot: nothing is sealed to a key pair nobody vouches for
            new_master = os.urandom(KEY_BYTES)
            both = _with_master(document.model_copy(update={"masters": (_blank_master(self._now()),)}), new_master)
            newer = both.masters[0]
            newer = newer.model_copy(update={"voucher": voucher(newer, master)})
            self._write(both.model_copy(update={"masters": (newer, *document.masters)}))
        return new_master

    def finish_rekey(self, master: bytes) -> None:
        """Keep only this master key: the one that opens the vault. Raises WrongKey."""
        with self._changing() as document:
            kept = require_master(document, master)
            slots = tuple(
                slot.model_copy(update={"seals": tuple(seal for seal in slot.seals if seal.master_id == kept.id)})
                for slot in document.slots
            )
            self._write(document.model_copy(update={"masters": (kept.model_copy(update={"voucher": None}),), "slots": slots}))

    def tokens(self) -> tuple[Token, ...]:
        return self._read().tokens

    def add_token(self, kind: TokenKind, name: str, user_id: str | None = None) -> tuple[Token, str]:
        """A new token and its secret, answered once; a primary one also takes the place of the one in the token file."""
        with self._changing() as document:
            token, secret = new_token(kind, name, created_at=self._now(), user_id=user_id)
            self._write(document.model_copy(update={"tokens": (*document.tokens, token)}))
            if kind is TokenKind.PRIMARY:  # after the header: a crash between leaves the older one, which still works
                make_folder(self._token_file.parent)
                replace_file(self._token_file, secret.encode())
        return token, secret

    def find_token(self, secret: str) -> Token | None:
        """The unrevoked token with that secret: one `stat` and one look-up while the file has not changed."""
        return match_token(self._load().live, secret)

    def revoke_token(self, token_id: str) -> Token:
        """The token, revoked now or earlier; a revoked primary secret also leaves the token file. Raises NotFound."""
        with self._changing() as document:
            token = next((token for token in document.tokens if token.id == token_id), None)
            if token is None:
                raise NotFound("No token has that id; `perdure token list` shows them.")
            if token.revoked_at is not None:
                return token
            revoked = replace(token, revoked_at=self._now())
            tokens = tuple(revoked if other.id == token_id else other for other in document.tokens)
            self._write(document.model_copy(update={"tokens": tokens}))
            secret = self.primary_secret()
            if secret is not None and token_digest(secret) == token.digest:
                delete_file(self._token_file)
        return revoked

    def ensure_primary(self) -> None:
        secret = self.primary_secret()
        found = self.find_token(secret) if secret is not None else None
        if found is None or found.kind is not TokenKind.PRIMARY:
            self.add_token(TokenKind.PRIMARY, "primary")

    def primary_secret(self) -> str | None:
        """The primary token's secret from its own 0600 file; None when there is none to read."""
        try:
            return self._token_file.read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def copy_to(self, target: Path) -> None:
        """A durable copy of mode 0600, for a backup. Raises Conflict when the target is there."""
        document = self._read()
        try:
            create_file(target, encode(document))
        except FileExistsError as error:
            raise Conflict(f"{target} is there already; nothing was changed. Name a new file.") from error

    def merge_into(self, source: Path, target: Path) -> None:
        """Write a backup's header to `target`, with the present tokens beside its own.

        So clients go on, and no token revoked since comes back to life. Raises VaultMissing and VaultDamaged for a source that is
        no header.
        """
        document, _ = _read_document(source)
        present = self._present_tokens()
        known = {token.id for token in present}
        tokens = (*present, *(token for token in document.tokens if token.id not in known))
        replace_file(target, encode(document.model_copy(update={"tokens": tokens})))

    @property
    def _lock_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.lock")

    def _now(self) -> datetime:
        return self._clock().astimezone(UTC)

    def _read(self) -> Document:
        return self._load().document

    def _load(self) -> _Cached:
        cached = self._cached
        if cached is not None and cached.stamp == _stamp(self._path):
            return cached
        document, stamp = _read_document(self._path)
        self._cached = cached = _Cached(stamp, document, live_by_digest(document.tokens))
        return cached

    def _present_tokens(self) -> tuple[Token, ...]:
        try:
            return self.tokens()
        except (VaultMissing, VaultDamaged):  # what a restore is there to mend
            return ()

    @contextmanager
    def _changing(self) -> Iterator[Document]:
        """The document as it stands, with the lock held; a missing or damaged header raises before a lock file is made."""
        self._load()
        with locked(self._lock_path):
            yield self._read()

    def _write(self, document: Document) -> None:
        replace_file(self._path, encode(document))

    def _new_slot(
        self, kind: SlotKind, passphrase: str | None = None, *, vault_id: UUID, undo: ExitStack
    ) -> tuple[Slot, str | None]:
        """A slot without seals, and its recovery key if it is one; `undo` forgets what was stored for it."""
        slot_id = str(uuid4())
        recovery_key = None
        if kind is SlotKind.RECOVERY:
            secret = os.urandom(RECOVERY_BYTES)
            recovery_key = format_recovery_key(secret)
        elif passphrase is not None:
            secret = passphrase_bytes(passphrase)
        else:
            name = _keyring_name(vault_id, slot_id)
            secret = self._automatic.create(kind, name)
            undo.callback(self._automatic.delete, kind, name)
        slot = Slot(
            id=slot_id,
            kind=kind,
            created_at=self._now(),
            salt=os.urandom(16),
            argon2=self._profile if kind is SlotKind.PASSPHRASE else None,
            public_key=_UNSET,
            wrapped_key=bytes(60),
        )
        return with_key_pair(slot, secret, vault_id=vault_id), recovery_key

    def _by_itself(self, document: Document) -> Iterator[tuple[Slot, bytes]]:
        for slot in document.slots:
            if slot.kind in AUTOMATIC_SLOTS:
                secret = self._automatic.read(slot.kind, _keyring_name(document.vault_id, slot.id))
                if secret is not None:
                    yield slot, secret


def _read_document(path: Path) -> tuple[Document, Stamp]:
    try:
        raw, stamp = read_file(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise VaultMissing(f"There is no {path.name} in {path.parent}; nothing was created.") from error
    except OSError as error:
        raise VaultDamaged(
            f"The key header at {path} cannot be read; nothing was changed. Check that it is a file of yours (mode 0600), "
            "or restore it from a backup with `perdure vault restore`."
        ) from error
    return decode(raw), stamp


def _stamp(path: Path) -> Stamp | None:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None


def _blank_master(created_at: datetime) -> Master:
    return Master(id=uuid4(), created_at=created_at, check=_UNSET)


def _with_master(document: Document, master: bytes) -> Document:
    """The document's only, blank master becomes this key: checked, and sealed for every slot."""
    blank = document.masters[0]
    entry = blank.model_copy(update={"check": key_check(blank.id, master, document=document)})
    slots = tuple(with_seal(slot, master, master_id=entry.id, document=document) for slot in document.slots)
    return document.model_copy(update={"masters": (entry,), "slots": slots})


def _refuse_unfinished_rekey(document: Document) -> None:
    if len(document.masters) > 1:
        raise Conflict("A rekey is unfinished; unlock the vault once to finish it, then try again.")


def _keyring_name(vault_id: UUID, slot_id: str) -> str:
    return f"{vault_id}/{slot_id}"
