"""/api/vault: lock, keys, copies; for the primary token alone."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

from pydantic import Field

from perdure.domain.vault import SlotKind, VaultState
from perdure.errors import InvalidInput
from perdure.surfaces.rest.endpoint import Call, Given, endpoint
from perdure.surfaces.rest.shapes import Instant, Shape

ROOT = "/api/vault"
MAX_NAME_BYTES, MAX_PATH_BYTES = 255, 4000


class KeyShape(Shape):
    id: str
    kind: SlotKind
    created_at: Instant


class VaultShape(Shape):
    """`auto_locks`: whether it locks itself after `auto_lock_minutes`, which takes a passphrase and no automatic key."""

    state: VaultState
    vault_id: str | None
    path: str
    size_bytes: int
    cipher: str
    slots: tuple[KeyShape, ...]
    auto_lock_minutes: int | None
    auto_locks: bool = False


class StateShape(Shape):
    state: VaultState


class RestoredShape(StateShape):
    """`kept`: the folder with the vault that was there before."""

    kept: str


class KeyList(Shape):
    items: list[KeyShape]


class NewKey(Shape):
    """`recovery_key` is told this once, for the kind recovery."""

    recovery_key: str | None = None


class Faults(Shape):
    """What is wrong, in words; none when all is well."""

    faults: list[str]


class FolderShape(Shape):
    folder: str


class CopyShape(Shape):
    path: str


class SecretGiven(Given):
    secret: str | None = Field(None, description="A passphrase or recovery key, where no automatic key opens the vault.")


class FolderGiven(Given):
    folder: str = Field(description="An absolute path on the machine that perdure runs on.")


class RestoreGiven(FolderGiven, SecretGiven):
    pass


class CheckGiven(Given):
    deep: bool = Field(False, description="Read every page.")


class ExportGiven(Given):
    target: str = Field(description="An absolute path of a new file on the machine that perdure runs on.")
    passphrase: Annotated[str, Field(min_length=1)]


class KeyGiven(Given):
    kind: Annotated[SlotKind, Field(strict=False)]
    secret: str | None = Field(None, description="The new passphrase, for the kind passphrase.")
    unlock: str | None = Field(None, description="What opens the vault now, where no automatic key does.")


def absolute(raw: str, argument: str) -> Path:
    """A path as it was meant wherever the server was started. Raises InvalidInput for a relative one and one with `..`."""
    path = Path(raw)
    if not path.is_absolute() or ".." in path.parts or "\0" in raw:
        raise InvalidInput(f"{argument}: must be an absolute path without `..`", argument=argument)
    longest = max(len(os.fsencode(part)) for part in path.parts)
    if longest > MAX_NAME_BYTES or len(os.fsencode(raw)) > MAX_PATH_BYTES:
        raise InvalidInput(
            f"{argument}: may have {MAX_PATH_BYTES} bytes, and each name in it {MAX_NAME_BYTES}; {raw[:60]}… has more",
            argument=argument,
        )
    return path


async def outside(call: Call, raw: str, argument: str) -> Path:
    """Where a copy may go: anywhere but among the vault's own files, which a restore moves away as one. Raises InvalidInput."""
    path, folder = absolute(raw, argument), Path((await call.app.vault.status()).path).parent
    if await asyncio.to_thread(lambda: Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))):
        raise InvalidInput(f"{argument}: {path} lies in the vault's own folder; name a place outside it", argument=argument)
    return path


@endpoint("GET", ROOT, primary=True, works_locked=True)
async def vault_status(call: Call) -> VaultShape:
    """What the vault is and how it opens; works while it is locked."""
    status = await call.app.vault.status()
    auto_locks = bool(status.auto_lock_minutes) and call.app.vault.can_auto_lock
    return VaultShape.model_validate(status).model_copy(update={"auto_locks": auto_locks})


@endpoint("POST", f"{ROOT}/lock", primary=True, works_locked=True)
async def lock_vault(call: Call) -> StateShape:
    """Close the vault and forget its key."""
    await call.app.vault.lock()
    return StateShape(state=call.app.vault.state)


@endpoint("POST", f"{ROOT}/unlock", primary=True, works_locked=True)
async def unlock_vault(call: Call, body: SecretGiven) -> StateShape:
    """Open the vault."""
    return StateShape(state=await call.app.vault.unlock(body.secret))


@endpoint("POST", f"{ROOT}/rekey", primary=True)
async def rekey_vault(call: Call, body: SecretGiven) -> StateShape:
    """Encrypt everything under a new key; every way to open it stays."""
    await call.app.vault.rekey(body.secret)
    return StateShape(state=call.app.vault.state)


@endpoint("POST", f"{ROOT}/backup", status=201, primary=True)
async def backup_vault(call: Call, body: FolderGiven) -> FolderShape:
    """Copy the vault into a new folder, encrypted as it is, while work goes on."""
    return FolderShape(folder=str(await call.app.vault.backup(await outside(call, body.folder, "folder"))))


@endpoint("POST", f"{ROOT}/restore", primary=True, works_locked=True)
async def restore_vault(call: Call, body: RestoreGiven) -> RestoredShape:
    """Take a backup instead of the present vault, which is kept in a folder of its own."""
    kept = await call.app.vault.restore(absolute(body.folder, "folder"), body.secret)
    return RestoredShape(state=call.app.vault.state, kept=str(kept))


@endpoint("POST", f"{ROOT}/check", primary=True)
async def check_vault(call: Call, body: CheckGiven) -> Faults:
    """Check the vault's file."""
    return Faults(faults=await call.app.vault.check(deep=body.deep))


@endpoint("POST", f"{ROOT}/export-sqlcipher", status=201, primary=True)
async def export_sqlcipher(call: Call, body: ExportGiven) -> CopyShape:
    """A copy in SQLCipher 4 format, for other tools."""
    target = await outside(call, body.target, "target")
    await call.app.vault.export_sqlcipher(target, body.passphrase)
    return CopyShape(path=str(target))


@endpoint("GET", f"{ROOT}/keys", primary=True, works_locked=True)
async def list_keys(call: Call) -> KeyList:
    """The ways to open the vault, without their secrets."""
    return _keys(call)


def _keys(call: Call) -> KeyList:
    return KeyList(items=[KeyShape.model_validate(slot) for slot in call.app.vault.slots()])


@endpoint("POST", f"{ROOT}/keys", status=201, primary=True, works_locked=True)
async def add_key(call: Call, body: KeyGiven) -> NewKey:
    """Add a way to open the vault."""
    return NewKey(recovery_key=await call.app.vault.add_key(body.kind, secret=body.secret, unlock=body.unlock))


@endpoint("DELETE", f"{ROOT}/keys/{{key_id}}", primary=True, works_locked=True)
async def remove_key(call: Call, key_id: str) -> KeyList:
    """Remove a way to open the vault; the last one stays."""
    await call.app.vault.remove_key(key_id)
    return _keys(call)


ENDPOINTS = (
    vault_status, lock_vault, unlock_vault, rekey_vault, backup_vault, restore_vault, check_vault, export_sqlcipher,
    list_keys, add_key, remove_key,
)  # fmt: skip
