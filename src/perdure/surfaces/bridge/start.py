"""Finds the running daemon, or starts it: one start, however many ask at once. Standard library only, for the bridge."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perdure.domain.launch import Home, Launch
from perdure.domain.version import VERSION
from perdure.errors import DiskReadOnly, Internal, Timeout
from perdure.surfaces.bridge.locking import FileLock
from perdure.surfaces.bridge.state import DaemonState, read_state, unwritable

START_TIMEOUT_S = 60.0
HELLO_TIMEOUT_S = 15.0
_PAUSE_S = 0.02
_MAX_REASON = 600
_MAX_DIGITS = 10
_left_behind: list[int] = []


def ensure_daemon(launch: Launch, environ: Mapping[str, str], *, timeout_s: float = START_TIMEOUT_S) -> DaemonState:
    """The daemon of this home, running and reachable; an older one than this process is replaced.

    Raises DiskReadOnly (its folders cannot be made), Internal (it ended at once: the message says why), Timeout.
    """
    connection, state = open_connection(launch, environ, {}, timeout_s=timeout_s)
    connection.close()
    return state


def open_connection(
    launch: Launch, environ: Mapping[str, str], hello: Mapping[str, object], *, timeout_s: float = START_TIMEOUT_S
) -> tuple[socket.socket, DaemonState]:
    """A connection that the daemon has accepted; where none runs it is started first.

    Raises like `ensure_daemon`, and Refused.
    """
    home, deadline = launch.home, time.monotonic() + timeout_s
    lock, child = _start_lock(home), None
    try:
        while True:
            state = read_state(home)
            found = find_connection(home, hello) if state is None or not is_older(state.version) else None
            if found is not None:
                return found
            if child is not None and child.poll():
                raise Internal(f"perdure did not start: {_last_words(home)}")
            waits = state is not None and is_older(state.version) and ask_to_stop(state)
            if not waits and (child is None or child.poll() == 0) and _take(lock, home):
                child = _start(launch, environ)
            if time.monotonic() > deadline:
                raise Timeout(f"perdure did not start within {timeout_s:.0f} s; `perdure serve` shows what happens.")
            time.sleep(_PAUSE_S)
    finally:
        lock.release()
        if child is not None and child.poll() is None:
            child.returncode = 0  # it is meant to outlive us: no warning that it does
            _left_behind.append(child.pid)


class Refused(Exception):
    """The daemon answered and said no; `code` is a stable one, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


def ask_to_stop(state: DaemonState) -> bool:
    """Ask a daemon to end, as the owner of its socket and without a token; False where none is there."""
    try:
        _connect(state, {"stop": True}, HELLO_TIMEOUT_S).close()
    except Refused:
        return True
    except (OSError, ValueError):
        return False
    return True


def find_connection(
    home: Home, hello: Mapping[str, object], *, timeout_s: float = HELLO_TIMEOUT_S
) -> tuple[socket.socket, DaemonState] | None:
    """A connection to the daemon that runs; None when none does. Raises Refused, and Timeout for one that does not answer."""
    state = read_state(home)
    if state is None:
        return None
    try:
        connection = _connect(state, hello, timeout_s)
    except TimeoutError:
        raise Timeout(f"perdure (process {state.pid}) does not answer; end it, and the next call starts it anew.") from None
    except (OSError, ValueError):
        return None
    if read_state(home) != state:
        # Another daemon listens at the same place by now, and has not yet said where else it does.
        connection.close()
        return None
    return connection, state


def _connect(state: DaemonState, hello: Mapping[str, object], timeout_s: float) -> socket.socket:
    if state.nonce is None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        address: Any = state.socket
    else:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        host, _, port = state.socket.rpartition(":")
        address = (host, int(port))
    try:
        connection.settimeout(timeout_s)
        connection.connect(address)
        words = {"perdure": 1, "version": VERSION, "nonce": state.nonce, "home": state.mark, **hello}
        connection.sendall(json.dumps(words).encode() + b"\n")
        answer = json.loads(_first_line(connection))
        if not answer.get("ok"):
            raise Refused(answer.get("code", "internal"), answer.get("message", "perdure refused the connection."))
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


def _first_line(connection: socket.socket) -> bytes:
    """Byte by byte, so that nothing of what follows is taken; it is one short line per connection."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            raise ConnectionResetError("the daemon ended")
        line += byte
    return bytes(line)


def is_older(version: str) -> bool:
    """Whether a daemon of that version must make way for one of this process's."""
    return _release(version) < _release(VERSION)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal() and len(part) < _MAX_DIGITS)


def _start_lock(home: Home) -> FileLock:
    try:
        for folder in (home.folder, home.run_folder, home.log_folder):  # parents would get no mode of their own
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FileLock(_start_lock_file(home))
    except OSError as error:
        why = f"{error.filename} cannot be made ({error.strerror})"
        raise DiskReadOnly(f"{why}; make it writable, or name another --home.") from None


def _start_lock_file(home: Home) -> Path:
    return home.run_folder / "start.lock"


def _take(lock: FileLock, home: Home) -> bool:
    try:
        return lock.take()
    except OSError as error:
        raise unwritable(error, _start_lock_file(home)) from None


def _start(launch: Launch, environ: Mapping[str, str]) -> Any:
    """A process of its own: it outlives this one, has no terminal, and speaks into a file.

    `-P`: started from a project's folder, it must not import what lies there.
    """
    import subprocess  # noqa: PLC0415 - costs 9 ms, and most bridges find a daemon that runs

    command = [sys.executable, "-P", "-m", "perdure", "serve", "--detached", "--home", str(launch.home.folder)]
    command += ["--port", str(launch.port)] if launch.port is not None else []
    command += ["--host", launch.host] if launch.host is not None else []
    _reap()
    try:
        words = os.open(_start_log(launch.home), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise unwritable(error, launch.home.log_folder) from None
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env=dict(environ),
            cwd=launch.home.folder,
            start_new_session=True,
        )
    finally:
        os.close(words)
    return child


def _reap() -> None:
    """Daemons that this process started and that have ended since leave no zombies."""
    for pid in tuple(_left_behind) if hasattr(os, "WNOHANG") else ():
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0]
        except ChildProcessError:
            ended = pid
        if ended:
            _left_behind.remove(pid)


def _start_log(home: Home) -> str:
    return str(home.log_folder / "start.log")


def _last_words(home: Home) -> str:
    with contextlib.suppress(OSError), open(_start_log(home), encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
        if lines:
            return lines[-1][-_MAX_REASON:]
    return "it ended without a word"
