"""`perdure mcp`: one client's stdio, bridged to the daemon. Standard output carries JSON-RPC and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from types import FrameType

from perdure.domain.launch import Launch
from perdure.errors import Timeout, VaultMissing
from perdure.surfaces.bridge.answers import read_answers
from perdure.surfaces.bridge.pump import Pump
from perdure.surfaces.bridge.start import Refused, find_connection, is_older, open_connection
from perdure.surfaces.bridge.state import DaemonState, mark_of, read_state

if sys.platform == "win32":
    import msvcrt

_GLANCE_S = 1.0
"""So long may a running daemon keep the client from the kept answers."""


def run_bridge(launch: Launch, family: str, *, project: str | None, environ: Mapping[str, str]) -> int:
    """Until standard input ends; answers the exit code. `environ` is what a daemon that must be started is given."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, _leave)
    hello = {"family": family, "token": launch.token, "cwd": os.getcwd(), "project": project}
    pump = Pump(
        _opener(launch, environ, hello),
        _claim_stdout(),
        # An answer given before the token was checked would be given to anyone.
        kept=read_answers(launch.home, family) if launch.token is None else None,
        connection=_running(launch, hello),
    )
    for line in sys.stdin.buffer:
        pump.take(line)
    pump.finish()
    return 0


def _opener(
    launch: Launch, environ: Mapping[str, str], hello: Mapping[str, object]
) -> Callable[[], tuple[socket.socket, DaemonState]]:
    """Connects, starting the daemon if need be; but where a home was that is gone it makes no empty one: VaultMissing."""
    home = launch.home
    known = mark_of(home.folder)

    def connect() -> tuple[socket.socket, DaemonState]:
        nonlocal known
        if known is not None and mark_of(home.folder) != known and not home.header_file.exists():
            raise VaultMissing(
                f"{home.folder}, where this memory was, is gone (moved, removed or not mounted); nothing was created. "
                "Put it back; or start this client anew, with --home naming its new place."
            )
        found = open_connection(launch, environ, hello)
        known = mark_of(home.folder)
        return found

    return connect


def _running(launch: Launch, hello: Mapping[str, object]) -> tuple[socket.socket, DaemonState] | None:
    """A connection to a daemon that is there already, so that its answers need not come from the kept ones."""
    state = read_state(launch.home)
    if state is None or is_older(state.version):
        return None
    try:
        return find_connection(launch.home, hello, timeout_s=_GLANCE_S)
    except (Refused, Timeout):
        return None  # the pump tries again, and tells the client why not


def _leave(number: int, frame: FrameType | None) -> None:
    """At once: nothing is buffered, and a thread that waits for the daemon must not hold the process."""
    os._exit(0 if number == signal.SIGTERM else 128 + number)


def _claim_stdout() -> Callable[[bytes], None]:
    """Writes whole lines to what was standard output; whoever else writes there writes to standard error from now on."""
    wire = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "win32":
        msvcrt.setmode(wire, os.O_BINARY)
    lock = threading.Lock()

    def write(line: bytes) -> None:
        rest = memoryview(line)
        try:
            with lock:
                while rest:
                    rest = rest[os.write(wire, rest) :]
        except OSError:
            os._exit(0)  # the client is gone, and with it everyone who could be told

    return write
