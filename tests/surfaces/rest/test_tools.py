"""POST /api/tools/{name}: the same gate as every door, with problems for errors."""

from __future__ import annotations

from perdure.domain.access import TokenKind
from tests.surfaces.rest.conftest import Play, Wire


def test_a_tool_answers_its_texts_and_their_structure(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        body = {"content": "cents, not floats", "thought_type": "decision", "project": "shop"}
        captured = await wire.call("POST", "/api/tools/cortexa_capture", body)
        assert captured["text"][0].startswith("Captured. Item id: ")
        memory_id = captured["text"][0].split()[-1]
        assert (await wire.call("GET", f"/api/memories/{memory_id}"))["kind"] == "decision"
        found = await wire.call("POST", "/api/tools/cortexa_search", {"query": "cents"})
        assert memory_id in str(found)

    play(scenario)


def test_a_tools_error_is_a_problem_with_its_code(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        path = "/api/tools/cortexa_capture"
        problem = await wire.refused("POST", path, {"content": "x"}, status=422, code="invalid_input")
        assert problem["argument"] == "thought_type"
        await wire.refused("POST", "/api/tools/cortexa_get_item", {"item_id": "none"}, status=404, code="item_missing")
        bodies: list[object] = [[], "x", 7]
        for body in bodies:
            await wire.refused("POST", path, body, status=422, code="invalid_input")

    play(scenario)


def test_an_unknown_tool_is_not_found(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.refused("POST", "/api/tools/none", {}, status=404, code="not_found")

    play(scenario)


def test_the_list_shows_what_the_token_may_call(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        names = {tool["name"] for tool in (await wire.call("GET", "/api/tools"))["items"]}
        async with wire.carrying(TokenKind.INTEGRATION) as client:
            seen = {tool["name"] for tool in (await client.get("/api/tools")).json()["items"]}
        assert {"cortexa_capture", "cortexa_search"} <= seen <= names

    play(scenario)
