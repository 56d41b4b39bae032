"""What a running daemon tells of itself in a file, and whether one of it can be reached."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from perdure.domain.launch import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonState:
    """`urls` are the HTTP addresses; `socket` is the path of a Unix socket or, with a `nonce`, `host:port` on this machine;
    `repeatable` names the tools that do no more when called twice."""

    pid: int
    version: str
    urls: tuple[str, ...]
    socket: str
    started_at: str
    nonce: str | None = None
    repeatable: tuple[str, ...] = ()


def read_state(home: Home) -> DaemonState | None:
    """What the last daemon wrote, which may have died since; None when there is none or its file cannot be read."""
    try:
        raw: dict[str, Any] = json.loads(home.state_file.read_bytes())
        return DaemonState(**{**raw, "urls": tuple(raw["urls"]), "repeatable": tuple(raw.get("repeatable", ()))})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_state(home: Home, state: DaemonState) -> None:
    write_private(home.state_file, json.dumps(asdict(state), indent=1).encode())


def write_private(path: os.PathLike[str], content: bytes) -> None:
    """The file is there as a whole or not at all, and only its owner can read it."""
    fresh = f"{os.fspath(path)}.{os.getpid()}.new"
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(content)
    os.replace(fresh, path)
