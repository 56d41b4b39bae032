"""The HTTP sockets: both loopback addresses on one port, or what `--host` names."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket

from perdure.domain.launch import DEFAULT_PORT
from perdure.errors import Conflict, InvalidInput

LOOPBACK = ("127.0.0.1", "::1")
_ATTEMPTS = 20
_NO_SUCH_ADDRESS = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT}


def listen(host: str | None, port: int | None) -> list[socket.socket]:
    """Bound sockets, the first address first. `port` None: 3001, or a free one where that is taken; 0: a free one.

    Raises Conflict for a named port that is taken, InvalidInput for a host that is not this machine's.
    """
    addresses = LOOPBACK if host is None else _addresses(host)
    if port is not None and port != 0:
        return _bind(addresses, port, host)
    if port is None:
        with contextlib.suppress(Conflict):
            return _bind(addresses, DEFAULT_PORT, host)
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(Conflict):
            return _bind(addresses, 0, host)
    raise Conflict("No port is free on all of this machine's loopback addresses.")


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def url_of(listener: socket.socket) -> str:
    """Where it is reached from this machine, also when it listens on every address."""
    host, port = listener.getsockname()[:2]
    if listener.family == socket.AF_INET6:
        return f"http://[{'::1' if host == '::' else host}]:{port}"
    return f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"


def is_beyond_loopback(host: str | None) -> bool:
    return host is not None and not all(ipaddress.ip_address(address).is_loopback for address in _addresses(host))


def _addresses(host: str) -> tuple[str, ...]:
    if host == "localhost":
        return LOOPBACK
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        found = []
    if not found:
        raise InvalidInput(f"host: {host!r} is no address of this machine; 127.0.0.1, ::1 or 0.0.0.0 are", argument="host")
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


def _bind(addresses: tuple[str, ...], port: int, host: str | None) -> list[socket.socket]:
    """One port on every address; an address that this machine lacks (IPv6 switched off) is left out unless it was named."""
    listeners: list[socket.socket] = []
    try:
        for address in addresses:
            try:
                listeners.append(_bound(address, port_of(listeners[0]) if listeners else port))
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS or (host is not None and len(addresses) == 1):
                    raise
    except OSError as error:
        for listener in listeners:
            listener.close()
        raise _refusal(error, host, port) from None
    if not listeners:
        raise InvalidInput("host: this machine has no such address", argument="host")
    return listeners


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # With the protocol named asyncio turns Nagle's algorithm off; without it every answer waits 40 ms for the client's ACK.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if os.name == "posix":  # on Windows it would let two programs take one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _refusal(error: OSError, host: str | None, port: int) -> Conflict | InvalidInput:
    if error.errno in _NO_SUCH_ADDRESS:
        return InvalidInput(f"host: {host!r} is no address of this machine", argument="host")
    if error.errno == errno.EACCES:
        return InvalidInput(f"port: {port} may not be used by this user; take one from 1024 up", argument="port")
    return Conflict(f"Port {port} is taken by another program; name another with --port, or leave --port out to get a free one.")
