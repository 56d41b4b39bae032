"""The daemon as a process: serve, stop, the stdio bridge, and what runs."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any

import click

from perdure.domain.launch import Launch
from perdure.domain.version import VERSION
from perdure.errors import PerdureError
from perdure.surfaces.bridge.start import Refused, ask_to_stop, find_connection
from perdure.surfaces.bridge.state import DaemonState
from perdure.surfaces.cli.client import reach
from perdure.surfaces.cli.command import command
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.failure import OK, UNREACHABLE, Failure
from perdure.surfaces.cli.terminal import waiting, write_fields, write_json

STOP_TIMEOUT_S = 30.0


@command("serve", "perdure serve", "perdure serve --port 4001", "perdure serve --background", "perdure --home /srv/memory serve")
@click.option(
    "--port", type=click.IntRange(0, 65_535), metavar="N", help="Port on 127.0.0.1 and ::1; 0: any free one.  [default: 3001]"
)
@click.option("--host", metavar="H", help="Listen on this address instead of loopback; every request then needs a token.")
@click.option("--background", is_flag=True, help="Come back at once and leave the daemon running.")
def serve(invocation: Invocation, port: int | None, host: str | None, background: bool) -> int:
    """Run the daemon that owns the vault, until Ctrl-C or `perdure stop`.

    It makes the vault on its first start, and prints where everything lies and what to paste into an MCP client.
    """
    launch = invocation.context.read_launch(home=invocation.home, host=host, port=port)
    if background:
        with waiting("Starting perdure"):
            state = invocation.context.start_daemon(launch, invocation.context.child_environ())
        invocation.tell(
            {"running": True, "pid": state.pid, "urls": list(state.urls)}, f"perdure runs at {' and '.join(state.urls)}."
        )
        return OK
    return invocation.context.serve(launch, background=False)


@command("mcp", "perdure mcp", "perdure --home /srv/memory mcp", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[--family NAME] [--project DIR]")
def mcp(invocation: Invocation, arguments: tuple[str, ...]) -> int:
    """Speak MCP on stdin and stdout, for the client that starts it.

    A thin bridge to the daemon, which it starts where none runs. `cortexa-mcp` is the same. --family: which tools, cortexa
    (the default) or all. --project: the folder that the client works in.
    """
    home = () if invocation.home is None else ("--home", str(invocation.home))
    return invocation.context.bridge([*home, *arguments])


@command(
    "bench",
    "perdure bench speed",
    "perdure bench speed --large 50000 --json",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="speed [--small N] [--large N]")
def bench(invocation: Invocation, arguments: tuple[str, ...]) -> int:
    """Measure perdure on this machine, in temporary vaults.

    speed: captures, searches at two sizes, what encryption costs, how fast the bridge starts, as ratios of one run. Exits
    with 1 when a bar is missed.
    """
    return invocation.context.bench([*arguments, *(["--json"] if invocation.as_json else [])])


@command("stop", "perdure stop", "perdure stop --json")
def stop(invocation: Invocation) -> int:
    """Stop the daemon.

    What it has answered is stored. The next command that needs it starts it again.
    """
    state = running(invocation.launch)
    if state is None:
        invocation.tell({"stopped": False}, "perdure does not run.")
        return OK
    with waiting("Stopping perdure"):
        if not ask_to_stop(state):  # over its own socket no token is needed, which may be what was lost
            reach(state, invocation.launch).post("/api/stop")
        _wait_for_end(invocation.launch, state)
    invocation.tell({"stopped": True, "pid": state.pid}, f"perdure (process {state.pid}) has stopped.")
    return OK


@command("status", "perdure status", "perdure status --json")
def status(invocation: Invocation) -> int:
    """Tell whether the daemon runs and what the vault holds.

    Never starts it. Exits with 4 when it does not run and 3 when the vault is locked.
    """
    launch = invocation.launch
    document: dict[str, Any] = {"version": VERSION, "home": str(launch.home.folder), "running": False}
    state = running(launch)
    if state is not None:
        health = reach(state, launch).get("/api/health")
        document |= {
            "running": True,
            "pid": state.pid,
            "urls": list(state.urls),
            "started_at": state.started_at,
            "health": health,
        }
    if invocation.as_json:
        write_json(document)
    else:
        write_fields(_status_fields(document))
    if state is None:
        return UNREACHABLE
    return Failure("vault_locked", "").exit_code if document["health"]["vault"] == "locked" else OK


def running(launch: Launch) -> DaemonState | None:
    """The daemon of this home, if it answers."""
    try:
        found = find_connection(launch.home, {})
    except (Refused, PerdureError) as error:
        raise Failure("daemon_unreachable", error.message) from error
    if found is None:
        return None
    found[0].close()
    return found[1]


def _status_fields(document: dict[str, Any]) -> list[tuple[str, object]]:
    fields: list[tuple[str, object]] = [("version", document["version"]), ("home", document["home"])]
    if not document["running"]:
        return [*fields, ("daemon", "does not run; any command that needs it starts it")]
    health = document["health"]
    vault = health["status"]
    slots = ", ".join(slot["kind"] for slot in vault["slots"])
    jobs = ", ".join(f"{name} {count}" for name, count in (health["jobs"] or {}).items())
    return [
        *fields,
        ("daemon", f"process {document['pid']}, since {document['started_at']}"),
        ("addresses", ", ".join(document["urls"])),
        ("vault", f"{vault['state']}, {vault['size_bytes']:,} bytes, cipher {vault['cipher']}"),
        ("opens with", slots or None),
        ("memories", health["memories"]),
        ("projects", health["projects"]),
        ("jobs", jobs or None),
        ("vectors", health["embedding"]),
    ]


def _wait_for_end(launch: Launch, state: DaemonState) -> None:
    deadline, pause = time.monotonic() + STOP_TIMEOUT_S, threading.Event()
    while _lives(state.pid) and running(launch) is not None:
        if time.monotonic() > deadline:
            raise Failure(
                "timeout", f"perdure (process {state.pid}) is still finishing its work; look again with `perdure status`."
            )
        pause.wait(0.05)


def _lives(pid: int) -> bool:
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
