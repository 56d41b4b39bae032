"""The only place that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from perdure.domain.launch import Home, Launch
from perdure.errors import InvalidInput


def read_launch(
    *, home: Path | None = None, host: str | None = None, port: int | None = None, environ: Mapping[str, str] | None = None
) -> Launch:
    """What the arguments say, else the environment, else the defaults.

    PERDURE_HOME (default ~/.perdure), PERDURE_HOST, PERDURE_PORT, PERDURE_TOKEN (a bridge that is not the owner),
    PERDURE_PASSPHRASE (unlocks at start), PERDURE_LOG (debug, info, warning, error). Raises InvalidInput for a bad port.
    """
    env = os.environ if environ is None else environ
    folder = home or Path(env.get("PERDURE_HOME") or Path.home() / ".perdure")
    return Launch(
        home=Home(folder.expanduser().absolute()),
        host=host or env.get("PERDURE_HOST") or None,
        port=_port(port if port is not None else env.get("PERDURE_PORT") or None),
        token=env.get("PERDURE_TOKEN") or None,
        passphrase=env.get("PERDURE_PASSPHRASE") or None,
        log_level=env.get("PERDURE_LOG", "info").lower(),
    )


def child_environ() -> dict[str, str]:
    """The environment for a daemon that this process starts, without the secrets meant for this process alone."""
    return {name: value for name, value in os.environ.items() if name not in ("PERDURE_TOKEN",)}


def _port(raw: str | int | None) -> int | None:
    if raw is None:
        return None
    try:
        port = int(raw)
    except ValueError:
        port = -1
    if not 0 <= port <= 65_535:
        raise InvalidInput(f"port: must lie between 1 and 65535 (0: any free one), is {raw!r}", argument="port")
    return port
