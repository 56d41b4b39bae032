"""The MCP doors: `/mcp` and one below it for each family, over the SDK's Streamable HTTP in every era.

Answers are plain JSON in every era. In the newest one that is what the SDK does without `json_response`, which keeps SSE for
answers that notify or take long. In the handshake eras it must be told: over SSE the official client reads no event of more than
1 MiB, so that a long memory would be stored and never come back. The old two-endpoint transport (HTTP+SSE) is not served.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from perdure.domain.access import Caller, TokenKind
from perdure.errors import NotFound
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.mcp.server import build_server
from perdure.surfaces.rest.endpoint import parse_json
from perdure.surfaces.rest.guards import MAX_BODY_MIB, MIB
from perdure.surfaces.rest.problems import NotRpc

MEMBERS: Mapping[Any, str] = {
    "jsonrpc": 'the text "2.0"',
    "id": "text or a whole number",
    "method": "text",
    "params": "an object",
    "result": "an object",
    "error": "an object with code and message",
}

BY_TOKEN: Mapping[TokenKind, str] = {TokenKind.USER: "conxt"}


def door_of(caller: Caller, doors: Mapping[str, object]) -> str:
    """Where bare `/mcp` leads: the token decides (SEMANTICS 1)."""
    wanted = BY_TOKEN.get(caller.kind, "cortexa")
    return wanted if wanted in doors else next(iter(doors))


class Doors:
    """Routes over one session manager for each door; `run` holds their sessions' tasks, once."""

    def __init__(self, gate: Gate) -> None:
        self._newest = {door: _manager(gate, door, json_response=False) for door in gate.doors}
        self._handshake = {door: _manager(gate, door, json_response=True) for door in gate.doors}

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in (*self._newest.values(), *self._handshake.values()):
                await stack.enter_async_context(manager.run())
            yield

    def routes(self) -> list[Route]:
        """With and without a trailing slash: a redirect would lose a client's body or token."""
        paths = ("/mcp", "/mcp/", "/mcp/{door}", "/mcp/{door}/")
        return [Route(path, self) for path in paths]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["state"]["caller"]
        request = Request(scope, receive)
        version = request.headers.get("mcp-protocol-version")
        managers = self._handshake if version is None or version in HANDSHAKE_PROTOCOL_VERSIONS else self._newest
        door = scope["path_params"].get("door") or door_of(caller, managers)
        manager = managers.get(door)
        if manager is None:
            raise NotFound(f"There is no such door; there are /mcp and /mcp/ with {', '.join(managers)}.")
        if scope["method"] == "POST":
            body = await request.body()
            # Stricter than the SDK: its newest era lets half surrogate pairs through (FAULTS FT11), the others quote what came.
            _check_message(parse_json(body))
            receive = _replayed(body, receive)
        # The SDK answers 404 to a session's id from anyone but the user that opened it.
        user = AuthenticatedUser(AccessToken(token="", client_id=caller.token_id, scopes=[]))
        await manager.handle_request({**scope, "user": user}, receive, send)


def _manager(gate: Gate, door: str, *, json_response: bool) -> StreamableHTTPSessionManager:
    server = build_server(gate, door)
    return StreamableHTTPSessionManager(server, json_response=json_response, max_request_body_size=MAX_BODY_MIB * MIB)


def _check_message(message: Any) -> None:
    """Raises NotRpc, naming the member, for what is no single JSON-RPC message."""
    if not isinstance(message, dict):
        raise NotRpc
    try:
        if "id" in message and "method" in message:
            JSONRPCRequest.model_validate(message)
        else:
            jsonrpc_message_adapter.validate_python(message)
    except ValidationError as error:
        names = (part for fault in error.errors(include_url=False) for part in fault["loc"] if part in MEMBERS)
        member = next(names, "method")
        raise NotRpc(f"{member}: is missing or not what JSON-RPC 2.0 wants: {MEMBERS[member]}", argument=member) from None


def _replayed(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
