"""/api/tools: the declared tools as routes, through the gate that every door uses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse, Response

from perdure.errors import NotFound, PrimaryOnly
from perdure.surfaces.mcp.gate import ALL, PRIMARY_ONLY, ToolRefused
from perdure.surfaces.rest.endpoint import Call, endpoint, read_json
from perdure.surfaces.rest.problems import respond
from perdure.surfaces.rest.shapes import Shape

PATH = "/api/tools/{name}"


class ToolShape(Shape):
    name: str
    description: str
    primary: bool
    writes: bool
    input_schema: dict[str, Any]


class ToolList(Shape):
    items: list[ToolShape]


class ToolAnswer(Shape):
    """`text`: the blocks an agent reads; `structured`: the same for programs."""

    text: list[str]
    structured: dict[str, Any] | None


@endpoint("GET", "/api/tools", works_locked=True)
async def list_tools(call: Call) -> ToolList:
    """The tools this token may call, with the schemas of their arguments."""
    tools = call.site.gate.tools(ALL, call.caller)
    return ToolList(
        items=[
            ToolShape(name=t.name, description=t.description, primary=t.primary, writes=t.writes, input_schema=t.schema)
            for t in tools
        ]
    )


@endpoint("POST", PATH, gated=True)
async def call_tool(call: Call, name: str) -> Response:
    """Call a tool; the body is its arguments."""
    arguments = await read_json(call.request)
    try:
        reply = await call.site.gate.call(ALL, call.caller, name, arguments)
    except ToolRefused as refused:
        raise (PrimaryOnly if refused.code == PRIMARY_ONLY else NotFound)(refused.message) from None
    if reply.error is not None:
        return respond(call.request, reply.error)
    return JSONResponse({"text": list(reply.texts), "structured": reply.structured}, HTTPStatus.OK)


ENDPOINTS = (list_tools, call_tool)
