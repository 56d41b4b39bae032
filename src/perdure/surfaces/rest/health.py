"""/api/health and /api/stop: is it well, and how to end it."""

from __future__ import annotations

from starlette.responses import JSONResponse

from perdure.domain.vault import VaultState
from perdure.surfaces.rest.endpoint import Call, endpoint
from perdure.surfaces.rest.shapes import Shape
from perdure.surfaces.rest.vault import VaultShape


class Health(Shape):
    """Without a token: name, version and the vault's state. With one: the rest too; counts are null while it is locked."""

    name: str
    version: str
    vault: VaultState
    uptime_s: float | None = None
    memories: int | None = None
    projects: int | None = None
    jobs: dict[str, int] | None = None
    embedding: str | None = None
    status: VaultShape | None = None


class Stopping(Shape):
    stopping: bool


@endpoint("GET", "/api/health", public=True)
async def get_health(call: Call) -> Health:
    """Is perdure well? Answers while the vault is locked, and without a token, which then tells less."""
    health = call.app.health
    if call.known is None:
        return Health(name="perdure", version=health.version, vault=call.app.vault.state)
    now = await health.health()
    return Health(
        name="perdure",
        version=now.version,
        vault=now.vault.state,
        uptime_s=now.uptime_s,
        memories=now.memories,
        projects=now.projects,
        jobs=now.jobs,
        embedding=now.embedding,
        status=VaultShape.model_validate(now.vault),
    )


@endpoint("POST", "/api/stop", status=202, primary=True, works_locked=True)
async def stop(call: Call) -> Stopping:
    """End perdure: what is under way is finished, the vault is closed."""
    call.site.on_stop()
    return Stopping(stopping=True)


@endpoint("GET", "/", public=True)
async def get_root(call: Call) -> JSONResponse:
    """Where to go from here."""
    return JSONResponse({"name": "perdure", "mcp": "/mcp", "api": "/openapi.json", "health": "/api/health"})


ENDPOINTS = (get_health, stop, get_root)
