"""The whole HTTP application in process, with a client that carries the primary token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from httpx2 import ASGITransport, AsyncClient, Response
from starlette.applications import Starlette

from perdure.domain.access import TokenKind
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.rest.asgi import build_asgi
from tests.surfaces.transports import OpenWorld, World

BASE = "http://127.0.0.1:3001"


@dataclass(frozen=True, slots=True)
class Wire:
    """`call` speaks as the primary token; `anonymous` sends none; `stops` counts what POST /api/stop asked for."""

    world: World
    asgi: Starlette
    client: AsyncClient
    anonymous: AsyncClient
    stops: list[str] = field(default_factory=list)

    async def call(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """The answer's JSON (None for an empty one), which must have this status."""
        response = await self.client.request(method, path, json=body)
        assert response.status_code == status, response.text
        return response.json() if response.content else None

    async def refused(self, method: str, path: str, body: Any = None, *, status: int, code: str) -> dict[str, Any]:
        """The problem document, which must have this status and code."""
        return problem_of(await self.client.request(method, path, json=body), status, code)

    async def capture(self, content: str, **fields: Any) -> str:
        answer = await self.call("POST", "/api/memories", {"content": content, **fields}, status=201)
        memory_id: str = answer["id"]
        return memory_id

    async def found(self, query: str, **filters: str) -> list[str]:
        """The ids that a search answers."""
        response = await self.client.get("/api/search", params={"query": query, **filters})
        assert response.status_code == 200, response.text
        return [hit["memory"]["id"] for hit in response.json()["hits"]]

    def carrying(self, kind: TokenKind) -> AsyncClient:
        return client_of(self.asgi, self.world.secret(kind))


Scenario = Callable[[Wire], Awaitable[None]]
Play = Callable[[Scenario], None]


@pytest.fixture
def play(open_world: OpenWorld) -> Play:
    """Runs a scenario against a new, open vault."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Wire]:
        stops: list[str] = []
        async with open_world((CORTEXA,)) as world:
            asgi = build_asgi(world.app, world.gate, allowed_hosts=["memory.example"], on_stop=lambda: stops.append("stop"))
            async with (
                asgi.router.lifespan_context(asgi),
                client_of(asgi, world.secret(TokenKind.PRIMARY)) as client,
                client_of(asgi, None) as anonymous,
            ):
                yield Wire(world, asgi, client, anonymous, stops)

    def run(scenario: Scenario) -> None:
        async def body() -> None:
            async with opened() as wire:
                await scenario(wire)

        asyncio.run(body())

    return run


def client_of(asgi: Starlette, secret: str | None) -> AsyncClient:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return AsyncClient(transport=ASGITransport(asgi), base_url=BASE, headers=headers)


def problem_of(response: Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert "access-control-allow-origin" not in response.headers
    document: dict[str, Any] = response.json()
    assert document["code"] == code
    assert document["status"] == status
    assert {"type", "title", "detail"} <= set(document)
    return document
