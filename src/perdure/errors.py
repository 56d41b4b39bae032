"""One tree of errors: each class has one stable code, and its docstring is its default message.

Errors are raised where the rule is known and rendered where the family is known, nowhere between. A message names what was
wrong, what is allowed and what to do next; it never carries stored text, keys or tokens.
"""

from __future__ import annotations

from typing import ClassVar


class PerdureError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, **details: object) -> None:
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.details = details
        super().__init__(self.message)


class InvalidInput(PerdureError):
    """The input is not valid."""

    code = "invalid_input"
    status = 422


class NotFound(PerdureError):
    """There is nothing under that name."""

    code = "not_found"
    status = 404


class ItemMissing(NotFound):
    """No memory has that id in your spaces; ids come from captures, searches and lists."""

    code = "item_missing"


class ProjectMissing(NotFound):
    """No project has that name, slug or id; cortexa_list_projects lists them."""

    code = "project_missing"


class Unauthorized(PerdureError):
    """A token is needed: send it as `Authorization: Bearer …`; `perdure token show primary` prints yours."""

    code = "unauthorized"
    status = 401


class Forbidden(PerdureError):
    """This token may not do that."""

    code = "forbidden"
    status = 403


class PrimaryOnly(Forbidden):
    """this tool requires the primary API token"""


class VaultLocked(PerdureError):
    """The vault is locked; unlock it with `perdure vault unlock` (`perdure doctor` says why it did not open by itself)."""

    code = "vault_locked"
    status = 423


class WrongKey(VaultLocked):
    """The key does not open this vault; nothing was changed. Use the right passphrase, key file or recovery key."""


class VaultDamaged(PerdureError):
    """The vault file is damaged; nothing was changed. Restore a backup with `perdure vault restore`."""

    code = "vault_damaged"
    status = 500


class VaultMissing(PerdureError):
    """There is no vault at that place; nothing was created."""

    code = "vault_missing"
    status = 404


class Conflict(PerdureError):
    """It was changed meanwhile."""

    code = "conflict"
    status = 409


class TooLarge(PerdureError):
    """The request is too large."""

    code = "too_large"
    status = 413


class RateLimited(PerdureError):
    """Too many requests; wait a moment and try again."""

    code = "rate_limited"
    status = 429


class Busy(PerdureError):
    """perdure is busy; try again in a moment."""

    code = "busy"
    status = 503


class Timeout(PerdureError):
    """It took too long and was stopped; nothing was changed."""

    code = "timeout"
    status = 504


class DiskFull(PerdureError):
    """The disk is full: nothing of this call was stored, everything stored before is safe. Free some space and try again."""

    code = "disk_full"
    status = 507


class DiskReadOnly(PerdureError):
    """The vault's folder cannot be written: nothing of this call was stored. Make it writable and try again."""

    code = "disk_read_only"
    status = 507


class ProviderUnavailable(PerdureError):
    """The model's service does not answer."""

    code = "provider_unavailable"
    status = 503


class Internal(PerdureError):
    """Something went wrong inside perdure; the log entry of that id tells more."""

    code = "internal"
    status = 500
