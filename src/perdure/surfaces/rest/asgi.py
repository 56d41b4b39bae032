"""The HTTP application: guards, MCP doors, REST, /openapi.json. Limits on slow clients are the server's (uvicorn)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.routing import Route

from perdure.app import App
from perdure.surfaces.mcp.gate import ALL, Gate
from perdure.surfaces.rest import access, health, memories, openapi, tools, transfer, vault
from perdure.surfaces.rest.doors import Doors
from perdure.surfaces.rest.endpoint import Endpoint, Resource, Site
from perdure.surfaces.rest.guards import Guards
from perdure.surfaces.rest.problems import HANDLERS

ROOMS = (health, tools, memories, transfer, vault, access, openapi)
ENDPOINTS: tuple[Endpoint, ...] = tuple(endpoint for room in ROOMS for endpoint in room.ENDPOINTS)


def build_asgi(app: App, gate: Gate, *, allowed_hosts: Sequence[str], on_stop: Callable[[], None]) -> Starlette:
    """`allowed_hosts`: names beyond loopback that clients may use, with or without a port. `on_stop`: begins a graceful end."""
    doors = Doors(gate)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with doors.run():
            yield

    asgi = Starlette(
        routes=[*doors.routes(), *resources(Site(app, gate, on_stop))],
        middleware=[
            Middleware(ExceptionMiddleware, handlers=HANDLERS),
            Middleware(Guards, access=app.access, allowed_hosts=allowed_hosts),
        ],
        exception_handlers={HTTPException: HANDLERS[HTTPException]},
        lifespan=lifespan,
    )
    asgi.router.redirect_slashes = False
    asgi.state.openapi = openapi.rendered(ENDPOINTS, gate.tools(ALL, app.access.local_owner()), app.health.version)
    return asgi


def resources(site: Site) -> list[Route]:
    """One route a path. A fixed path stands before one with a name in it, whatever the order of the declarations."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    ordered = sorted(by_path.items(), key=lambda item: item[0].count("{"))
    return [Route(path, Resource(site, endpoints)) for path, endpoints in ordered]
