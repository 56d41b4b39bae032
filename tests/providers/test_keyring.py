"""The system's keyring: used where it keeps secrets encrypted, refused by name where it does not."""

from __future__ import annotations

from collections.abc import Callable

import keyring
import pytest
from keyring.backends.fail import Keyring as FailKeyring
from keyring.backends.null import Keyring as NullKeyring
from keyring.errors import KeyringLocked, PasswordDeleteError

from perdure.errors import ProviderUnavailable
from perdure.providers.keyring import SystemKeyring


class _StrongKeyring:
    """Counts as the Secret Service by its module. No KeyringBackend: those enlist themselves for the whole process."""

    __module__ = "keyring.backends.SecretService"

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise KeyringLocked
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.locked:
            raise KeyringLocked
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError


class _PlaintextKeyring(_StrongKeyring):
    __module__ = "keyrings.alt.file"


class _Chain:
    __module__ = "keyring.backends.chainer"

    def __init__(self, *backends: object) -> None:
        self.backends = backends

    def get_password(self, service: str, username: str) -> str | None:
        raise AssertionError("a chain falls back to weaker keyrings")


def _use(monkeypatch: pytest.MonkeyPatch, backend: object) -> SystemKeyring:
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)
    return SystemKeyring()


def _calls(system: SystemKeyring) -> tuple[Callable[[], object], ...]:
    return lambda: system.get("n"), lambda: system.set("n", "s"), lambda: system.delete("n")


def test_a_secret_comes_back_and_goes_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = _StrongKeyring()
    system = _use(monkeypatch, backend)
    assert system.is_usable()
    assert system.get("vault/slot") is None
    system.set("vault/slot", "c0ffee")
    assert system.get("vault/slot") == "c0ffee"
    assert backend.entries == {("perdure", "vault/slot"): "c0ffee"}
    system.delete("vault/slot")
    system.delete("vault/slot")
    assert backend.entries == {}


@pytest.mark.parametrize("make", [FailKeyring, NullKeyring, _PlaintextKeyring, lambda: _Chain(_PlaintextKeyring())])
def test_a_keyring_that_keeps_nothing_or_keeps_it_plain_is_refused(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], object]
) -> None:
    system = _use(monkeypatch, make())
    assert not system.is_usable()
    for call in _calls(system):
        with pytest.raises(ProviderUnavailable, match="key file or a passphrase"):
            call()


def test_in_a_chain_the_encrypted_keyring_alone_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, strong = _PlaintextKeyring(), _StrongKeyring()
    system = _use(monkeypatch, _Chain(plain, strong))
    system.set("n", "s")
    assert system.get("n") == "s"
    assert plain.entries == {}


def test_a_locked_keyring_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = _StrongKeyring()
    backend.locked = True
    system = _use(monkeypatch, backend)
    for call in _calls(system):
        with pytest.raises(ProviderUnavailable, match="locked"):
            call()
