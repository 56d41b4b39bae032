"""The whole loop in a temporary home with a daemon of its own: what was answered survives a kill, and is found again."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from perdure.domain.launch import Home, Launch
from perdure.errors import PerdureError
from perdure.surfaces.cli.client import reach
from perdure.surfaces.cli.context import CliContext
from perdure.surfaces.cli.diagnosis import FAULT, WELL, Finding
from perdure.surfaces.cli.failure import Failure

PART = "Whole loop, in a temporary home"
KILL_TIMEOUT_S = 10.0
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class _Loop:
    """One run; each step says what holds when it passes, and raises Failure, PerdureError or OSError when it does not."""

    def __init__(self, context: CliContext, folder: Path) -> None:
        self._context = context
        self._launch = Launch(home=Home(folder / "home"), port=0)
        self._backup = folder / "backup"
        self._marker = f"marker{secrets.token_hex(8)}"
        self._content = f"doctor: {self._marker} \u00fc\u6f22 \U0001f525\r\n---\n"

    def start(self) -> str:
        """A daemon starts and makes a vault."""
        environ = {name: value for name, value in self._context.child_environ().items() if not name.startswith("PERDURE_")}
        state = self._context.start_daemon(self._launch, environ)
        self._daemon = reach(state, self._launch)
        return f"a daemon started (process {state.pid})"

    def capture(self) -> str:
        self._id = str(self._daemon.post("/api/memories", {"content": self._content, "kind": "note"})["id"])
        return "a memory was captured"

    def search(self) -> str:
        hits = self._daemon.get("/api/search", {"query": self._marker})["hits"]
        _require([hit["memory"]["id"] for hit in hits] == [self._id], "the search does not find it")
        return "a search finds it"

    def kill(self) -> str:
        os.kill(self._daemon.state.pid, KILL)
        deadline, pause = time.monotonic() + KILL_TIMEOUT_S, threading.Event()
        with contextlib.suppress(Failure):
            while time.monotonic() < deadline:
                self._daemon.get("/api/health")
                pause.wait(0.05)
            raise TimeoutError("the daemon lives on after it was killed")
        return "the daemon was killed without warning"

    def restart(self) -> str:
        self.start()
        return f"it started again (process {self._daemon.state.pid})"

    def read_back(self) -> str:
        memory = self._daemon.get(f"/api/memories/{self._id}")
        _require(memory["content"] == self._content, "the memory came back changed")
        return "the memory is there to the byte"

    def back_up(self) -> str:
        self._daemon.post("/api/vault/backup", {"folder": str(self._backup)})
        self._daemon.post("/api/vault/restore", {"folder": str(self._backup)})
        self.read_back()
        return "a backup was made, restored and read"

    def check(self) -> str:
        faults = self._daemon.post("/api/vault/check", {"deep": True})["faults"]
        _require(not faults, "; ".join(str(fault) for fault in faults))
        return "the vault is whole"

    def look_for_plain_text(self) -> str:
        marker = self._marker.encode()
        plain = [path.name for path in self._backup.parent.rglob("*") if path.is_file() and marker in path.read_bytes()]
        _require(not plain, f"plain text was found in {', '.join(plain)}")
        return "nothing of it lies on the disk in plain text"

    def end(self) -> None:
        with contextlib.suppress(AttributeError, Failure):
            self._daemon.post("/api/stop")


def prove(context: CliContext) -> list[Finding]:
    """A finding for each step, up to the first that fails."""
    with tempfile.TemporaryDirectory(prefix="pd-", ignore_cleanup_errors=True) as folder:
        loop = _Loop(context, Path(folder))
        steps: list[Callable[[], str]] = [
            loop.start, loop.capture, loop.search, loop.kill, loop.restart, loop.read_back, loop.look_for_plain_text,
            loop.back_up, loop.check,
        ]  # fmt: skip
        findings: list[Finding] = []
        try:
            for step in steps:
                findings.append(Finding(part=PART, state=WELL, what=step()))
        except (Failure, PerdureError, OSError) as error:
            name = step.__name__.replace("_", " ")
            mend = "try again; if it stays, report it with the output of `perdure doctor --json`"
            findings.append(Finding(part=PART, state=FAULT, what=f"step {name!r} failed: {error}", mend=mend))
        finally:
            loop.end()
    return findings


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Failure("internal", otherwise)
