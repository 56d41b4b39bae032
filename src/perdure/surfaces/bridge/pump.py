"""The stdio side of a connection: whole lines to the daemon and back, whatever becomes of the daemon meanwhile.

Two threads: one takes what the client says and passes it on, the other brings the daemon's answers. The client's handshake is
remembered, so that a daemon that was started anew is told of it. A tool call that was under way when the daemon died is
answered by an error, for only the client can know whether repeating it is right; what merely asks is asked again.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from perdure.errors import PerdureError
from perdure.surfaces.bridge.answers import KeptAnswers
from perdure.surfaces.bridge.messages import INVALID_REQUEST, MAX_LINE_BYTES, failure, parse, request_key, with_id
from perdure.surfaces.bridge.start import Refused

DRAIN_S = 15.0
REPLAY_ID = "perdure-handshake-again"
_REPLAY_KEY = f'"{REPLAY_ID}"'
RESTARTED = "perdure restarted; the call may or may not have been done: repeat it (a capture that is repeated is stored once)"


@dataclass(slots=True)
class _Open:
    """A request that the client waits for; `again`: it may be sent once more."""

    line: bytes
    again: bool


class Pump:
    """`connect` answers a connection that the daemon has accepted, and starts the daemon if need be.

    `write` takes whole lines, from either thread. `connection`: one that is there already.
    """

    def __init__(
        self,
        connect: Callable[[], socket.socket],
        write: Callable[[bytes], None],
        *,
        kept: KeptAnswers | None = None,
        connection: socket.socket | None = None,
    ) -> None:
        self._connect = connect
        self._write = write
        self._kept = kept
        self._changed = threading.Condition()
        self._connection = connection
        self._waiting: list[bytes] = []
        self._open: dict[str, _Open] = {}
        self._initialize: bytes | None = None
        self._initialized: bytes | None = None
        self._wanted = True
        self._greeted = False
        threading.Thread(target=self._run, name="daemon-to-client", daemon=True).start()

    def take(self, line: bytes) -> None:
        """One line of the client."""
        if not line.strip():
            return
        line = line if line.endswith(b"\n") else line + b"\n"
        message = parse(line)
        key, method = request_key(message), message.get("method")
        if len(line) > MAX_LINE_BYTES:
            text = f"too_large: a message may have {MAX_LINE_BYTES // 2**20} MiB; this one was not passed on."
            self._write(failure(key or "null", text, reason="too_large", code=INVALID_REQUEST))
            return
        answer = self._kept.answer(message) if self._kept else None
        with self._changed:
            if method == "initialize":
                self._initialize = line
            elif method == "notifications/initialized":
                self._initialized = line
            elif method == "notifications/cancelled":
                self._cancel(request_key({"id": (message.get("params") or {}).get("requestId")}))
            connection = self._connection
            if connection is None and answer:
                self._write(answer)
                return
            if method is not None and key:
                self._open[key] = _Open(line, again=method != "tools/call")
            if connection is None:
                self._wait(line, part_of_handshake=line in (self._initialize, self._initialized))
        if connection is not None:
            self._send(connection, [line])

    def finish(self, timeout_s: float = DRAIN_S) -> None:
        """The client says no more: wait, for that long at most, until everything it asked is answered."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open and not self._waiting, timeout_s)

    def _wait(self, line: bytes, *, part_of_handshake: bool) -> None:
        """Keep the line for the next connection, which opens with the handshake anyway."""
        if self._greeted or not part_of_handshake:
            self._waiting.append(line)
        self._wanted = True
        self._changed.notify_all()

    def _send(self, connection: socket.socket, lines: list[bytes]) -> None:
        """Never under the lock: the daemon may have to be rid of its answers before it takes more."""
        try:
            for line in lines:
                connection.sendall(line)
        except OSError:
            self._shut(connection)  # the other thread notices, and settles what is open

    def _cancel(self, key: str | None) -> None:
        """A request that was taken back gets no answer any more."""
        if key and (request := self._open.pop(key, None)) and request.line in self._waiting:
            self._waiting.remove(request.line)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted)
            connection = self._connection or self._reconnect()
            if connection is not None:
                self._bring(connection)
                self._settle()

    def _reconnect(self) -> socket.socket | None:
        """A new connection that knows the client's handshake and has what waited; None when there can be none."""
        try:
            connection = self._connect()
        except (PerdureError, Refused) as error:
            self._refuse(error.code, error.message)
            return None
        except Exception as error:  # noqa: BLE001 - the client must be told, whatever it is, and may ask again
            self._refuse("internal", f"perdure cannot be reached: {type(error).__name__}")
            return None
        with self._changed:
            lines = self._handshake()
            self._greeted = True
        while True:
            self._send(connection, lines)
            with self._changed:
                lines, self._waiting = self._waiting, []
                if not lines:
                    self._connection, self._greeted = connection, False
                    return connection

    def _handshake(self) -> list[bytes]:
        if self._initialize is None:
            return []
        asked = request_key(parse(self._initialize)) in self._open
        again = self._initialize if asked else with_id(self._initialize, REPLAY_ID)
        return [again] if self._initialized is None else [again, self._initialized]

    def _refuse(self, code: str, text: str) -> None:
        with self._changed:
            for key in self._open:
                self._write(failure(key, text, reason=code))
            self._open.clear()
            self._waiting.clear()
            self._wanted = False
            self._changed.notify_all()

    def _bring(self, connection: socket.socket) -> None:
        """Everything the daemon says, until it says no more."""
        with connection.makefile("rb") as lines:
            try:
                for line in lines:
                    if line.endswith(b"\n"):
                        self._answered(line)
            except OSError:
                return

    def _answered(self, line: bytes) -> None:
        message = parse(line)
        key = None if "method" in message else request_key(message)
        if key == _REPLAY_KEY:
            return
        self._write(line)
        if key:
            with self._changed:
                self._open.pop(key, None)
                self._changed.notify_all()

    def _settle(self) -> None:
        """The daemon is gone: calls get an error, questions are asked again, once."""
        with self._changed:
            self._shut(self._connection)
            self._connection = None
            for key, request in list(self._open.items()):
                if request.again:
                    request.again = False
                    if request.line != self._initialize:
                        self._waiting.append(request.line)
                else:
                    self._write(failure(key, RESTARTED, reason="restarted"))
                    del self._open[key]
            self._wanted = bool(self._open)
            self._changed.notify_all()

    @staticmethod
    def _shut(connection: socket.socket | None) -> None:
        if connection is None:
            return
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
