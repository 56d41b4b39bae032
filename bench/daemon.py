"""A perdure daemon of its own for a measurement: temporary home, free port, real process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START_TIMEOUT_S = 60.0


@dataclass
class Daemon:
    """One home and the daemon over it, which may be killed and started again."""

    home: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        state = json.loads((self.home / "run" / "daemon.json").read_text())
        return str(state["urls"][0])

    @property
    def token(self) -> str:
        return (self.home / "token").read_text().strip()

    def start(self) -> None:
        """Start, and return when it answers and its vault is open. Raises RuntimeError with its log when it does not."""
        command = [sys.executable, "-m", "perdure", "serve", "--home", str(self.home), "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if self._is_ready():
                return
            time.sleep(0.02)
        self.process.kill()
        raise RuntimeError(f"the daemon did not start: {self.process.communicate()[1].decode()[-2000:]}")

    def _is_ready(self) -> bool:
        try:
            state = json.loads((self.home / "run" / "daemon.json").read_text())
            if self.process is None or state["pid"] != self.process.pid:
                return False
            return bool(self.rest("GET", "/api/health")["vault"] == "open")
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        """One REST call with the primary token; answers the parsed JSON."""
        request = urllib.request.Request(self.url + path, method=method)
        if path != "/api/health":
            request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(request, data, timeout=120) as answer:
            return json.loads(answer.read())

    def kill(self) -> None:
        """kill -9, as a power cut would end it."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, how)
            self.process.communicate(timeout=60)
            self.process = None


@contextlib.contextmanager
def running_daemon() -> Iterator[Daemon]:
    """A started daemon over an empty temporary home; ended and erased afterwards."""
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        daemon = Daemon(Path(folder) / "home")
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()
