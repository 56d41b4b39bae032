"""cortexa_health, cortexa_list_projects, cortexa_tool_metrics: the vault as a whole."""

from __future__ import annotations

import json

from mcp import Client

from tests.surfaces.conftest import Converse
from tests.surfaces.transports import World, call, fail, texts


def test_health_tells_version_and_uptime(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        await call(client, "cortexa_ingest", content="x", project="One")
        result = await call(client, "cortexa_health")
        told = result.structured_content
        assert texts(result)[0].startswith(f"perdure {world.app.health.version} is running, up 0:00:0")
        assert (told["version"], told["vault"]) == (world.app.health.version, "open")
        assert (told["memories"], told["projects"]) == (1, 1)
        assert told["uptime_s"] >= 0
        assert (await fail(client, "cortexa_health", verbose=True))["code"] == "invalid_input"

    connect(body)


def test_projects_made_by_captures_are_listed_with_their_counts(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        assert texts(await call(client, "cortexa_list_projects"))[0].startswith("There are no projects yet")
        for project in ("A/B test", "a b test", "A/B test"):
            await call(client, "cortexa_ingest", content=f"in {project}", project=project)
        await call(client, "cortexa_ingest", content="once more", project="A/B test")
        told = (await call(client, "cortexa_list_projects")).structured_content
        assert [(p["name"], p["slug"], p["memories"]) for p in told["projects"]] == [
            ("A/B test", "a-b-test", 2),
            ("a b test", "a-b-test-2", 1),
        ]
        assert (await fail(client, "cortexa_list_projects", limit=1))["message"].endswith("this tool takes none")

    connect(body)


def test_tool_metrics_count_every_call_made_before(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        await call(client, "cortexa_search", query="x")
        await fail(client, "cortexa_search")
        result = await call(client, "cortexa_tool_metrics")
        metrics = json.loads(texts(result)[0])
        assert result.structured_content == {"metrics": metrics}
        search = next(metric for metric in metrics if metric["tool_name"] == "cortexa_search")
        assert (search["total_calls"], search["successful_calls"], search["error_rate"]) == (2, 1, 0.5)
        assert set(search) == {
            *("tool_name", "total_calls", "successful_calls", "error_rate", "avg_duration_ms", "total_tokens"),
        }
        assert (await fail(client, "cortexa_tool_metrics", x=1))["code"] == "invalid_input"

    connect(body)
