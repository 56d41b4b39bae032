"""The stdio side of a connection: whole lines to the daemon and back, whatever becomes of the daemon meanwhile.

Two threads: one takes what the client says and passes it on, the other brings the daemon's answers. The client's handshake is
remembered, so that a daemon that was started anew is told of it. What merely asks, was never sent, or calls a tool that does no
more when called twice is sent again; any other call that a daemon was given before it died is answered by an error, for only the
client can know whether repeating it is right.
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
from perdure.surfaces.bridge.state import DaemonState

DRAIN_S = 15.0
MAX_TRIES = 3
"""A daemon that dies of a request is not fed it for ever."""
REPLAY_ID = "perdure-handshake-again"
_REPLAY_KEY = f'"{REPLAY_ID}"'
RESTARTED = "perdure restarted; the call may or may not have been done: repeat it (a capture that is repeated is stored once)"


@dataclass(slots=True, eq=False)
class _Line:
    """What the client said. `key`: it waits for an answer. `tool`: the tool it calls."""

    text: bytes
    key: str | None = None
    tool: str | None = None
    sent: bool = False
    tries: int = 0

    def may_be_sent_again(self, repeatable: frozenset[str]) -> bool:
        return (self.tool is None or self.tool in repeatable or not self.sent) and self.tries < MAX_TRIES


class Pump:
    """`connect` answers a connection that the daemon has accepted, and starts the daemon if need be.

    `write` takes whole lines, from either thread. `connection`: one that is there already. Each comes with what its daemon
    tells of itself, the tools that do no more when called twice among it.
    """

    def __init__(
        self,
        connect: Callable[[], tuple[socket.socket, DaemonState]],
        write: Callable[[bytes], None],
        *,
        kept: KeptAnswers | None = None,
        connection: tuple[socket.socket, DaemonState] | None = None,
    ) -> None:
        self._connect = connect
        self._write = write
        self._kept = kept
        self._changed = threading.Condition()
        self._sending = threading.Lock()  # taken before `_changed` by whoever takes both
        self._connection = connection[0] if connection else None
        self._repeatable = frozenset(connection[1].repeatable if connection else ())
        self._waiting: list[_Line] = []
        self._open: dict[str, _Line] = {}
        self._initialize: _Line | None = None
        self._initialized: _Line | None = None
        self._wanted = True
        self._greeted = False
        threading.Thread(target=self._run, name="daemon-to-client", daemon=True).start()

    def take(self, text: bytes) -> None:
        """One line of the client."""
        if not text.strip():
            return
        message = parse(text)
        key, method = request_key(message), message.get("method")
        if len(text) > MAX_LINE_BYTES:
            why = f"too_large: a message may have {MAX_LINE_BYTES // 2**20} MiB; this one was not passed on."
            self._write(failure(key or "null", why, reason="too_large", code=INVALID_REQUEST))
            return
        params = message.get("params")
        tool = str(params.get("name") if isinstance(params, dict) else None) if method == "tools/call" else None
        line = _Line(text if text.endswith(b"\n") else text + b"\n", key if method else None, tool)
        answer = self._kept.answer(message) if self._kept else None
        with self._sending:
            with self._changed:
                if method == "initialize":
                    self._initialize = line
                elif method == "notifications/initialized":
                    self._initialized = line
                elif method == "notifications/cancelled":
                    self._cancel(request_key({"id": (message.get("params") or {}).get("requestId")}))
                connection = self._connection
                if connection is None:
                    self._answer_or_wait(line, answer)
                elif line.key:
                    self._open[line.key] = line
            if connection is not None:
                self._send(connection, [line])

    def finish(self, timeout_s: float = DRAIN_S) -> None:
        """The client says no more: wait, for that long at most, until everything it asked is answered."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open and not self._waiting, timeout_s)

    def _answer_or_wait(self, line: _Line, answer: bytes | None) -> None:
        """No daemon yet: what is known is said, the rest waits for the next connection, which opens with the handshake anyway."""
        if answer:
            self._write(answer)
            return
        if line.key:
            self._open[line.key] = line
        if self._greeted or line not in (self._initialize, self._initialized):
            self._waiting.append(line)
        self._wanted = True
        self._changed.notify_all()

    def _send(self, connection: socket.socket, lines: list[_Line]) -> None:
        """Never under the lock: the daemon may have to be rid of its answers before it takes more.

        A line whose sending failed has not reached the daemon whole, so it was not obeyed.
        """
        try:
            for line in lines:
                connection.sendall(line.text)
                line.sent = True
        except OSError:
            self._shut(connection)  # the other thread notices, and settles what is open

    def _cancel(self, key: str | None) -> None:
        """A request that was taken back gets no answer any more."""
        if key and (line := self._open.pop(key, None)) in self._waiting and line is not None:
            self._waiting.remove(line)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted)
            connection = self._connection or self._reconnect()
            if connection is not None:
                self._bring(connection)
                self._settle(connection)

    def _reconnect(self) -> socket.socket | None:
        """A new connection that knows the client's handshake and has what waited; None when there can be none."""
        try:
            connection, state = self._connect()
        except (PerdureError, Refused) as error:
            self._refuse(error.code, error.message)
            return None
        except Exception as error:  # noqa: BLE001 - the client must be told, whatever it is, and may ask again
            self._refuse("internal", f"perdure cannot be reached: {type(error).__name__}")
            return None
        self._repeatable = frozenset(state.repeatable)
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

    def _handshake(self) -> list[_Line]:
        if self._initialize is None:
            return []
        asked = self._initialize.key in self._open
        again = self._initialize if asked else _Line(with_id(self._initialize.text, REPLAY_ID))
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

    def _settle(self, connection: socket.socket) -> None:
        """The daemon is gone: what may be sent again waits for the next one, the rest is answered by an error."""
        self._shut(connection)
        with self._sending, self._changed:
            self._connection = None
            for line in [line for line in self._open.values() if not line.may_be_sent_again(self._repeatable)]:
                self._write(failure(str(line.key), RESTARTED, reason="restarted"))
                del self._open[str(line.key)]
            for line in self._open.values():
                line.tries, line.sent = line.tries + 1, False
            self._waiting = [line for line in self._open.values() if line is not self._initialize]
            self._wanted = bool(self._open)
            self._changed.notify_all()

    @staticmethod
    def _shut(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
