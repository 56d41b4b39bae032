"""Speaks REST to the daemon over loopback, with the standard library alone."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from perdure.domain.launch import Launch
from perdure.domain.version import VERSION
from perdure.surfaces.bridge.state import DaemonState
from perdure.surfaces.cli.failure import Failure

TIMEOUT_S = 600.0
"""For one answer; long, for a deep check or a new key over a big vault answers when it is done."""
CLIENT = "perdure-cli"
NDJSON = "application/x-ndjson"
JSON = "application/json"


@dataclass(frozen=True)
class Daemon:
    """The running daemon. Every method raises Failure: with the daemon's own code and message, or `daemon_unreachable`."""

    state: DaemonState
    token: str | None

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        return self._call("GET", _address(path, query))

    def post(self, path: str, body: Any = None) -> Any:
        return self._call("POST", path, json.dumps({} if body is None else body).encode(), JSON)

    def put(self, path: str, body: Any) -> Any:
        return self._call("PUT", path, json.dumps(body).encode(), JSON)

    def patch(self, path: str, body: Any) -> Any:
        return self._call("PATCH", path, json.dumps(body).encode(), JSON)

    def delete(self, path: str) -> Any:
        return self._call("DELETE", path)

    def post_lines(self, path: str, lines: list[bytes]) -> Any:
        return self._call("POST", path, b"".join(line + b"\n" for line in lines), NDJSON)

    def stream(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """One record a line, as they come."""
        try:
            connection, response = self._open("GET", _address(path, query), None, NDJSON)
            with contextlib.closing(connection):
                for line in response:
                    yield json.loads(line)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(error) from error

    def _call(self, method: str, path: str, body: bytes | None = None, media_type: str = JSON) -> Any:
        try:
            connection, response = self._open(method, path, body, media_type)
            with contextlib.closing(connection):
                answer = response.read()
                return json.loads(answer) if answer else None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unreachable(error) from error

    def _open(
        self, method: str, path: str, body: bytes | None, media_type: str
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        url = urlsplit(self.state.urls[0])
        connection = http.client.HTTPConnection(url.hostname or "127.0.0.1", url.port, timeout=TIMEOUT_S)
        headers = {"User-Agent": f"{CLIENT}/{VERSION}", "Perdure-Client": CLIENT, "Accept": media_type}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = media_type
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        if response.status >= 400:
            with contextlib.closing(connection):
                raise _refusal(response.status, response.read())
        return connection, response

    def _unreachable(self, error: Exception) -> Failure:
        where, why = self.state.urls[0], type(error).__name__
        return Failure(
            "daemon_unreachable",
            f"The daemon at {where} (process {self.state.pid}) does not answer as it should ({why}); "
            "`perdure stop` and the same command again start it anew.",
        )


def reach(state: DaemonState, launch: Launch) -> Daemon:
    """The daemon with this process's token. One that has just begun to make its vault is waited for: that makes the token."""
    if launch.token is None and not launch.home.token_file.exists():
        Daemon(state, None).get("/api/health")
    return Daemon(state, token_of(launch))


def token_of(launch: Launch) -> str:
    """The token that this process was given, else the owner's own. Raises Failure when there is none."""
    if launch.token:
        return launch.token
    try:
        return launch.home.token_file.read_text("ascii").strip()
    except (OSError, ValueError) as error:
        why = f"{launch.home.token_file} cannot be read"
        what = "`perdure stop` and then `perdure serve` make a new one, or set PERDURE_TOKEN"
        raise Failure("unauthorized", f"{why}; {what}.") from error


def part(value: str) -> str:
    """A value as one part of an address, whatever it holds."""
    return quote(value, safe="")


def whole_id(items: Iterable[Mapping[str, Any]], given: str, what: str) -> str:
    """The one id that begins so. Raises Failure for none and for several; `what` and its list are named: `key`, `token`."""
    ids = [str(item["id"]) for item in items]
    found = [given] if given in ids else [one for one in ids if given and one.startswith(given.lower())]
    command = f"perdure {'vault key' if what == 'key' else what} list"
    if not found:
        raise Failure("not_found", f"No {what} has an id that begins so; `{command}` shows them.")
    if len(found) > 1:
        raise Failure(
            "invalid_input", f"{len(found)} {what}s have an id that begins so; give more of it. `{command}` shows them."
        )
    return found[0]


def _address(path: str, query: Mapping[str, Any] | None) -> str:
    given = {name: value for name, value in (query or {}).items() if value not in (None, (), [])}
    words = {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}
    return f"{path}?{urlencode(words, doseq=True)}" if words else path


def _refusal(status: int, body: bytes) -> Failure:
    try:
        told = json.loads(body)
        return Failure(str(told["code"]), str(told["detail"]))
    except (ValueError, KeyError, TypeError):
        return Failure("internal", f"The daemon answered {status} and no reason.")
