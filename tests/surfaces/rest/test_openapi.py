"""/openapi.json says what is served: every route, every tool, and no reference that leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it comes with mcp and carries no types

from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.rest.asgi import ENDPOINTS
from perdure.surfaces.rest.tools import PATH
from tests.surfaces.rest.conftest import Play, Wire


async def _document(wire: Wire) -> dict[str, Any]:
    response = await wire.anonymous.get("/openapi.json")
    document: dict[str, Any] = response.json()
    return document


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner)


def test_every_route_and_every_tool_is_described_and_nothing_else(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        document = await _document(wire)
        assert document["openapi"].startswith("3.1")
        described = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
        routes = {(e.method, e.path) for e in ENDPOINTS if e.path != PATH}
        tools = {("POST", PATH.format(name=tool.name)) for tool in CORTEXA.tools}
        assert described == routes | tools

    play(scenario)


def test_every_operation_has_a_name_a_sentence_and_its_answers(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        document = await _document(wire)
        operations = [operation for item in document["paths"].values() for operation in item.values()]
        assert len({operation["operationId"] for operation in operations}) == len(operations)
        for operation in operations:
            assert operation["summary"]
            assert "default" in operation["responses"]
            assert any(code.startswith("2") for code in operation["responses"])

    play(scenario)


def test_every_reference_leads_somewhere_and_every_path_name_is_a_parameter(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        document = await _document(wire)
        for node in _nodes(document):
            if isinstance(node.get("$ref"), str):
                target: Any = document
                for part in node["$ref"].removeprefix("#/").split("/"):
                    target = target[part]
        for path, item in document["paths"].items():
            named = {part.strip("{}") for part in path.split("/") if part.startswith("{")}
            for operation in item.values():
                given = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "path"}
                assert given == named

    play(scenario)


def test_the_tools_have_the_schemas_of_their_declarations(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        document = await _document(wire)
        for tool in CORTEXA.tools:
            operation = document["paths"][PATH.format(name=tool.name)]["post"]
            assert operation["requestBody"]["content"]["application/json"]["schema"] == tool.schema

    play(scenario)


def test_answers_are_valid_under_the_schemas_that_promise_them(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        document = await _document(wire)
        memory_id = await wire.capture("a pelican", project="aviary", tags=["a"])
        await wire.call("PATCH", f"/api/memories/{memory_id}", {"title": "Bird"})
        paths = [e.path for e in ENDPOINTS if e.method == "GET" and e.answer is not None]
        for path in paths:
            address = path.replace("{memory_id}", memory_id).replace("{name}", "secrets")
            answer = await wire.call("GET", address + ("?query=pelican" if path == "/api/search" else ""))
            promised = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            schema = {**promised, "components": document["components"]}
            jsonschema.Draft202012Validator(schema).validate(answer)

    play(scenario)


def test_schemas_are_schemas(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        document = await _document(wire)
        found = [node["schema"] for node in _nodes(document) if isinstance(node.get("schema"), dict)]
        for schema in [*found, *document["components"]["schemas"].values()]:
            jsonschema.Draft202012Validator.check_schema(schema)

    play(scenario)
