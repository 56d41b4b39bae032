"""What every HTTP request must pass before anything reads it: Host, Origin, token, size (FAULTS AU1 to AU4).

Everything but `PUBLIC` needs a token, addresses that do not exist included. No answer ever carries an
Access-Control-Allow-Origin header: pages of other origins read nothing here.
"""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perdure.domain.access import Caller
from perdure.errors import Forbidden, TooLarge, Unauthorized
from perdure.services.access import AccessService
from perdure.surfaces.rest.problems import MisdirectedHost, is_mcp

PUBLIC = frozenset({"/", "/openapi.json", "/api/health"})
STOP, IMPORT = "/api/stop", "/api/import"
MIB = 1024 * 1024
MAX_BODY_MIB, MAX_IMPORT_MIB = 4, 64
MAX_CLIENT_CHARS = 200


class Guards:
    """ASGI middleware; leaves the caller in `request.state.caller`, None on a public address without a token."""

    def __init__(self, app: ASGIApp, *, access: AccessService, allowed_hosts: Sequence[str]) -> None:
        self._app = app
        self._access = access
        self._allowed = frozenset(host.lower() for host in allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        self._check_host(headers)
        self._check_origin(headers, path)
        caller = self._authenticate(headers, path)
        limit_mib = MAX_IMPORT_MIB if path == IMPORT else MAX_BODY_MIB
        _check_length(headers, limit_mib)
        inner = {**scope, "state": {**scope.get("state", {}), "caller": caller}}
        await self._app(inner, limited(receive, limit_mib), send)

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            raise MisdirectedHost

    def _check_origin(self, headers: Headers, path: str) -> None:
        """Without a token the answer is that a token is needed, as for anyone; only a stop is refused for its origin first."""
        origins = headers.getlist("origin")
        if not origins or all(self._is_own_origin(origin) for origin in origins):
            return
        if path not in PUBLIC and path != STOP and "authorization" not in headers:
            raise Unauthorized
        raise Forbidden("Pages of other origins may not call perdure; the Origin header must name a loopback address.")

    def _is_own_origin(self, origin: str) -> bool:
        scheme, separator, host = origin.partition("://")
        return bool(separator) and scheme in ("http", "https") and self._is_own(host)

    def _is_own(self, host: str) -> bool:
        """A loopback name or address with any port, or one that was allowed at start (by name, or by name and port)."""
        try:
            parts = urlsplit(f"//{host}")
            name = (parts.hostname or "").lower()
            _ = parts.port
        except ValueError:
            return False
        if not name or parts.netloc != host or parts.username is not None:
            return False
        return name == "localhost" or _is_loopback(name) or name in self._allowed or host.lower() in self._allowed

    def _authenticate(self, headers: Headers, path: str) -> Caller | None:
        given = headers.getlist("authorization")
        if not given and path in PUBLIC:
            return None
        scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        caller = self._access.authenticate(secret.strip() if scheme.lower() == "bearer" else None)
        # The key is bound to the token, so that no token reaches what hangs on another one's session or client header.
        session = headers.get("mcp-session-id") if is_mcp(path) else None
        name = headers.get("perdure-client", "")[:MAX_CLIENT_CHARS]
        key = session[:MAX_CLIENT_CHARS] if session else name
        if not key:
            return caller
        client = caller.client or (name if not is_mcp(path) else None)  # the owner's client is the one it names
        return dataclasses.replace(caller, key=f"{caller.token_id}:{key}", client=client or None)


def limited(receive: Receive, limit_mib: int) -> Receive:
    """The same body, refused as soon as it is too large, whatever its headers said. Raises TooLarge."""
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit_mib * MIB:
            raise _too_large(limit_mib)
        return message

    return receive_limited


def _check_length(headers: Headers, limit_mib: int) -> None:
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length[:20]) > limit_mib * MIB:
        raise _too_large(limit_mib)


def _too_large(limit_mib: int) -> TooLarge:
    return TooLarge(
        f"A request's body may have {limit_mib} MiB, and this one has more; nothing of it was stored. "
        "Send it in parts: several captures, or several imports.",
        limit_bytes=limit_mib * MIB,
    )


def _is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
