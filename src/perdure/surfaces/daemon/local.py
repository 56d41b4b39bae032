"""The daemon's side of the bridges: a local socket, one MCP connection each.

The first line is the bridge's hello, the second the daemon's answer to it; then JSON-RPC, a message a line. Who may enter the
socket's folder is the owner, known by the operating system; a bridge that was given a token is that token's caller.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import os
import secrets
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perdure.domain.access import Caller
from perdure.domain.launch import Home
from perdure.domain.version import VERSION
from perdure.errors import Conflict, Forbidden, InvalidInput, PerdureError
from perdure.services.access import AccessService
from perdure.surfaces.bridge.state import mark_of, unwritable
from perdure.surfaces.daemon.connection import Connection
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.mcp.server import build_server

MAX_PATH_BYTES = 100
"""A Unix socket's path has room for 104 bytes (macOS) or 108."""
HELLO_TIMEOUT_S = 10.0
_CREDENTIALS = struct.Struct("3i")
logger = logging.getLogger(__name__)


class LocalServer:
    """`on_stop` is called when the owner asks the daemon to end."""

    def __init__(self, gate: Gate, access: AccessService, *, on_stop: Callable[[], None]) -> None:
        self._gate = gate
        self._access = access
        self._on_stop = on_stop
        self._nonce: str | None = None
        self._server: asyncio.Server | None = None
        self._path: Path | None = None
        self._bound: str | None = None
        self._folder = Path()
        self._mark: str | None = None
        self._connections: dict[asyncio.Task[Any], Connection | None] = {}

    async def start(self, home: Home) -> tuple[str, str | None]:
        """Listen; answers what the state file says: the socket's path and None, or `host:port` and a nonce (Windows).

        Raises Conflict, DiskReadOnly.
        """
        self._folder, self._mark = home.folder, mark_of(home.folder)
        if sys.platform == "win32":
            self._nonce = secrets.token_urlsafe(32)
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            host, port = self._server.sockets[0].getsockname()[:2]
            return f"{host}:{port}", self._nonce
        self._path = socket_path(home)
        try:
            self._path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._accept, self._path)
        except OSError as error:
            raise unwritable(error, self._path) from None
        self._bound = mark_of(self._path)
        return str(self._path), None

    def is_there(self) -> bool:
        """Whether a bridge can still find the socket."""
        return self._path is None or mark_of(self._path) == self._bound

    async def close(self, drain_s: float) -> None:
        """Take no more; what was asked is answered, for so many seconds at most."""
        if self._server is not None:
            self._server.close()
        if self._path is not None and self.is_there():  # else it is the next daemon's
            self._path.unlink(missing_ok=True)
        for connection in filter(None, self._connections.values()):
            connection.stop_reading()
        if self._connections:
            await asyncio.wait(self._connections, timeout=drain_s)
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = None
        try:
            async with asyncio.timeout(HELLO_TIMEOUT_S):
                hello = _parse_hello(await reader.readline())
                connection = self._greet(hello, reader, writer)
                await writer.drain()
            if connection is not None:
                self._connections[task] = connection
                await connection.run()
        except asyncio.CancelledError:
            pass  # by `close`; the stream server of Python 3.11 takes a cancelled task for a bug
        except (OSError, ValueError) as error:
            logger.info("a local connection ended: %s", type(error).__name__)
        finally:
            del self._connections[task]
            writer.close()

    def _greet(self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connection | None:
        """Answer the hello; the connection it asked for, None when it asked for none."""
        try:
            self._require_owner(hello, writer)
            self._require_home(hello)
            caller, door = self._caller(hello), hello.get("family")
            if door is not None and door not in self._gate.doors:
                raise InvalidInput(f"family: there is none of that name; there are {', '.join(self._gate.doors)}")
        except PerdureError as error:
            writer.write(_line({"ok": False, "code": error.code, "message": error.message}))
            return None
        writer.write(_line({"ok": True, "version": VERSION}))
        if hello.get("stop") and caller.is_primary:
            self._on_stop()
        return Connection(build_server(self._gate, door, caller), reader, writer) if door is not None else None

    def _require_owner(self, hello: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if self._nonce is not None and not hmac.compare_digest(str(hello.get("nonce")), self._nonce):
            raise Forbidden("This connection does not know the daemon's nonce.")
        if not hasattr(socket, "SO_PEERCRED") or self._nonce is not None:
            return
        peer = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(peer)[1] != os.getuid():
            raise Forbidden("Another user of this machine owns this perdure.")

    def _require_home(self, hello: dict[str, Any]) -> None:
        """What is meant for another home must not be kept in this one, nor anything in one that is no longer here."""
        if hello.get("home", self._mark) != self._mark or mark_of(self._folder) != self._mark:
            raise Conflict(f"This perdure (process {os.getpid()}) serves another home: {self._folder}, or what was there.")

    def _caller(self, hello: dict[str, Any]) -> Caller:
        key = f"bridge:{secrets.token_hex(8)}"
        token = hello.get("token")
        return self._access.local_owner(key=key) if token is None else self._access.authenticate(str(token), key=key)


def socket_path(home: Home) -> Path:
    """In the home; under the system's temporary folder when that path is too long for a socket.

    Raises Conflict when what is there is not a folder that is ours alone.
    """
    path = home.run_folder / "bridge.sock"
    if len(os.fsencode(path)) <= MAX_PATH_BYTES:
        return path
    name = hashlib.sha256(os.fsencode(home.folder)).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"perdure-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise Conflict(f"{folder} is not a folder that you alone may enter; remove it, or name a --home with a shorter path.")
    return folder / "bridge.sock"


def _parse_hello(line: bytes) -> dict[str, Any]:
    """Raises ValueError for what no bridge says."""
    hello = json.loads(line)
    if not isinstance(hello, dict) or hello.get("perdure") != 1:
        raise ValueError("not a bridge")
    return hello


def _line(document: dict[str, object]) -> bytes:
    return json.dumps(document).encode() + b"\n"
