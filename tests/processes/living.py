"""Real processes of one home: bridges as an MCP client starts them, and the daemon they share."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from perdure.domain.launch import Home
from perdure.surfaces.bridge.state import DaemonState, read_state

ANSWER_S = 60.0
CLIENT = {"name": "test-client", "version": "1.0"}
OLD_ERA = "2025-06-18"
NEW_ERA = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
Message = dict[str, Any]


class Bridge:
    """One `perdure mcp` process; every line it ever wrote to standard output is in `lines`."""

    def __init__(self, home: Path, *, flags: tuple[str, ...] = (), environ: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, *flags, "-m", "perdure", "mcp", "--home", str(home)]
        pipe = subprocess.PIPE
        env = {**os.environ, "PERDURE_PORT": "0", **(environ or {})}
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
        self.lines: list[bytes] = []
        self._arrived: queue.Queue[Message] = queue.Queue()
        self._last_id = 0
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Message | None = None) -> int:
        """Ask without waiting; answers the id."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params or {}}
        self.say(json.dumps(message).encode())
        return self._last_id

    def next(self) -> Message:
        """The next message, waiting for it."""
        return self._arrived.get(timeout=ANSWER_S)

    def ask(self, method: str, params: Message | None = None) -> Message:
        asked = self.send(method, params)
        answer = self.next()
        assert answer["id"] == asked
        return answer

    def initialize(self) -> Message:
        answer = self.ask("initialize", {"protocolVersion": OLD_ERA, "capabilities": {}, "clientInfo": CLIENT})
        self.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        assert "result" in answer, answer
        result: Message = answer["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> Message:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        result: Message = answer["result"]
        assert not result.get("isError"), result
        structured: Message = result["structuredContent"]
        return structured

    def capture(self, content: str) -> str:
        return str(self.call("cortexa_capture", content=content, thought_type="note", project="demo")["id"])

    def read(self, item: str) -> str:
        return str(self.call("cortexa_get_item", item_id=item)["content"])

    def close(self) -> int:
        """End its input, as a client does; answers the exit code."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        code = self.process.wait(ANSWER_S)
        self._reader.join(ANSWER_S)
        return code

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.close()

    def errors(self) -> str:
        """What it wrote to standard error; after its end."""
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def dispose(self) -> None:
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            with contextlib.suppress(ValueError):
                self._arrived.put(json.loads(line))


class Household:
    """A home with its processes; `dispose` ends them all."""

    def __init__(self, folder: Path, wait_until: Callable[..., None]) -> None:
        self.folder = folder
        self.home = Home(folder)
        self.wait_until = wait_until
        self._bridges: list[Bridge] = []
        self._servers: list[subprocess.Popen[bytes]] = []
        self._pids: set[int] = set()

    def bridge(
        self, *, flags: tuple[str, ...] = (), environ: Mapping[str, str] | None = None, home: Path | None = None
    ) -> Bridge:
        bridge = Bridge(home or self.folder, flags=flags, environ=environ)
        self._bridges.append(bridge)
        return bridge

    def client(self) -> Bridge:
        """A bridge whose handshake is done."""
        bridge = self.bridge()
        bridge.initialize()
        return bridge

    def serve(self, *arguments: str, environ: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """`perdure serve` in the foreground; ends by itself or with the household."""
        command = [sys.executable, "-m", "perdure", "--home", str(self.folder), "serve", *arguments]
        env = {**os.environ, **(environ or {})}
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self._servers.append(server)
        return server

    def daemon(self) -> DaemonState:
        """What the daemon tells of itself, once it does; what one that was killed left behind does not count."""
        self.wait_until(lambda: (state := read_state(self.home)) is not None and lives(state.pid), timeout_s=ANSWER_S)
        state = read_state(self.home)
        assert state is not None
        self._pids.add(state.pid)
        return state

    def kill_daemon(self, number: signal.Signals = signal.SIGKILL) -> DaemonState:
        """End it by a signal, and wait until it is gone."""
        state = self.daemon()
        os.kill(state.pid, number)
        self.wait_until(lambda: not lives(state.pid), timeout_s=ANSWER_S)
        return state

    def rest(self, method: str, path: str, body: Message | None = None) -> Message:
        """Ask the daemon over HTTP, as the owner."""
        url = urlsplit(self.daemon().urls[0])
        connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=ANSWER_S)
        headers = {"Authorization": f"Bearer {self.home.token_file.read_text().strip()}", "Content-Type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body or {}), headers)
            answer = connection.getresponse()
            document: Message = json.loads(answer.read())
        finally:
            connection.close()
        assert answer.status < 300, document
        return document

    def started(self) -> int:
        """How many daemons have opened the vault so far."""
        return (self.home.log_folder / "daemon.log").read_text().count("the vault is open")

    def dispose(self) -> None:
        state = read_state(self.home)
        pids = self._pids | ({state.pid} if state else set())
        for bridge in self._bridges:
            bridge.dispose()
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for server in self._servers:
            server.kill()
            server.communicate()
        self.wait_until(lambda: not any(lives(pid) for pid in pids), timeout_s=ANSWER_S)


def lives(pid: int) -> bool:
    """Whether a process of that id runs; one that ended and was not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            return not Path("/proc").exists()
        return False
