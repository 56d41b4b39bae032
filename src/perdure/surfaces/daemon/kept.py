"""Keeps the answers to discovery for bridges whose daemon is still starting: the very bytes a live connection is sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from perdure.domain.access import Caller
from perdure.domain.launch import Home
from perdure.domain.version import VERSION
from perdure.surfaces.bridge.answers import META_KEYS
from perdure.surfaces.bridge.state import write_private
from perdure.surfaces.daemon.connection import encode
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.mcp.server import build_server

_ID = 1
_OPENING = f'{{"jsonrpc":"2.0","id":{_ID},"result":'.encode()
_CLIENT = {"name": "perdure", "version": VERSION}


async def keep_answers(home: Home, gate: Gate, owner: Caller) -> None:
    """Ask this very server, as the owner, in every era and at every door, and write down what it says."""
    families = {door: await _door(gate, door, owner) for door in gate.doors}
    document = {"version": VERSION, "latest": LATEST_HANDSHAKE_VERSION, "families": families}
    content = json.dumps(document).encode()
    await asyncio.to_thread(write_private, home.tools_cache, content)


async def _door(gate: Gate, door: str, owner: Caller) -> dict[str, dict[str, str]]:
    answers = {}
    for version in HANDSHAKE_PROTOCOL_VERSIONS:
        opening = {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}
        answers[version] = await _ask(gate, door, owner, {"initialize": opening, "tools/list": {}, "ping": {}})
    for version in MODERN_PROTOCOL_VERSIONS:
        meta = {"_meta": dict(zip(META_KEYS, (version, _CLIENT, {}), strict=True))}
        answers[version] = await _ask(gate, door, owner, {"server/discover": meta, "tools/list": meta})
    return answers


async def _ask(gate: Gate, door: str, owner: Caller, requests: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Method → result as JSON text, of one connection; a method that this era does not have is left out."""
    server = build_server(gate, door, owner)
    to_server, inbound = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outbound, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    results: dict[str, str] = {}
    async with anyio.create_task_group() as group, to_server, from_server:
        group.start_soon(server.run, inbound, outbound, server.create_initialization_options())
        for method, params in requests.items():
            await to_server.send(SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=_ID, method=method, params=params)))
            line = encode((await from_server.receive()).message)
            if line.startswith(_OPENING):
                results[method] = line[len(_OPENING) : -len(b"}\n")].decode()
            if method == "initialize":
                initialized = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
                await to_server.send(SessionMessage(initialized))
        group.cancel_scope.cancel()
    return results
