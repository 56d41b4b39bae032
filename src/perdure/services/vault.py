"""The vault's life: created, opened, locked, backed up, restored, checked (SEMANTICS 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from perdure.domain.vault import AUTOMATIC_SLOTS, KeySlot, SlotKind, VaultState, VaultStatus
from perdure.errors import Conflict, InvalidInput, PerdureError, VaultDamaged, VaultLocked, VaultMissing, WrongKey
from perdure.ports.vault import KeyHeader, OnProgress, VaultEngine
from perdure.services.settings import SettingsService

VAULT_FILE = "vault.db"
HEADER_FILE = "header.json"
CREATION_MARK = "creating"

OpenCopy = Callable[[Path], tuple[VaultEngine, KeyHeader]]
"""Answers an engine and a header over a backup folder, so that it can be tried before it replaces anything."""


class VaultService:
    """`monotonic` answers seconds that never go back, and measures idleness only; `prepare` fills a vault just opened with what
    every vault must hold."""

    def __init__(
        self,
        engine: VaultEngine,
        header: KeyHeader,
        *,
        prepare: Callable[[], Awaitable[None]],
        settings: SettingsService,
        open_copy: OpenCopy,
        monotonic: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._header = header
        self._prepare = prepare
        self._settings = settings
        self._open_copy = open_copy
        self._monotonic = monotonic
        self._touched = monotonic()
        self._changing = asyncio.Lock()

    async def start(self) -> VaultState:
        """Open the vault, or make one where there is neither vault nor header; stays locked where a person must unlock it.

        Raises VaultMissing when only one of the two files is there: nothing is ever made beside the remains of a vault. Raises
        VaultLocked, saying what is missing, where no person could unlock it either.
        """
        await asyncio.to_thread(self._engine.resume_swap)
        if await asyncio.to_thread(self._create_if_new):
            await self._prepare()
            return VaultState.OPEN
        if self._header.exists():
            await asyncio.to_thread(self._header.ensure_primary)
        try:
            return await self.unlock()
        except VaultLocked as error:
            if isinstance(error, WrongKey) or not self._can_be_unlocked:
                raise
            return VaultState.LOCKED

    @property
    def _can_be_unlocked(self) -> bool:
        """Whether a person could give what opens it."""
        return any(slot.kind in (SlotKind.PASSPHRASE, SlotKind.RECOVERY) for slot in self._header.slots())

    def _create_if_new(self) -> bool:
        """The header comes before the vault, for a key that is nowhere kept opens nothing. The mark tells a creation that was
        cut off, which goes on, from a vault whose file was lost, beside which nothing is made."""
        mark = self._engine.path.with_name(CREATION_MARK)
        resumed = mark.exists()
        if self._engine.exists() or (self._header.exists() and not resumed):
            mark.unlink(missing_ok=True)
            return False
        mark.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark.touch(mode=0o600)
        try:
            master = self._header.unlock()[0] if self._header.exists() else self._header.create(resumed=resumed)
            self._engine.create(master)
        finally:
            mark.unlink(missing_ok=True)
        return True

    @property
    def state(self) -> VaultState:
        if self._engine.is_open:
            return VaultState.OPEN
        return VaultState.LOCKED if self._engine.exists() else VaultState.MISSING

    async def unlock(self, secret: str | None = None) -> VaultState:
        """Open with the automatic slots, or with a passphrase or recovery key.

        Raises VaultMissing, VaultDamaged, WrongKey, VaultLocked (no automatic slot, and no secret given).
        """
        async with self._changing:
            self.touch()
            if self._engine.is_open:
                return VaultState.OPEN
            if not self._engine.exists() or not self._header.exists():
                missing = self._header.path if self._engine.exists() else self._engine.path
                raise VaultMissing(
                    f"{missing.name} is not in {missing.parent}; nothing was created. "
                    "Put the file back, or restore a backup with `perdure vault restore FOLDER`."
                )
            await asyncio.to_thread(self._open, secret)
            self._settings.forget()
        await self._prepare()
        return VaultState.OPEN

    def _open(self, secret: str | None) -> None:
        masters = self._header.unlock(secret)
        master = _open_with(self._engine, masters)
        if len(masters) > 1:
            self._header.finish_rekey(master)

    async def lock(self) -> None:
        """Close the vault and forget the key. Raises Conflict where it would open again by itself at once."""
        if not self._can_be_unlocked:
            raise Conflict("Nothing could unlock it again: add a passphrase first with `perdure vault key add passphrase`.")
        async with self._changing:
            await asyncio.to_thread(self._engine.close)
            self._settings.forget()

    async def close(self) -> None:
        """Finish what is under way and close; the process is about to end."""
        async with self._changing:
            await asyncio.to_thread(self._engine.close)

    def touch(self) -> None:
        """A call came in: idleness starts anew."""
        self._touched = self._monotonic()

    async def lock_if_idle(self) -> bool:
        """Lock when the setting auto_lock_minutes says so; answers whether it did. Works with a passphrase only."""
        if not self._engine.is_open or not self.can_auto_lock:
            return False
        minutes = await self._settings.get("auto_lock_minutes")
        if not minutes or self._monotonic() - self._touched < minutes * 60:
            return False
        await self.lock()
        return True

    @property
    def can_auto_lock(self) -> bool:
        kinds = {slot.kind for slot in self._header.slots()}
        return SlotKind.PASSPHRASE in kinds and not kinds & set(AUTOMATIC_SLOTS)

    async def status(self) -> VaultStatus:
        """What the vault is and how it opens; works while it is locked or missing."""
        path = self._engine.path
        minutes = await self._settings.get("auto_lock_minutes") if self._engine.is_open else None
        known = self._header.exists()
        return VaultStatus(
            state=self.state,
            vault_id=self._header.vault_id() if known else None,
            path=str(path),
            size_bytes=await asyncio.to_thread(lambda: path.stat().st_size if path.exists() else 0),
            cipher=self._engine.cipher,
            slots=self._header.slots() if known else (),
            auto_lock_minutes=minutes,
        )

    async def check(self, *, deep: bool) -> list[str]:
        """What is wrong with the file, in words; empty when all is well."""
        return await asyncio.to_thread(lambda: self._engine.check(deep=deep))

    async def backup(self, folder: Path, on_progress: OnProgress | None = None) -> Path:
        """Copy vault and header into a new folder while work goes on; encrypted as they are.

        Raises Conflict when the folder is there and not empty, DiskFull, DiskReadOnly.
        """

        def work() -> None:
            try:
                if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                    raise Conflict(f"{folder} is there already and no empty folder; name a new one for the backup.")
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise InvalidInput(
                    f"folder: {folder} cannot be made ({error.strerror}); name another one", argument="folder"
                ) from None
            self._engine.backup(folder / VAULT_FILE, on_progress)
            self._header.copy_to(folder / HEADER_FILE)

        async with self._changing:
            await asyncio.to_thread(work)
        return folder

    async def restore(self, folder: Path, secret: str | None = None) -> Path:
        """Take a backup instead of the present vault; answers the folder that keeps the latter, which nothing erases.

        The backup is tried first, so a bad one changes nothing; the vault is open afterwards as it was before, also when this
        fails. Raises VaultMissing, WrongKey, VaultLocked, VaultDamaged, DiskFull, DiskReadOnly.
        """
        was_open = self._engine.is_open
        async with self._changing:
            try:
                kept = await asyncio.to_thread(self._restore, folder, secret)
            finally:
                if was_open and not self._engine.is_open:
                    await asyncio.to_thread(self._open, secret)
                self._settings.forget()
        await self.unlock(secret)
        await self._prepare()
        return kept

    def _restore(self, folder: Path, secret: str | None) -> Path:
        staged = self._engine.stage(folder / VAULT_FILE)
        try:
            self._header.merge_into(folder / HEADER_FILE, staged / HEADER_FILE)
            engine, header = self._open_copy(staged)
            _open_with(engine, header.unlock(secret))
            try:
                faults = engine.check(deep=True)
            finally:
                engine.close()
            if faults:
                raise VaultDamaged(f"The backup is damaged; nothing was changed. First fault: {faults[0]}")
            kept = self._engine.swap()
        finally:
            self._engine.discard_staged()
        self._header.ensure_primary()
        return kept

    async def rekey(self, secret: str | None = None) -> None:
        """Encrypt everything under a new key; every slot opens it as before. A crash leaves one of the two keys valid."""

        def work() -> None:
            old = self._header.unlock(secret)[-1]
            new = self._header.begin_rekey(old)
            try:
                self._engine.rekey(new)
            except PerdureError:
                self._header.finish_rekey(old)
                raise
            self._header.finish_rekey(new)

        if not self._engine.is_open:
            raise VaultLocked
        async with self._changing:
            await asyncio.to_thread(work)

    async def add_key(self, kind: SlotKind, *, secret: str | None = None, unlock: str | None = None) -> str | None:
        """Add a way to open the vault; answers the recovery key, told this once, for SlotKind.RECOVERY.

        `unlock` is a passphrase or recovery key that opens it now, needed where no automatic slot does.
        """
        if kind is SlotKind.PASSPHRASE and not secret:
            raise InvalidInput("passphrase: must not be empty", argument="passphrase")

        def work() -> str | None:
            return self._header.add_slot(self._header.unlock(unlock)[0], kind, secret)

        async with self._changing:
            return await asyncio.to_thread(work)

    async def remove_key(self, slot_id: str) -> None:
        """Raises NotFound, and Conflict for the last one."""
        async with self._changing:
            await asyncio.to_thread(self._header.remove_slot, slot_id)

    def slots(self) -> tuple[KeySlot, ...]:
        return self._header.slots()

    async def export_sqlcipher(self, target: Path, passphrase: str) -> None:
        """A copy that other tools read (SQLCipher 4 format). Raises Conflict when the target is there."""

        def work() -> None:
            if target.exists():
                raise Conflict(f"{target} is there already; name a new file.")
            self._engine.export_sqlcipher(target, passphrase)

        await asyncio.to_thread(work)


def _open_with(engine: VaultEngine, masters: Sequence[bytes]) -> bytes:
    """Open with the first key that fits, newest first (two while a rekey is unfinished); answers it.

    Raises VaultDamaged where none does: the header has proven them, so it is the file that is wrong.
    """
    for master in masters:
        try:
            engine.open(master)
        except WrongKey:
            continue
        return master
    raise VaultDamaged
