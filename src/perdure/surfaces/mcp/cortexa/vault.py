"""Tools about the vault as a whole: is it well, which projects are there, how do calls go."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.vault import VaultState
from perdure.services.health import Health
from perdure.surfaces.mcp.cortexa.lists import projects_reply
from perdure.surfaces.mcp.cortexa.rendering import as_json
from perdure.surfaces.mcp.declaration import tool
from perdure.surfaces.mcp.reply import Reply


@tool(works_locked=True)
async def cortexa_health(app: App, caller: Caller) -> Reply:
    """Confirm the app is running: version, uptime, and whether the vault is open. Works while the vault is locked."""
    return health_reply(await app.health.health())


@tool()
async def cortexa_list_projects(app: App, caller: Caller) -> Reply:
    """List all projects in the vault with id, slug, name and counts, the most recently used first.

    Projects are made when thoughts are captured with a project name; use this to find names for scoped search and context.
    """
    return projects_reply(await app.scopes.projects(caller))


@tool()
async def cortexa_tool_metrics(app: App, caller: Caller) -> Reply:
    """Get observability metrics for all tools, as a JSON array: calls, error rates, average duration, token usage."""
    metrics = [dataclasses.asdict(metric) for metric in await app.audit.metrics()]
    return Reply((as_json(metrics),), {"metrics": metrics})


def health_reply(health: Health) -> Reply:
    up = timedelta(seconds=int(health.uptime_s))
    lines = [f"perdure {health.version} is running, up {up}.", f"Vault: {health.vault.state.value}."]
    if health.vault.state is VaultState.OPEN:
        lines.append(f"{health.memories} memories in {health.projects} projects. Embedding: {health.embedding}.")
    told = {
        "version": health.version,
        "uptime_s": round(health.uptime_s, 3),
        "vault": health.vault.state.value,
        "memories": health.memories,
        "projects": health.projects,
        "jobs": health.jobs,
        "embedding": health.embedding,
    }
    return Reply(("\n".join(lines),), told)
