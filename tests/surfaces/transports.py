"""One test body over every transport and era: a transport is a function that connects a client to a world.

To add one, write a factory of the same shape and enter it in TRANSPORTS.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpx2 import ASGITransport, AsyncClient
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation, TextContent

from perdure.app import App
from perdure.domain.access import Caller, TokenKind
from perdure.domain.launch import Home
from perdure.domain.version import VERSION
from perdure.surfaces.bridge.state import DaemonState, write_state
from perdure.surfaces.daemon.local import LocalServer
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.mcp.server import build_server
from perdure.surfaces.rest.asgi import build_asgi

NEWEST = "2026-07-28"
OLDEST = "2024-11-05"
CLIENT = Implementation(name="test-client", version="1.0")


@dataclass(frozen=True, slots=True)
class World:
    """An open App over a temporary home and the gate in front of it; `door` is where clients come in."""

    app: App
    gate: Gate
    home: Path
    door: str = "cortexa"

    def secret(self, kind: TokenKind) -> str:
        """A token of that kind, for transports that carry one."""
        if kind is TokenKind.PRIMARY:
            return self.app.access.primary_secret() or ""
        return self.app.access.create_token(kind, "agent")[1]

    def caller(self, kind: TokenKind) -> Caller:
        """The caller behind such a token, for transports that know who is there."""
        return self.app.access.authenticate(self.secret(kind))


Transport = Callable[[World, TokenKind, str], AbstractAsyncContextManager[Client]]
"""(world, whose token, the SDK client's mode) → the connected client."""


def memory(world: World, kind: TokenKind, mode: str) -> AbstractAsyncContextManager[Client]:
    """No wire: the SDK's client on the server object."""
    return Client(build_server(world.gate, world.door, world.caller(kind)), mode=mode, client_info=CLIENT, cache=None)


@asynccontextmanager
async def http(world: World, kind: TokenKind, mode: str) -> AsyncIterator[Client]:
    """The whole HTTP application, in process: guards, token, doors and the SDK's wire."""
    asgi = build_asgi(world.app, world.gate, allowed_hosts=(), on_stop=lambda: None)
    headers = {"Authorization": f"Bearer {world.secret(kind)}"}
    async with asgi.router.lifespan_context(asgi), AsyncClient(transport=ASGITransport(asgi), headers=headers) as wire:
        stream = streamable_http_client(f"http://127.0.0.1:3001/mcp/{world.door}", http_client=wire)
        async with Client(stream, mode=mode, client_info=CLIENT, cache=None) as client:
            yield client


@asynccontextmanager
async def stdio(world: World, kind: TokenKind, mode: str) -> AsyncIterator[Client]:
    """A real bridge process on pipes, and the daemon's local socket in front of the gate."""
    home = Home(world.home)
    home.run_folder.mkdir(mode=0o700)
    local = LocalServer(world.gate, world.app.access, on_stop=lambda: None)
    socket, nonce = await local.start(home)
    state = DaemonState(pid=os.getpid(), version=VERSION, urls=(), socket=socket, nonce=nonce, started_at="")
    write_state(home, state)
    bridge = StdioServerParameters(
        command=sys.executable,
        args=["-m", "perdure", "mcp", "--home", str(world.home), "--family", world.door],
        env={**os.environ, "PERDURE_TOKEN": world.secret(kind)},
    )
    try:
        async with Client(stdio_client(bridge), mode=mode, client_info=CLIENT, cache=None) as client:
            yield client
    finally:
        await local.close(5)


TRANSPORTS: dict[str, Transport] = {"memory": memory, "http": http, "stdio": stdio}

Body = Callable[[Client, World], Awaitable[None]]
"""What a test does with a connected client."""

OpenWorld = Callable[[Sequence[Family]], AbstractAsyncContextManager[World]]


@dataclass(frozen=True, slots=True)
class Connect:
    """`connect(body)` opens a world, connects a client and runs the body; `kind` is whose token it carries."""

    open_world: OpenWorld
    transport: str
    era: str

    async def run(self, body: Body, kind: TokenKind, families: Sequence[Family]) -> None:
        mode = "auto" if self.era == NEWEST else "legacy"
        async with self.open_world(families) as world, TRANSPORTS[self.transport](world, kind, mode) as client:
            assert client.protocol_version == self.era
            await body(client, world)


async def call(client: Client, name: str, /, **arguments: Any) -> CallToolResult:
    """Call a tool and expect its answer."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, texts(result)
    return result


async def fail(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool and expect an error in Cortexa's words; answers its code, message and details."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, texts(result)
    error: dict[str, Any] = result.structured_content["error"]
    assert texts(result) == [f"{error['code']}: {error['message']}"]
    return error


def texts(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]
