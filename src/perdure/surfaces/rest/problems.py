"""Errors on the wire: RFC 9457 problem details; on MCP doors a JSON-RPC error with the same members, which MCP clients read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from perdure.errors import InvalidInput, NotFound, PerdureError, Unauthorized
from perdure.surfaces.mcp.gate import logged, told

MEDIA_TYPE = "application/problem+json"
PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
RESERVED = ("type", "title", "status", "detail", "code", "jsonrpc", "id", "error")


class NotJson(InvalidInput):
    """The body is not JSON."""

    status = 400


class NotRpc(InvalidInput):
    """The body must be one JSON-RPC message, a JSON object; batches are not taken."""

    status = 400


class MisdirectedHost(PerdureError):
    """The Host header names no address of this server; use 127.0.0.1, [::1] or localhost, or allow the name at start."""

    code = "forbidden"
    status = 421


class MethodRefused(PerdureError):
    """That method is not served here."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, allowed: str) -> None:
        super().__init__(f"That method is not served here; allowed are {allowed}.")
        self.allowed = allowed


def is_mcp(path: str) -> bool:
    return path == "/mcp" or path.startswith("/mcp/")


def problem(error: PerdureError) -> dict[str, Any]:
    """The problem document of an error; its plain details (argument, version, log_id) stand beside the standard members."""
    details = {"log_id" if name == "id" else name: value for name, value in error.details.items()}
    more = {name: value for name, value in details.items() if name not in RESERVED and isinstance(value, str | int)}
    return {
        "type": "about:blank",
        "title": HTTPStatus(error.status).phrase,
        "status": error.status,
        "detail": error.message,
        "code": error.code,
        **more,
    }


def respond(request: Request, error: PerdureError) -> Response:
    document = problem(error)
    media_type = MEDIA_TYPE
    if is_mcp(request.url.path):
        media_type = "application/json"
        told = {"code": _rpc_code(error), "message": error.message, "data": {"code": error.code}}
        document |= {"jsonrpc": "2.0", "id": None, "error": told}
    return Response(json.dumps(document), error.status, headers=_headers(request, error), media_type=media_type)


async def on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PerdureError)
    return respond(request, told(error, _route(request)))


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the router refuses: an address that is served by nothing."""
    return respond(request, NotFound("There is nothing at this address; GET /openapi.json describes what there is."))


async def on_disconnect(request: Request, error: Exception) -> Response:
    """The client went away while it was still sending; nobody reads this."""
    return Response(status_code=400)


async def on_bug(request: Request, error: Exception) -> Response:
    return respond(request, logged(error, _route(request)))


def _route(request: Request) -> str:
    """The method and the first two parts of the path: what follows may be anything that was sent."""
    return f"{request.method} {'/'.join(request.url.path.split('/')[:3])[:40]!a}"


HANDLERS: Mapping[Any, Any] = {
    PerdureError: on_error,
    HTTPException: on_http_error,
    ClientDisconnect: on_disconnect,
    Exception: on_bug,
}


def _rpc_code(error: PerdureError) -> int:
    if isinstance(error, NotJson):
        return PARSE_ERROR
    return INTERNAL_ERROR if error.status >= 500 else INVALID_REQUEST


def _headers(request: Request, error: PerdureError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, Unauthorized):
        sent = "authorization" in request.headers
        headers["WWW-Authenticate"] = 'Bearer error="invalid_token"' if sent else "Bearer"
    if isinstance(error, MethodRefused):
        headers["Allow"] = error.allowed
    return headers
