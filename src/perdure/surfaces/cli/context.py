"""What the command line is given by the process that starts it, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from perdure.domain.launch import Launch
from perdure.surfaces.bridge.start import ensure_daemon
from perdure.surfaces.bridge.state import DaemonState
from perdure.surfaces.cli.client import Daemon, reach
from perdure.surfaces.cli.terminal import waiting, write_json, write_text

if TYPE_CHECKING:
    from perdure.app import App


class ReadLaunch(Protocol):
    def __call__(self, *, home: Path | None = None, host: str | None = None, port: int | None = None) -> Launch: ...


class Serve(Protocol):
    def __call__(self, launch: Launch, *, background: bool) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CliContext:
    """What only the process's entry may hand in. Each loads what it needs when it is called, so that quick commands stay quick.

    `serve` runs the daemon in this process and answers the exit code; `bridge` and `bench` take their own arguments.
    """

    read_launch: ReadLaunch
    build_app: Callable[[Launch], App]
    child_environ: Callable[[], Mapping[str, str]]
    serve: Serve
    bridge: Callable[[Sequence[str]], int]
    bench: Callable[[Sequence[str]], int]
    start_daemon: Callable[[Launch, Mapping[str, str]], DaemonState] = ensure_daemon


@dataclass
class Invocation:
    """One run: the global options as they were given, and what follows from them, made when first asked for."""

    context: CliContext
    home: Path | None = None
    as_json: bool = False

    @cached_property
    def launch(self) -> Launch:
        return self.context.read_launch(home=self.home)

    @cached_property
    def daemon(self) -> Daemon:
        """The home's daemon, started where none runs."""
        with waiting("Starting perdure"):
            state = self.context.start_daemon(self.launch, self.context.child_environ())
        return reach(state, self.launch)

    def tell(self, document: Any, text: str) -> None:
        """Answer a program with the document, a person with the text."""
        if self.as_json:
            write_json(document)
        else:
            write_text(text)
