"""Process start: hands what bootstrap makes to the surface that was asked for, and loads nothing that this one does not need."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.bootstrap.settings import child_environ, read_launch
from perdure.domain.launch import Launch
from perdure.errors import PerdureError

if TYPE_CHECKING:
    from perdure.app import App


def main() -> None:
    """`perdure …`."""
    argv = sys.argv[1:]
    if argv[:1] == ["mcp"] and "--help" not in argv:
        sys.exit(_bridge(argv[1:]))
    if argv[:2] == ["serve", "--detached"]:
        sys.exit(_background(argv[2:]))
    from perdure.surfaces.cli.context import CliContext
    from perdure.surfaces.cli.main import run

    context = CliContext(
        read_launch=read_launch,
        build_app=_build_app,
        child_environ=child_environ,
        serve=_serve,
        bridge=_bridge,
        bench=_bench,
    )
    sys.exit(run(argv, context))


def cortexa_mcp() -> None:
    """`cortexa-mcp`: `perdure mcp` under the name that clients are set up with."""
    sys.exit(_bridge(sys.argv[1:]))


def _bridge(argv: Sequence[str]) -> int:
    from perdure.surfaces.bridge.command import run_bridge

    parser = ArgumentParser(description="Bridge one MCP client's stdio to perdure, starting it when it does not run.")
    parser.add_argument("--home", type=Path, help="the folder that holds everything (PERDURE_HOME; default ~/.perdure)")
    parser.add_argument("--family", default="cortexa", help="which tools: cortexa (default), or all")
    parser.add_argument("--project", help="the folder of the project that the client works in")
    asked = parser.parse_args(argv)
    try:
        launch = read_launch(home=asked.home)
    except PerdureError as error:
        parser.error(error.message)
    return run_bridge(launch, asked.family, project=asked.project, environ=child_environ())


def _background(argv: Sequence[str]) -> int:
    """What `ensure_daemon` starts: the daemon without the command line around it."""
    parser = ArgumentParser("perdure serve --detached")
    parser.add_argument("--home", type=Path)
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    asked = parser.parse_args(argv)
    try:
        return _serve(read_launch(home=asked.home, host=asked.host, port=asked.port), background=True)
    except PerdureError as error:
        parser.exit(1, f"{error.message}\n")


def _serve(launch: Launch, *, background: bool) -> int:
    from perdure.surfaces.daemon.serve import run_daemon

    return run_daemon(launch, _build_app, background=background)


def _bench(argv: Sequence[str]) -> int:
    from perdure.bench.command import run

    return run(argv)


def _build_app(launch: Launch) -> App:
    from perdure.bootstrap.build import build_app

    return build_app(launch)


if __name__ == "__main__":
    main()
