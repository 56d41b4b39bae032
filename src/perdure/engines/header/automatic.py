"""The secrets that open a vault without a person: 32 random bytes in a private file or in the system's keyring."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Protocol

from perdure.domain.vault import SlotKind
from perdure.engines.header.files import create_file, delete_file, make_folder, read_file
from perdure.errors import Conflict, ProviderUnavailable

_SECRET_BYTES = 32


class Keyring(Protocol):
    """The system's keyring. Each method raises ProviderUnavailable where there is none that keeps a secret."""

    def get(self, name: str) -> str | None: ...
    def set(self, name: str, secret: str) -> None: ...
    def delete(self, name: str) -> None:
        """Fine when it is gone already."""
        ...


class AutomaticSecrets:
    """One key file, and one entry per slot in the keyring."""

    def __init__(self, key_file: Path, keyring: Keyring | None) -> None:
        self._key_file = key_file
        self._keyring = keyring

    def put_aside(self) -> None:
        """A key file that belongs to no header here is kept under another name: it may be all that opens some other vault."""
        with contextlib.suppress(FileNotFoundError):
            self._key_file.replace(self._key_file.with_name(f"{self._key_file.name}.unused"))

    def create(self, kind: SlotKind, name: str) -> bytes:
        """A new secret, stored. Raises Conflict when a key file is there: it may open another vault."""
        secret = os.urandom(_SECRET_BYTES)
        if kind is SlotKind.KEYRING:
            self._require_keyring().set(name, secret.hex())
            return secret
        make_folder(self._key_file.parent)
        try:
            create_file(self._key_file, secret)
        except FileExistsError as error:
            raise Conflict(
                f"There is a key file already at {self._key_file}, and it may open another vault; nothing was changed. "
                "Move it to a safe place, then try again."
            ) from error
        return secret

    def read(self, kind: SlotKind, name: str) -> bytes | None:
        """The secret, or None when it is not there or cannot be reached now."""
        try:
            if kind is SlotKind.KEY_FILE:
                return read_file(self._key_file)[0]
            stored = self._keyring.get(name) if self._keyring else None
        except (OSError, ProviderUnavailable):
            return None
        return _from_hex(stored) if stored is not None else None

    def delete(self, kind: SlotKind, name: str) -> None:
        if kind is SlotKind.KEY_FILE:
            delete_file(self._key_file)
        elif self._keyring:
            self._keyring.delete(name)

    def _require_keyring(self) -> Keyring:
        if self._keyring is None:
            raise ProviderUnavailable("This perdure runs without the system's keyring; use a key file or a passphrase.")
        return self._keyring


def _from_hex(stored: str) -> bytes:
    try:
        return bytes.fromhex(stored)
    except ValueError:
        return b""  # somebody else's entry under our name: a secret that opens nothing
