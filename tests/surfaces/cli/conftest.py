"""A shell: the command line in process, speaking to a whole perdure that this process serves over a temporary home."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.launch import Home, Launch
from perdure.domain.version import VERSION
from perdure.surfaces.bridge.state import DaemonState
from perdure.surfaces.cli.context import CliContext
from perdure.surfaces.cli.main import run
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.mcp.gate import Gate
from perdure.surfaces.rest.asgi import build_asgi


@dataclass(frozen=True)
class Ran:
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def json(self) -> Any:
        """What a program reads: exactly one document."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error a program reads, on standard error, with nothing on standard output."""
        assert self.out == b""
        told: dict[str, str] = json.loads(self.err)["error"]
        assert set(told) == {"code", "message"}
        return told


class Stream(io.TextIOWrapper):
    def __init__(self, content: bytes = b"", *, encoding: str = "utf-8", terminal: bool = False) -> None:
        super().__init__(io.BytesIO(content), encoding=encoding, newline="\n")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def content(self) -> bytes:
        self.flush()
        inner = self.buffer
        assert isinstance(inner, io.BytesIO)
        return inner.getvalue()


@dataclass
class Shell:
    """`shell("show", id)`: the exit code and what was written. `calls` gathers what was handed to serve, bridge and bench."""

    home: Path
    state: DaemonState | None = None
    environ: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def __call__(
        self, *argv: str, stdin: bytes = b"", terminal: bool = False, encoding: str = "utf-8", stdin_terminal: bool = False
    ) -> Ran:
        out, err = Stream(encoding=encoding, terminal=terminal), Stream(encoding=encoding)
        given = Stream(stdin, terminal=stdin_terminal)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", given)
            code = run(argv, self._context())
        return Ran(code, out.content(), err.content().decode(encoding))

    def capture(self, content: str, *options: str) -> str:
        """The new memory's id."""
        ran = self("capture", "-", *options, stdin=content.encode())
        assert ran.code == 0, ran.err
        return ran.text.strip()

    def told(self, *argv: str, stdin: bytes = b"") -> Any:
        """The JSON answer of a command that must succeed."""
        ran = self(*argv, "--json", stdin=stdin)
        assert ran.code == 0, ran.err
        return ran.json

    def refused(self, *argv: str, code: str, exit_code: int = 1, stdin: bytes = b"") -> str:
        """The message of a command that must fail so."""
        ran = self(*argv, "--json", stdin=stdin)
        assert (ran.error["code"], ran.code) == (code, exit_code), ran.err
        return ran.error["message"]

    def _context(self) -> CliContext:
        return CliContext(
            read_launch=self._read_launch,
            build_app=build_app,
            child_environ=lambda: {},
            serve=lambda launch, *, background: self._called("serve", (launch, background)),
            bridge=lambda argv: self._called("bridge", list(argv)),
            bench=lambda argv: self._called("bench", list(argv)),
            start_daemon=self._start,
        )

    def _read_launch(self, *, home: Path | None = None, host: str | None = None, port: int | None = None) -> Launch:
        return read_launch(home=home or self.home, host=host, port=port, environ=self.environ)

    def _start(self, launch: Launch, _: Any) -> DaemonState:
        assert self.state is not None, "this test's shell has no daemon"
        return self.state

    def _called(self, name: str, what: Any) -> int:
        self.calls.append((name, what))
        return 0


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, serves: threading.Event) -> None:
        super().__init__(config)
        self._serves = serves

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._serves.set()


@pytest.fixture
def shell(tmp_home: Path) -> Iterator[Shell]:
    """A shell whose commands find a daemon over an empty vault."""
    with serving(tmp_home / "home") as state:
        yield Shell(tmp_home / "home", state)


@pytest.fixture
def lone_shell(tmp_home: Path) -> Shell:
    """A shell on a home where nothing was made and nothing runs."""
    return Shell(tmp_home / "home")


@contextlib.contextmanager
def serving(home: Path) -> Iterator[DaemonState]:
    home.mkdir(mode=0o700)
    serves, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))
    servers: list[_Server] = []

    async def serve() -> None:
        app = build_app(Launch(home=Home(home)))
        await app.vault.start()
        asgi = build_asgi(app, Gate(app, (CORTEXA,)), allowed_hosts=(), on_stop=lambda: None)
        servers.append(_Server(uvicorn.Config(asgi, log_config=None, ws="none"), serves))
        await servers[0].serve([listener])
        await app.vault.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert serves.wait(timeout=30)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield DaemonState(pid=os.getpid(), version=VERSION, urls=(url,), socket="none", started_at="2026-11-30T09:15:02+00:00")
    finally:
        servers[0].should_exit = True
        thread.join(timeout=30)
        listener.close()
