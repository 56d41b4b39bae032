"""An open perdure over a temporary home, driven by a clock that the test holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.access import Caller

Scenario = Callable[[App, Caller], Coroutine[Any, Any, None]]
Play = Callable[[Scenario], None]


@pytest.fixture
def play(tmp_home: Path) -> Play:
    """Runs a scenario against an open vault and closes it afterwards."""

    def run(scenario: Scenario) -> None:
        async def body() -> None:
            app = build_app(read_launch(home=tmp_home, environ={}))
            await app.vault.start()
            try:
                await scenario(app, app.access.local_owner(client="claude-code"))
            finally:
                await app.vault.close()

        asyncio.run(body())

    return run
