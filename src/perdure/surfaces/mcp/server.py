"""The declarations as an MCP server, in every era: the handshake ones (2024-11-05 … 2025-11-25) and 2026-07-28."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from perdure.domain.access import Caller
from perdure.surfaces.mcp.declaration import Tool
from perdure.surfaces.mcp.gate import Gate, ToolRefused
from perdure.surfaces.mcp.reply import Reply

LIST_TTL_MS = 60_000
"""So long may a client keep the list of tools; it changes with the product's version and the token only."""

Context = ServerRequestContext[Any, Any]


def build_server(gate: Gate, door: str, caller: Caller | None = None) -> Server[Any]:
    """A server of that door. `caller` fixed: one connection of one known caller (a bridge, a test).

    None: read per request from `request.state.caller`, where the HTTP layer's authentication left it.
    """

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in gate.tools(door, _caller(ctx, caller))])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            reply = await gate.call(door, _caller(ctx, caller), params.name, params.arguments)
        except ToolRefused as refused:
            raise MCPError(refused.code, refused.message) from None
        return _result(reply)

    def input_schema(name: str) -> Mapping[str, Any] | None:
        return gate.schema(door, name)

    return Server(
        "perdure",
        version=gate.app.health.version,
        title="perdure",
        instructions=gate.instructions(door) or None,
        cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL_MS, scope="private")},
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _caller(ctx: Context, fixed: Caller | None) -> Caller:
    """The caller, named after its client's own word where no token names it."""
    caller: Caller = fixed or ctx.request.state.caller  # type: ignore[union-attr]  # HTTP requests always bring one
    client = ctx.session.client_params
    return dataclasses.replace(caller, client=client.client_info.name) if caller.client is None and client else caller


def _tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            idempotent_hint=tool.repeatable or None,
            destructive_hint=False,
            open_world_hint=False,
        ),
    )


def _result(reply: Reply) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=text) for text in reply.texts],
        structured_content=reply.structured,
        is_error=reply.is_error,
    )
