"""`perdure serve`: the one process that owns the home's vault and serves it over HTTP and the bridges' socket."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import uvicorn

from perdure.app import App
from perdure.domain.access import TokenKind
from perdure.domain.launch import Home, Launch
from perdure.domain.version import VERSION
from perdure.errors import Busy, DiskReadOnly, Forbidden, PerdureError
from perdure.surfaces.bridge.locking import FileLock
from perdure.surfaces.bridge.start import Refused, find_connection
from perdure.surfaces.bridge.state import DaemonState, is_told, read_state, unwritable, write_state
from perdure.surfaces.daemon.announcement import announcement, tell
from perdure.surfaces.daemon.kept import keep_answers
from perdure.surfaces.daemon.listeners import is_beyond_loopback, listen, url_of
from perdure.surfaces.daemon.local import LocalServer
from perdure.surfaces.daemon.logs import write_log_to, write_log_to_stderr
from perdure.surfaces.daemon.opening import Opening, PatientAsgi, PatientGate
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.rest.asgi import build_asgi
from perdure.surfaces.worker.loop import Worker

FAMILIES = (CORTEXA,)
DRAIN_S = 5.0
"""So long may what was asked before the end take to be answered."""
LOOK_S = 1.0
"""So often is looked whether the home is still there and this daemon can be found in it."""
HANDOVER_S = 15.0
"""So long may the daemon before this one take to close its vault."""


def run_daemon(launch: Launch, build_app: Callable[[Launch], App], *, background: bool) -> int:
    """Serve until SIGTERM, Ctrl-C or a stop request; answers the exit code.

    One daemon a home: when one runs, says who and where, and answers 0 if that one is what was asked for. `background`: writes
    its log to a file and says nothing. Raises Conflict, InvalidInput, Forbidden, DiskReadOnly, Busy.
    """
    home = launch.home
    os.umask(0o077)
    _make_folders(home)
    lock = FileLock(home.lock_file)
    running = _take_over(lock, home)
    if running is not None:
        return _tell_running(running, launch)
    try:
        _forget_killed(home)
        app = build_app(launch)
        if is_beyond_loopback(launch.host):
            _require_token(app, launch)
        listeners = listen(launch.host, launch.port)
        _start_log(launch, background=background)
        asyncio.run(serve(launch, app, listeners=listeners, say=None if background else tell))
    finally:
        _forget_own(home)
        lock.release()
    return 0


async def serve(launch: Launch, app: App, *, listeners: list[socket.socket], say: Callable[[str], None] | None = None) -> None:
    """Serve on these sockets and on the home's local one until the end is asked for; then finish, and close the vault.

    `say` is told, once, what a person wants to know.
    """
    opening = Opening(app, launch.passphrase)
    gate = PatientGate(app, FAMILIES, opening)
    http = HttpServer(app, gate, opening, launch.host)
    local = LocalServer(gate, app.access, on_stop=http.stop)
    address, nonce = await local.start(launch.home)
    state = DaemonState(
        pid=os.getpid(),
        version=VERSION,
        urls=tuple(url_of(listener) for listener in listeners),
        socket=address,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        nonce=nonce,
        repeatable=gate.repeatable,
    )
    worker = Worker(app)

    async def open_and_tell() -> None:
        await http.listens.wait()
        try:
            told = write_state(launch.home, state)
        except OSError as error:
            http.stop()
            raise unwritable(error, launch.home.state_file) from None
        await opening.run()
        worker.wake()
        if say is not None:
            say(announcement(launch, state, app, opening.fault))
        with contextlib.suppress(OSError):  # a bridge then waits for the daemon instead
            await keep_answers(launch.home, gate, app.access.local_owner())
        while local.is_there() and await asyncio.to_thread(is_told, launch.home, told):  # noqa: ASYNC110 - files tell nobody
            await asyncio.sleep(LOOK_S)
        http.stop()  # the home was removed or moved: nobody can find this daemon, and it would stand in the way of the next

    tasks = [asyncio.create_task(open_and_tell()), asyncio.create_task(worker.run())]
    try:
        await http.serve(listeners)
        await local.close(DRAIN_S)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await app.vault.close()
    for result in results:
        if isinstance(result, Exception):
            raise result


class HttpServer(uvicorn.Server):
    """uvicorn on given sockets, told to end by a signal or by `stop`; a signal is not raised again afterwards."""

    def __init__(self, app: App, gate: PatientGate, opening: Opening, host: str | None) -> None:
        names = () if host is None else (host, socket.gethostname())
        asgi = build_asgi(app, gate, allowed_hosts=names, on_stop=self.stop)
        super().__init__(
            uvicorn.Config(
                PatientAsgi(asgi, app, opening),
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=int(DRAIN_S),
            )
        )
        self.listens = asyncio.Event()

    def stop(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # From here to the process's end: an event stream that the end cuts short is no error.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        # The handler is this server's own method: open event streams look there for the end.
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _make_folders(home: Home) -> None:
    for folder in (home.folder, home.run_folder, home.log_folder):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise DiskReadOnly(f"{folder} cannot be made ({error.strerror}); make it writable, or name another --home.") from None


def _forget_killed(home: Home) -> None:
    """Nobody must be sent to the addresses of a daemon that was killed."""
    try:
        home.state_file.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(error, home.state_file) from None


def _forget_own(home: Home) -> None:
    """What lies at the path by now may be another daemon's: the home can have been moved and a new one made."""
    state = read_state(home)
    if state is not None and state.pid == os.getpid():
        with contextlib.suppress(OSError):
            home.state_file.unlink()


def _start_log(launch: Launch, *, background: bool) -> None:
    if not background:
        write_log_to_stderr(launch.log_level)
        return
    try:
        write_log_to(launch.home.log_folder, launch.log_level)
    except OSError as error:
        raise unwritable(error, launch.home.log_folder) from None


def _take_over(lock: FileLock, home: Home) -> DaemonState | None:
    """Take the lock, waiting for a daemon that is about to end; the daemon that holds it when one runs. Raises Busy."""
    deadline = time.monotonic() + HANDOVER_S
    while True:
        try:
            if lock.take():
                return None
        except OSError as error:
            raise unwritable(error, home.lock_file) from None
        with contextlib.suppress(Refused, PerdureError):
            found = find_connection(home, {})
            if found is not None:
                found[0].close()
                return found[1]
        if time.monotonic() > deadline:
            state = read_state(home)
            who = f"Another perdure (process {state.pid})" if state else "Another perdure"
            raise Busy(f"{who} holds {home.lock_file} and does not answer; end that process first.")
        time.sleep(0.05)


def _tell_running(state: DaemonState, launch: Launch) -> int:
    where = " and ".join(state.urls)
    sys.stderr.write(f"perdure {state.version} runs already for {launch.home.folder}: process {state.pid}, at {where}\n")
    as_asked = not launch.port or any(url.endswith(f":{launch.port}") for url in state.urls)
    return 0 if as_asked and launch.host is None else 1


def _require_token(app: App, launch: Launch) -> None:
    """Nobody may be able to reach a perdure that has no token to ask for. Raises Forbidden."""
    try:
        tokens = app.access.tokens()
    except PerdureError:
        tokens = ()
    if not any(token.kind is TokenKind.PRIMARY and token.revoked_at is None for token in tokens):
        raise Forbidden(
            f"--host {launch.host} is reachable from other machines, and there is no primary token yet to keep them out; "
            "start perdure once without --host, which makes one, then with it."
        )
    sys.stderr.write(
        f"perdure listens on {launch.host}, beyond this machine, without TLS: put a proxy that encrypts in front of it.\n"
    )
