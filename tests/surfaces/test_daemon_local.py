"""The local socket: who may come in, what is heard, and what becomes of calls when one side ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from perdure.app import App
from perdure.domain.access import Caller, TokenKind
from perdure.domain.launch import Home
from perdure.surfaces.bridge.messages import MAX_LINE_BYTES
from perdure.surfaces.bridge.state import mark_of
from perdure.surfaces.daemon.connection import split_lines
from perdure.surfaces.daemon.local import LocalServer
from perdure.surfaces.mcp.declaration import Tool, tool
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.mcp.reply import Reply
from tests.surfaces.transports import OpenWorld, World
from tests.surfaces.wires import HELLO, INITIALIZE, WAIT_S, Dial, Wire


class Trial:
    """A family of one tool whose calls wait until they are let go; it notes what began, ended and was cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.family = Family(name="trial", tools=(self._tool(),), render_error=lambda error: Reply((error.code,), is_error=True))

    def _tool(self) -> Tool:
        trial = self

        @tool()
        async def slow(app: App, caller: Caller) -> Reply:
            """Takes its time."""
            trial.begun.set()
            try:
                await trial.let_go.wait()
            except asyncio.CancelledError:
                trial.cancelled.set()
                raise
            return Reply((caller.token_id,))

        return slow


@asynccontextmanager
async def _local(world: World) -> AsyncIterator[tuple[LocalServer, Dial, asyncio.Event]]:
    home, stopped = Home(world.home), asyncio.Event()
    home.run_folder.mkdir()
    local = LocalServer(world.gate, world.app.access, on_stop=stopped.set)
    dial = Dial((await local.start(home))[0])
    try:
        yield local, dial, stopped
    finally:
        await dial.close()
        await local.close(1)


def _with_trial(open_world: OpenWorld, scene: Callable[[Trial, World, LocalServer, Dial], Awaitable[None]]) -> None:
    async def run() -> None:
        trial = Trial()
        async with open_world((trial.family,)) as world, _local(world) as (local, dial, _):
            await scene(trial, world, local, dial)

    asyncio.run(run())


async def _slow_call(dial: Dial, trial: Trial) -> Wire:
    wire = await dial({**HELLO, "family": "trial"})
    assert (await wire.hear())["ok"]
    await wire.ask("initialize", INITIALIZE)
    await wire.say({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
    async with asyncio.timeout(WAIT_S):
        await trial.begun.wait()
    return wire


def test_a_call_under_way_at_the_end_is_answered_and_then_the_connection_closes(open_world: OpenWorld) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        wire = await _slow_call(dial, trial)
        closing = asyncio.create_task(local.close(WAIT_S))
        await asyncio.sleep(0)
        trial.let_go.set()
        assert (await wire.hear())["result"]["content"][0]["text"] == "local"
        assert await wire.hear() is None
        await closing
        assert not await asyncio.to_thread(dial.path.exists)

    _with_trial(open_world, scene)


def test_a_call_that_outlasts_the_end_is_cancelled(open_world: OpenWorld) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        await _slow_call(dial, trial)
        await local.close(0)
        assert trial.cancelled.is_set()

    _with_trial(open_world, scene)


def test_a_bridge_that_goes_away_takes_its_calls_with_it(open_world: OpenWorld) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        wire = await _slow_call(dial, trial)
        wire.writer.close()
        async with asyncio.timeout(WAIT_S):
            await trial.cancelled.wait()

    _with_trial(open_world, scene)


def test_a_token_names_the_caller_and_without_one_it_is_the_owner(open_world: OpenWorld) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        trial.let_go.set()
        token, secret = world.app.access.create_token(TokenKind.INTEGRATION, "agent")
        for given, expected in ((None, "local"), (secret, token.id)):
            wire = await dial({**HELLO, "family": "trial", "token": given})
            assert (await wire.hear())["ok"]
            await wire.ask("initialize", INITIALIZE)
            answer = await wire.ask("tools/call", {"name": "slow"}, 2)
            assert answer["result"]["content"][0]["text"] == expected

    _with_trial(open_world, scene)


@pytest.mark.parametrize(
    ("hello", "code"), [({**HELLO, "token": "wrong"}, "unauthorized"), ({**HELLO, "family": "nobody"}, "invalid_input")]
)
def test_a_bridge_that_may_not_come_in_is_told_why(open_world: OpenWorld, hello: dict[str, object], code: str) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        wire = await dial(hello)
        answer = await wire.hear()
        assert (answer["ok"], answer["code"]) == (False, code)
        assert await wire.hear() is None

    _with_trial(open_world, scene)


def test_what_is_meant_for_another_home_is_refused_and_so_is_all_when_the_home_is_gone(open_world: OpenWorld) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        assert (await (await dial({**HELLO, "family": "trial", "home": mark_of(world.home)})).hear())["ok"]
        refused = await (await dial({**HELLO, "family": "trial", "home": "1:2"})).hear()
        assert (refused["ok"], refused["code"]) == (False, "conflict")
        assert str(world.home) in refused["message"]
        wire = Dial(str(world.home.with_name("moved") / dial.path.relative_to(world.home)))
        await asyncio.to_thread(world.home.rename, world.home.with_name("moved"))
        try:
            assert not local.is_there()
            refused = await (await wire({**HELLO, "family": "trial", "home": mark_of(world.home.with_name("moved"))})).hear()
            assert (refused["ok"], refused["code"]) == (False, "conflict")
        finally:
            await wire.close()
            await asyncio.to_thread(world.home.with_name("moved").rename, world.home)

    _with_trial(open_world, scene)


def test_the_end_of_one_daemon_leaves_the_socket_of_the_next(open_world: OpenWorld) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        following = LocalServer(world.gate, world.app.access, on_stop=lambda: None)
        await following.start(Home(world.home))
        await local.close(1)
        assert following.is_there()
        assert (await (await dial({**HELLO, "family": "trial"})).hear())["ok"]
        await following.close(1)

    _with_trial(open_world, scene)


@pytest.mark.parametrize("hello", [{}, [], "GET / HTTP/1.1", {"perdure": 2}])
def test_what_is_no_bridge_gets_no_answer(open_world: OpenWorld, hello: object) -> None:
    async def scene(trial: Trial, world: World, local: LocalServer, dial: Dial) -> None:
        assert await (await dial(hello)).hear() is None

    _with_trial(open_world, scene)


def test_only_the_primary_token_may_end_the_daemon(open_world: OpenWorld) -> None:
    async def run() -> None:
        async with open_world((Trial().family,)) as world, _local(world) as (_, dial, stopped):
            secret = world.app.access.create_token(TokenKind.INTEGRATION, "agent")[1]
            await (await dial({"perdure": 1, "stop": True, "token": secret})).hear()
            assert not stopped.is_set()
            await (await dial({"perdure": 1, "stop": True})).hear()
            assert stopped.is_set()

    asyncio.run(run())


def test_lines_are_split_whatever_the_chunks_and_one_too_long_costs_only_itself() -> None:
    async def scene() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(b"one\n\n  \r\ntw")
        reader.feed_data(b"o\n" + b"x" * (MAX_LINE_BYTES + 1) + b"\nthree\nno end")
        reader.feed_eof()
        assert [line async for line in split_lines(reader)] == [b"one", b"two", None, b"three"]

    asyncio.run(scene())
