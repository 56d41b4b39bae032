"""The MCP doors over HTTP: slashes, families, sessions bound to their token, plain JSON in the newest era."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx2 import AsyncClient, Response

from perdure.domain.access import TokenKind
from tests.surfaces.rest.conftest import Play, Wire, problem_of
from tests.surfaces.transports import NEWEST, OLDEST

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
DOORS = ("/mcp", "/mcp/", "/mcp/cortexa", "/mcp/cortexa/", "/mcp/all", "/mcp/all/")


async def _newest(client: AsyncClient, path: str, method: str, **params: Any) -> Response:
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {**ACCEPT, "mcp-protocol-version": NEWEST, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return await client.post(path, json=message, headers=headers)


async def _initialize(client: AsyncClient, path: str = "/mcp") -> str:
    params = {"protocolVersion": OLDEST, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    response = await client.post(path, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, headers=ACCEPT)
    assert response.status_code == 200, response.text
    return response.headers["mcp-session-id"]


async def _ping(client: AsyncClient, session: str, path: str = "/mcp") -> Response:
    headers = {**ACCEPT, "mcp-session-id": session, "mcp-protocol-version": OLDEST}
    return await client.post(path, json={"jsonrpc": "2.0", "id": 2, "method": "ping"}, headers=headers)


@pytest.mark.parametrize("path", DOORS)
def test_each_door_answers_with_and_without_a_slash_in_both_eras(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        listed = await _newest(wire.client, path, "tools/list")
        assert listed.status_code == 200, listed.text
        assert "cortexa_capture" in listed.text
        assert (await _ping(wire.client, await _initialize(wire.client, path), path)).status_code == 200

    play(scenario)


def test_the_newest_era_is_answered_with_plain_json_and_no_session(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        arguments = {"content": "a pelican", "thought_type": "note"}
        response = await _newest(wire.client, "/mcp", "tools/call", name="cortexa_capture", arguments=arguments)
        assert response.headers["content-type"] == "application/json"
        assert "mcp-session-id" not in response.headers
        assert response.json()["result"]["content"][0]["text"].startswith("Captured. Item id: ")
        assert await wire.found("pelican")

    play(scenario)


def test_a_session_belongs_to_the_token_that_opened_it(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        session = await _initialize(wire.client)
        async with wire.carrying(TokenKind.INTEGRATION) as other:
            assert (await _ping(other, session)).status_code == 404
            ended = await other.delete("/mcp", headers={**ACCEPT, "mcp-session-id": session})
            assert ended.status_code == 404
        assert (await _ping(wire.client, session)).status_code == 200
        problem_of(await _ping(wire.anonymous, session), 401, "unauthorized")

    play(scenario)


def test_a_session_ends_when_its_client_says_so(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        session = await _initialize(wire.client)
        assert (await wire.client.delete("/mcp", headers={**ACCEPT, "mcp-session-id": session})).status_code == 200
        assert (await _ping(wire.client, session)).status_code == 404

    play(scenario)


@pytest.mark.parametrize("path", ["/mcp/none", "/mcp/cortexa/sse", "/sse", "/mcp/sse"])
def test_the_old_two_endpoint_transport_and_unknown_doors_are_not_served(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        problem_of(await wire.client.get(path, headers={"accept": "text/event-stream"}), 404, "not_found")
        problem_of(await _newest(wire.client, path, "tools/list"), 404, "not_found")

    play(scenario)


def test_a_refusal_on_a_door_can_be_read_by_an_mcp_client(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        response = await _newest(wire.anonymous, "/mcp", "tools/list")
        problem_of(response, 401, "unauthorized")
        assert response.headers["www-authenticate"] == "Bearer"
        assert "perdure token show primary" in response.json()["error"]["message"]

    play(scenario)


ERAS: tuple[dict[str, str], ...] = (
    {"mcp-protocol-version": NEWEST},
    {"mcp-protocol-version": "2025-11-25"},
    {"mcp-protocol-version": OLDEST},
    {},
)
SECRET = "correct-horse-battery"
NO_MESSAGES: list[tuple[Any, str]] = [
    ([], "one JSON-RPC message"),
    (None, "one JSON-RPC message"),
    (SECRET, "one JSON-RPC message"),
    ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 2, "batches"),
    ({}, "jsonrpc"),
    ({"jsonrpc": SECRET, "id": 1, "method": "ping"}, "jsonrpc"),
    ({"jsonrpc": "2.0", "id": [SECRET], "method": "ping"}, "id"),
    ({"jsonrpc": "2.0", "id": None, "method": "tools/list"}, "id"),
    ({"jsonrpc": "2.0", "id": 1, "method": [SECRET]}, "method"),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": SECRET}, "params"),
    ({"jsonrpc": "2.0", "id": 1, "result": SECRET}, "method"),
]


@pytest.mark.parametrize(("body", "word"), NO_MESSAGES)
def test_what_is_no_message_is_refused_in_plain_words_in_every_era(play: Play, body: Any, word: str) -> None:
    async def scenario(wire: Wire) -> None:
        for era in ERAS:
            response = await wire.client.post("/mcp", content=json.dumps(body), headers={**ACCEPT, **era})
            problem_of(response, 400, "invalid_input")
            error = response.json()["error"]
            assert error["code"] == -32600
            assert word in error["message"]
            assert not [quoted for quoted in (SECRET, "pydantic", "input_value") if quoted in response.text]

    play(scenario)


BAD_PARAMS: list[tuple[str, Any]] = [
    ("initialize", {"protocolVersion": [SECRET], "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
    ("initialize", {"protocolVersion": SECRET, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
    ("initialize", {"protocolVersion": OLDEST, "capabilities": SECRET, "clientInfo": SECRET}),
    ("tools/call", {"name": [SECRET]}),
    ("tools/call", {"name": "cortexa_search", "arguments": SECRET}),
    ("tools/call", {"name": "cortexa_search", "arguments": {"query": [SECRET]}}),
    ("tools/call", {"name": "cortexa_health", "_meta": SECRET}),
    ("tools/list", {"cursor": [SECRET]}),
    ("resources/read", {"uri": SECRET}),
]


@pytest.mark.parametrize(("method", "params"), BAD_PARAMS)
def test_no_answer_to_bad_parameters_quotes_them(play: Play, method: str, params: Any) -> None:
    async def scenario(wire: Wire) -> None:
        session = {"mcp-session-id": await _initialize(wire.client)}
        for era in ({"mcp-protocol-version": NEWEST}, {"mcp-protocol-version": OLDEST, **session}, {}):
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            response = await wire.client.post("/mcp", json=message, headers={**ACCEPT, **era})
            assert response.status_code < 500
            assert not [quoted for quoted in (SECRET, "pydantic", "input_value") if quoted in response.text]

    play(scenario)
