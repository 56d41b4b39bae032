"""SystemKeyring: secrets in the operating system's own keyring, and nowhere weaker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.errors import ProviderUnavailable

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_SERVICE = "perdure"
# An allow list: the fail and null backends keep nothing, and those of keyrings.alt keep plain files.
_STRONG_MODULES = (
    "keyring.backends.macOS",
    "keyring.backends.SecretService",
    "keyring.backends.libsecret",
    "keyring.backends.kwallet",
    "keyring.backends.Windows",
)


class SystemKeyring:
    """Keeps text under a name. Each method raises ProviderUnavailable where no usable keyring answers."""

    def get(self, name: str) -> str | None:
        from keyring.errors import KeyringError  # noqa: PLC0415 - see _backend

        try:
            return _backend().get_password(_SERVICE, name)
        except KeyringError as error:
            raise _unavailable() from error

    def set(self, name: str, secret: str) -> None:
        from keyring.errors import KeyringError  # noqa: PLC0415 - see _backend

        try:
            _backend().set_password(_SERVICE, name, secret)
        except KeyringError as error:
            raise _unavailable() from error

    def delete(self, name: str) -> None:
        """Fine when it is gone already."""
        from keyring.errors import KeyringError, PasswordDeleteError  # noqa: PLC0415 - see _backend

        try:
            _backend().delete_password(_SERVICE, name)
        except PasswordDeleteError:
            return
        except KeyringError as error:
            raise _unavailable() from error

    def is_usable(self) -> bool:
        """Whether this machine has a keyring that keeps secrets encrypted; nothing is stored to find out."""
        try:
            _backend()
        except ProviderUnavailable:
            return False
        return True


def _backend() -> KeyringBackend:
    """The best backend that keeps secrets encrypted, looked for inside a chain too."""
    # It loads every installed backend (80 ms, and it asks the session bus), and most vaults have no keyring slot.
    import keyring  # noqa: PLC0415 - imported on use only, see above

    chosen = keyring.get_keyring()
    for backend in getattr(chosen, "backends", (chosen,)):
        if type(backend).__module__ in _STRONG_MODULES:
            found: KeyringBackend = backend
            return found
    raise _unavailable()


def _unavailable() -> ProviderUnavailable:
    return ProviderUnavailable(
        "The system's keyring cannot be used here: it is missing, locked or keeps secrets unencrypted. "
        "Unlock it, or use a key file or a passphrase."
    )
