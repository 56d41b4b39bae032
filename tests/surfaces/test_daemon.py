"""The daemon in this process: what waits for the vault, where it listens, what it logs."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.domain.launch import Home, Launch
from perdure.domain.vault import SlotKind, VaultState
from perdure.errors import Conflict, InvalidInput, VaultDamaged, WrongKey
from perdure.surfaces.bridge.state import DaemonState, read_state
from perdure.surfaces.daemon.listeners import is_beyond_loopback, listen, url_of
from perdure.surfaces.daemon.local import socket_path
from perdure.surfaces.daemon.logs import write_log_to
from perdure.surfaces.daemon.opening import Opening
from perdure.surfaces.daemon.serve import serve
from tests.surfaces.wires import HELLO, INITIALIZE, WAIT_S, Dial


@asynccontextmanager
async def _serving(
    home: Home, wait_until: Callable[..., None], prepare: Callable[[App], None]
) -> AsyncIterator[tuple[Dial, list[str]]]:
    """A whole daemon on free ports; what it tells a person."""
    home.run_folder.mkdir(parents=True, exist_ok=True)
    launch = Launch(home=home, port=0)
    told: list[str] = []
    app = build_app(launch)
    prepare(app)
    running = asyncio.create_task(serve(launch, app, listeners=listen(None, 0), say=told.append))
    await asyncio.to_thread(wait_until, lambda: read_state(home) is not None)
    dial = Dial(_state(home).socket)
    try:
        yield dial, told
    finally:
        assert (await (await dial({"perdure": 1, "stop": True})).hear())["ok"]
        await dial.close()
        async with asyncio.timeout(WAIT_S):
            await running


def _state(home: Home) -> DaemonState:
    state = read_state(home)
    assert state is not None
    return state


def test_ss1_the_handshake_is_answered_while_the_vault_has_not_begun_to_open(
    tmp_home: Path, wait_until: Callable[..., None]
) -> None:
    events: list[str] = []

    async def scene() -> None:
        may_open = asyncio.Event()

        def prepare(app: App) -> None:
            start = app.vault.start

            async def start_late() -> VaultState:
                await may_open.wait()
                events.append("opening")
                return await start()

            app.vault.start = start_late  # type: ignore[method-assign]  # the test decides when

        home = Home(tmp_home / "home")
        async with _serving(home, wait_until, prepare) as (dial, _):
            wire = await dial(HELLO)
            assert (await wire.hear())["ok"]
            assert (await wire.ask("initialize", INITIALIZE))["result"]["serverInfo"]["name"] == "perdure"
            events.append("handshake")
            assert (await wire.ask("tools/list", {}, 2))["result"]["tools"]
            events.append("tools")
            asked = asyncio.create_task(wire.ask("tools/call", {"name": "cortexa_recent"}, 3))
            health = asyncio.create_task(_get(home, "/api/health"))
            may_open.set()
            assert not (await asked)["result"]["isError"]
            assert (await health)["vault"] == "open"
            events.append("call")

    asyncio.run(scene())
    assert events == ["handshake", "tools", "opening", "call"]


async def _get(home: Home, path: str) -> Any:
    async with httpx2.AsyncClient() as client:
        return (await client.get(_state(home).urls[0] + path)).json()


def test_a_vault_that_cannot_be_opened_is_told_to_everyone_and_perdure_serves(
    tmp_home: Path, wait_until: Callable[..., None]
) -> None:
    async def scene() -> None:
        def prepare(app: App) -> None:
            async def fail() -> VaultState:
                raise VaultDamaged("the reason")

            app.vault.start = fail  # type: ignore[method-assign]  # the test decides how it goes

        home = Home(tmp_home / "home")
        async with _serving(home, wait_until, prepare) as (dial, told):
            wire = await dial(HELLO)
            await wire.hear()
            await wire.ask("initialize", INITIALIZE)
            for number in (2, 3):
                answer = await wire.ask("tools/call", {"name": "cortexa_recent"}, number)
                assert answer["result"]["structuredContent"]["error"]["code"] == "vault_damaged"
            assert "The vault was not opened: the reason" in told[0]

    asyncio.run(scene())


def test_a_daemon_whose_home_was_removed_ends(
    tmp_home: Path, wait_until: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.surfaces.daemon.serve.LOOK_S", 0.01)

    async def scene() -> None:
        home = Home(tmp_home)
        home.run_folder.mkdir()
        launch = Launch(home=home, port=0)
        running = asyncio.create_task(serve(launch, build_app(launch), listeners=listen(None, 0)))
        await asyncio.to_thread(wait_until, home.tools_cache.exists)
        home.state_file.unlink()
        async with asyncio.timeout(WAIT_S):
            await running

    asyncio.run(scene())


def test_a_locked_vault_is_opened_with_the_passphrase_it_was_launched_with(tmp_home: Path) -> None:
    async def scene() -> None:
        home = Home(tmp_home)
        app = build_app(Launch(home=home))
        await app.vault.start()
        await app.vault.add_key(SlotKind.PASSPHRASE, secret="correct horse battery")
        await app.vault.remove_key(next(slot.id for slot in (await app.vault.status()).slots if slot.kind is SlotKind.KEY_FILE))
        await app.vault.close()
        for passphrase, state in ((None, "locked"), ("correct horse battery", "open")):
            opening = Opening(build_app(Launch(home=home)), passphrase)
            await opening.run()
            assert opening.fault is None
            assert opening._app.vault.state == state
            await opening._app.vault.close()
        wrong = Opening(build_app(Launch(home=home)), "wrong horse battery")
        await wrong.run()
        assert isinstance(wrong.fault, WrongKey)

    asyncio.run(scene())


def test_a_named_port_that_is_taken_is_refused_and_an_unnamed_one_replaced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(Conflict, match="is taken"):
        listen(None, other.getsockname()[1])
    listeners = listen(None, 0)
    ports = {listener.getsockname()[1] for listener in listeners}
    urls = [url_of(listener) for listener in listeners]
    for listener in listeners:
        listener.close()
    assert len(ports) == 1
    assert urls[0].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("host", "beyond"),
    [(None, False), ("127.0.0.1", False), ("::1", False), ("localhost", False), ("0.0.0.0", True), ("::", True)],
)
def test_loopback_is_told_from_what_other_machines_reach(host: str | None, beyond: bool) -> None:
    assert is_beyond_loopback(host) is beyond


def test_a_host_that_is_no_address_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(InvalidInput, match="nowhere"):
        listen("nowhere", 0)


def test_a_socket_folder_that_others_may_enter_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = Home(tmp_path / ("deep" * 40))
    path = socket_path(home)
    assert path.parent.parent == tmp_path
    path.parent.chmod(0o755)
    with pytest.raises(Conflict, match="you alone"):
        socket_path(home)
    path.parent.rmdir()
    path.parent.symlink_to(tmp_path)
    with pytest.raises(Conflict, match="you alone"):
        socket_path(home)


def test_the_log_keeps_what_happened_and_loses_what_was_said(tmp_path: Path) -> None:
    logger, root = logging.getLogger("perdure.trial"), logging.getLogger()
    before, level = root.handlers[:], logging.getLogger("perdure").level
    write_log_to(tmp_path, "info")
    try:
        logger.info("opened %s", "the vault")
        try:
            raise ValueError("SECRET")
        except ValueError:
            logger.exception("failed")
        logging.getLogger("mcp.server").warning("could not parse %s", "SECRET")
        logging.getLogger("mcp.server").warning("SECRET")
        logging.getLogger("mcp.server").info("SECRET")
    finally:
        for handler in root.handlers:
            handler.close()
        root.handlers[:] = before
        logging.getLogger("perdure").setLevel(level)
    text = (tmp_path / "daemon.log").read_text()
    assert "SECRET" not in text
    assert "opened the vault" in text
    assert "ValueError" in text
    assert "could not parse %s" in text
    assert (tmp_path / "daemon.log").stat().st_mode & 0o777 == 0o600
