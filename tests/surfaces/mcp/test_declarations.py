"""What tools/list tells: the contract of the family, line by line, in every era."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from perdure.domain.access import TokenKind
from tests.surfaces.conftest import Converse
from tests.surfaces.mcp.goldens import check_golden
from tests.surfaces.transports import World


@pytest.mark.parametrize("kind", [TokenKind.PRIMARY, TokenKind.INTEGRATION])
def test_the_list_of_tools_is_the_contract(connect: Converse, kind: TokenKind) -> None:
    async def body(client: Client, world: World) -> None:
        tools = (await client.list_tools()).tools
        check_golden("tools", "\n".join(line for tool in tools for line in _lines(tool.name, tool.input_schema)))
        assert all(tool.description for tool in tools)
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools)

    connect(body, kind=kind)


def test_the_server_says_who_it_is_and_when_to_call_it(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("perdure", world.app.health.version)
        assert "cortexa_context" in (client.instructions or "")

    connect(body)


def test_reading_tools_say_that_they_only_read(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        tools = (await client.list_tools()).tools
        writing = {t.name for t in tools if t.annotations and not t.annotations.read_only_hint}
        assert writing == {"cortexa_ingest", "cortexa_capture", "cortexa_review"}

    connect(body)


def _lines(name: str, schema: dict[str, Any]) -> list[str]:
    """`query: string!`, `limit: integer =10`, nested objects indented: the notation of a contract."""
    lines = [name]
    for parameter, inner in schema["properties"].items():
        lines += _parameter(parameter, inner, parameter in schema.get("required", ()), "  ")
    return lines


def _parameter(name: str, schema: dict[str, Any], required: bool, indent: str) -> list[str]:
    items = schema.get("items")
    at = items or schema
    kind = f"{items['type']}[]" if items else schema["type"]
    words = [f"{indent}{name}: {kind}{'!' if required else ''}"]
    words += [f"={schema['default']}"] if "default" in schema else []
    words += [f"({'|'.join(at['enum'])})"] if "enum" in at else []
    for label, where, low, high in (
        ("items", schema, "minItems", "maxItems"),
        ("len", at, "minLength", "maxLength"),
        ("from", schema, "minimum", "maximum"),
    ):
        if (at["type"] != "object" and (low in where or high in where)) or (label == "items" and high in where):
            words.append(f"{label} {where.get(low, '')}..{where.get(high, '')}")
    lines = [" ".join(words)]
    for inner, nested in at.get("properties", {}).items():
        lines += _parameter(inner, nested, inner in at.get("required", ()), indent + "  ")
    return lines
