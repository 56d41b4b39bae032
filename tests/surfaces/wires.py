"""A bridge's end of the daemon's local socket, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

from perdure.surfaces.bridge.messages import MAX_LINE_BYTES

HELLO = {"perdure": 1, "version": "0.1.0", "family": "cortexa"}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
WAIT_S = 30


class Wire:
    """A bridge's end of the local socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def say(self, message: object) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")
        await self.writer.drain()

    async def hear(self) -> Any:
        async with asyncio.timeout(WAIT_S):
            line = await self._reader.readline()
        return json.loads(line) if line else None

    async def ask(self, method: str, params: object, number: int = 1) -> Any:
        await self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await self.hear()


class Dial:
    """Connects wires to one socket; all of them are closed in the end."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._wires: list[Wire] = []

    async def __call__(self, hello: object) -> Wire:
        wire = Wire(*await asyncio.open_unix_connection(self.path, limit=2 * MAX_LINE_BYTES))
        self._wires.append(wire)
        await wire.say(hello)
        return wire

    async def close(self) -> None:
        for wire in self._wires:
            wire.writer.close()
            with contextlib.suppress(OSError):
                await wire.writer.wait_closed()
