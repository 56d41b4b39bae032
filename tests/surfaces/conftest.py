"""An open App over a temporary home, and clients of it over every transport and era."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from perdure.bootstrap.build import build_app
from perdure.domain.access import TokenKind
from perdure.domain.launch import Home, Launch
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.mcp.gate import Gate
from tests.surfaces.transports import NEWEST, OLDEST, TRANSPORTS, Body, Connect, OpenWorld, World

Converse = Callable[..., None]
"""(body, *, kind=PRIMARY, families=(CORTEXA,)): open a world, connect, run the body."""


@pytest.fixture
def open_world(tmp_home: Path) -> OpenWorld:
    """`async with open_world((CORTEXA,)) as world`."""

    @asynccontextmanager
    async def opened(families: Sequence[Family]) -> AsyncIterator[World]:
        app = build_app(Launch(home=Home(tmp_home / "home")))
        await app.vault.start()
        try:
            yield World(app, Gate(app, families), tmp_home / "home", families[0].name)
        finally:
            await app.vault.close()

    return opened


@pytest.fixture(
    params=[(transport, era) for transport in TRANSPORTS for era in (NEWEST, OLDEST)], ids=lambda pair: "-".join(pair)
)
def connect(request: pytest.FixtureRequest, open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch) -> Converse:
    """The matrix: the test runs once per transport with the newest and once with the oldest era."""
    transport, era = request.param
    # The SDK's client always offers its newest handshake version; an old client offers an old one.
    monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", OLDEST)
    return _converse(Connect(open_world, transport, era))


@pytest.fixture
def converse(open_world: OpenWorld) -> Converse:
    """One connection, in memory, newest era: for what no transport can change."""
    return _converse(Connect(open_world, "memory", NEWEST))


def _converse(connection: Connect) -> Converse:
    def run(body: Body, *, kind: TokenKind = TokenKind.PRIMARY, families: Sequence[Family] = (CORTEXA,)) -> None:
        asyncio.run(connection.run(body, kind, families))

    return run
