"""What a running daemon tells of itself in a file, whose it is, and whether one of it can be reached."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from perdure.domain.launch import Home
from perdure.errors import DiskFull, DiskReadOnly, PerdureError

_MAX_PID = 2**31
_TEXTS = ("version", "socket", "started_at", "home", "mark")
_LISTS = ("urls", "repeatable")
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonState:
    """`urls` are the HTTP addresses; `socket` is the path of a Unix socket or, with a `nonce`, `host:port` on this machine;
    `repeatable` names the tools that do no more when called twice; `home` and its `mark` tell whose daemon it is."""

    pid: int
    version: str
    urls: tuple[str, ...]
    socket: str
    started_at: str
    nonce: str | None = None
    repeatable: tuple[str, ...] = ()
    home: str = ""
    mark: str = ""


def read_state(home: Home) -> DaemonState | None:
    """What the last daemon of this home wrote, which may have died since.

    None when there is none, when its file is not whole, and when it tells of another home: a copied one brings its original's.
    """
    try:
        state = _state_of(json.loads(home.state_file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None
    ours = mark_of(home.folder)
    return state if state is not None and ours is not None and state.mark == ours == mark_of(state.home) else None


def write_state(home: Home, state: DaemonState) -> DaemonState:
    """Write it as this home's; answers what was written."""
    told = replace(state, home=str(home.folder.resolve()), mark=mark_of(home.folder) or "")
    write_private(home.state_file, json.dumps(asdict(told), indent=1).encode())
    return told


def is_told(home: Home, state: DaemonState) -> bool:
    """Whether clients of this home still find that daemon; true as long as the file system does not say otherwise."""
    try:
        home.state_file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    found = read_state(home)
    return found is not None and (found.pid, found.mark) == (state.pid, state.mark)


def mark_of(path: str | os.PathLike[str]) -> str | None:
    """What a file or folder keeps when it is moved and does not share with its copy; None for what cannot be looked at."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{found.st_dev}:{found.st_ino}"


def write_private(path: os.PathLike[str], content: bytes) -> None:
    """The file is there as a whole or not at all, and only its owner can read it."""
    fresh = f"{os.fspath(path)}.{os.getpid()}.new"
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(content)
    os.replace(fresh, path)


def unwritable(error: OSError, path: str | os.PathLike[str]) -> PerdureError:
    """The same in words that name the place and what to do."""
    what = f"{os.fspath(error.filename or path)} cannot be written ({error.strerror})"
    if error.errno in _FULL:
        return DiskFull(f"{what}; free some space and try again.")
    return DiskReadOnly(f"{what}; make it writable, or name another --home.")


def _state_of(raw: object) -> DaemonState | None:
    """None for what no daemon writes; what a newer one tells beyond this is left out."""
    if not isinstance(raw, dict) or not _is_whole(raw):
        return None
    lists: dict[str, Any] = {name: tuple(raw[name]) for name in _LISTS}
    texts = {name: raw[name] for name in _TEXTS}
    return DaemonState(pid=raw["pid"], nonce=raw.get("nonce"), **lists, **texts)


def _is_whole(raw: Mapping[str, Any]) -> bool:
    pid = raw.get("pid")
    return (
        isinstance(pid, int)
        and 0 < pid < _MAX_PID
        and isinstance(raw.get("nonce"), str | None)
        and all(isinstance(raw.get(name), str) for name in _TEXTS)
        and all(_is_texts(raw.get(name)) for name in _LISTS)
    )


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
