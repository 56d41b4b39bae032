"""The vault is opened while perdure already listens: a handshake waits for nothing, a call waits for the vault (FAULTS SS1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.vault import VaultState
from perdure.errors import Internal, PerdureError
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.mcp.reply import Reply

logger = logging.getLogger(__name__)


class Opening:
    """`fault` is why the vault could not be opened; perdure serves nevertheless, for a backup is restored through it."""

    def __init__(self, app: App, passphrase: str | None) -> None:
        self._app = app
        self._passphrase = passphrase
        self._over = asyncio.Event()
        self.fault: PerdureError | None = None

    async def run(self) -> None:
        try:
            state = await self._app.vault.start()
            if state is VaultState.LOCKED and self._passphrase is not None:
                state = await self._app.vault.unlock(self._passphrase)
            logger.info("the vault is %s", state)
        except PerdureError as error:
            self.fault = error
        except OSError as error:
            self.fault = Internal(f"The vault's files cannot be used: {error.strerror}.")
        finally:
            self._over.set()
        if self.fault is not None:
            logger.error("the vault was not opened: %s", self.fault.code)

    async def wait(self) -> None:
        await self._over.wait()


class PatientGate(Gate):
    """A gate whose calls wait for the opening, and which says what went wrong with it instead of that the vault is locked."""

    def __init__(self, app: App, families: Sequence[Family], opening: Opening) -> None:
        super().__init__(app, families)
        self._opening = opening

    async def call(self, door: str, caller: Caller, name: str, arguments: object) -> Reply:
        await self._opening.wait()
        return await super().call(door, caller, name, arguments)

    def fault(self) -> PerdureError | None:
        fault = self._opening.fault
        if fault is None or self.app.vault.state is VaultState.OPEN:
            return None
        return type(fault)(fault.message, **fault.details)


class PatientAsgi:
    """HTTP around an opening: all but the MCP doors waits, and these too while there is no header to know a token by."""

    def __init__(self, inner: ASGIApp, app: App, opening: Opening) -> None:
        self._inner = inner
        self._app = app
        self._opening = opening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            door = scope["path"] == "/mcp" or scope["path"].startswith("/mcp/")
            if not door or self._app.vault.state is VaultState.MISSING:
                await self._opening.wait()
        try:
            await self._inner(scope, receive, send)
        finally:
            if self._opening.fault is not None and self._app.vault.state is VaultState.OPEN:
                self._opening.fault = None  # unlocked or restored by this call: what comes later is no matter of the opening
