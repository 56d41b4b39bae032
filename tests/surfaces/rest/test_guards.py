"""Nobody gets in by Host, Origin, a missing token or sheer size (FAULTS, kind 10)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from httpx2 import ASGITransport, AsyncClient
from httpx2 import Response as Answer
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from perdure.domain.access import TokenKind
from perdure.errors import TooLarge
from perdure.surfaces.rest.guards import MIB, Guards, limited
from tests.surfaces.rest.conftest import BASE, Play, Wire, problem_of

EVIL = {"Origin": "https://evil.example"}


def test_au1_a_page_elsewhere_without_a_token_is_told_that_one_is_needed_and_reads_nothing(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for path in ("/search", "/api/search", "/mcp", "/api/memories"):
            response = await wire.anonymous.post(path, headers=EVIL, json={})
            problem_of(response, 401, "unauthorized")
            assert response.headers["www-authenticate"].startswith("Bearer")

    play(scenario)


def test_au1_no_answer_lets_another_origin_read_it(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for method, path in (("GET", "/api/health"), ("OPTIONS", "/api/memories"), ("GET", "/openapi.json"), ("GET", "/nothing")):
            response = await wire.client.request(method, path, headers={"Origin": "http://localhost:5173"})
            assert not [name for name in response.headers if name.startswith("access-control")]

    play(scenario)


def test_au2_no_page_can_stop_perdure_even_with_a_token(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for client in (wire.anonymous, wire.client):
            problem_of(await client.post("/api/stop", headers=EVIL), 403, "forbidden")
        problem_of(await wire.anonymous.post("/api/stop"), 401, "unauthorized")
        assert wire.stops == []

    play(scenario)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", "http://localhost@evil.example"]
)
def test_au2_a_page_elsewhere_is_refused_even_with_a_token(play: Play, origin: str) -> None:
    async def scenario(wire: Wire) -> None:
        for path in ("/api/memories", "/api/health", "/mcp"):
            problem_of(await wire.client.get(path, headers={"Origin": origin}), 403, "forbidden")

    play(scenario)


@pytest.mark.parametrize(
    "origin", ["http://localhost:5173", "http://127.0.0.1:3001", "http://[::1]:3001", "https://memory.example"]
)
def test_a_page_of_this_machine_or_of_an_allowed_host_may_call(play: Play, origin: str) -> None:
    async def scenario(wire: Wire) -> None:
        assert (await wire.client.get("/api/memories", headers={"Origin": origin})).status_code == 200

    play(scenario)


@pytest.mark.parametrize(
    "host",
    [
        "attacker.com",
        "127.0.0.1.attacker.com",
        "localhost.attacker.com:3001",
        "[::2]:3001",
        "10.0.0.1",
        "a@localhost",
        "localhost/x",
        "",
    ],
)
def test_au3_a_rebound_name_is_refused_before_the_token_is_looked_at(play: Play, host: str) -> None:
    async def scenario(wire: Wire) -> None:
        for client in (wire.anonymous, wire.client):
            for path in ("/api/health", "/api/memories", "/mcp"):
                problem_of(await client.get(path, headers={"Host": host}), 421, "forbidden")

    play(scenario)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9", "127.0.0.1:3001", "127.8.8.8", "[::1]", "[::1]:3001", "memory.example:443"]
)
def test_au3_loopback_and_allowed_hosts_are_served_at_any_port(play: Play, host: str) -> None:
    async def scenario(wire: Wire) -> None:
        assert (await wire.client.get("/api/health", headers={"Host": host})).status_code == 200

    play(scenario)


def test_au4_nothing_is_read_without_a_token_and_unknown_addresses_tell_nothing(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for path in (
            "/api/sessions",
            "/api/memories",
            "/api/export",
            "/mcp",
            "/mcp/cortexa",
            "/nothing",
            "/audit",
            "//api/health",
        ):
            problem_of(await wire.anonymous.get(path), 401, "unauthorized")

    play(scenario)


def test_au6_the_addresses_that_need_no_token_tell_no_stored_thing(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("a pelican", project="aviary")
        health = (await wire.anonymous.get("/api/health")).json()
        assert {name for name, value in health.items() if value is not None} == {"name", "version", "vault"}
        for path in ("/", "/openapi.json", "/api/health"):
            response = await wire.anonymous.get(path)
            assert response.status_code == 200
            assert "aviary" not in response.text

    play(scenario)


@pytest.mark.parametrize("header", ["Bearer nonsense", "Basic dXNlcjpwYXNz", "Bearer", "Bearer ", "nonsense", "Bearer \u00fc"])
def test_a_token_that_is_none_is_refused_on_public_addresses_too(play: Play, header: str) -> None:
    async def scenario(wire: Wire) -> None:
        for path in ("/api/memories", "/api/health"):
            response = await wire.anonymous.get(path, headers={b"Authorization": header.encode("latin-1")})
            problem_of(response, 401, "unauthorized")
            assert response.headers["www-authenticate"] == 'Bearer error="invalid_token"'

    play(scenario)


def test_a_token_in_the_address_is_no_token(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        secret = wire.world.secret(TokenKind.PRIMARY)
        for name in ("token", "access_token", "key"):
            problem_of(await wire.anonymous.get("/api/memories", params={name: secret}), 401, "unauthorized")

    play(scenario)


def test_two_tokens_at_once_are_none(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        secret = wire.world.secret(TokenKind.PRIMARY)
        twice = [("Authorization", f"Bearer {secret}"), ("Authorization", f"Bearer {secret}")]
        problem_of(await wire.anonymous.get("/api/memories", headers=twice), 401, "unauthorized")

    play(scenario)


def test_a_revoked_token_opens_nothing_from_then_on(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        token = await wire.call("POST", "/api/tokens", {"kind": "integration", "name": "agent"}, status=201)
        bearer = {"Authorization": f"Bearer {token['secret']}"}
        assert (await wire.anonymous.get("/api/memories", headers=bearer)).status_code == 200
        await wire.call("DELETE", f"/api/tokens/{token['id']}")
        problem_of(await wire.anonymous.get("/api/memories", headers=bearer), 401, "unauthorized")

    play(scenario)


def test_a_locked_vault_still_tells_a_missing_token_from_the_lock(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.world.app.vault.close()
        problem_of(await wire.anonymous.get("/api/memories"), 401, "unauthorized")
        problem_of(await wire.client.get("/api/memories"), 423, "vault_locked")
        assert (await wire.client.get("/api/health")).json()["vault"] == "locked"

    play(scenario)


def _is_too_large(response: Answer) -> None:
    document = problem_of(response, 413, "too_large")
    assert "4 MiB" in document["detail"]
    assert document["limit_bytes"] == 4 * MIB


@pytest.mark.parametrize("path", ["/api/memories", "/mcp", "/api/tools/cortexa_capture"])
def test_a_body_over_the_limit_is_refused_in_clear_words(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        response = await wire.client.post(path, content=b"x" * (4 * MIB + 1))
        _is_too_large(response)
        if path == "/mcp":
            assert response.json()["jsonrpc"] == "2.0"
            assert "4 MiB" in response.json()["error"]["message"]

    play(scenario)


@pytest.mark.parametrize("path", ["/api/memories", "/mcp"])
def test_a_body_without_a_length_is_refused_as_soon_as_it_is_too_large(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        sent = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal sent
            while True:
                sent += 1
                yield b"x" * MIB

        _is_too_large(await wire.client.post(path, content=endless()))
        assert sent == 5

    play(scenario)


@pytest.mark.parametrize(
    ("sizes", "fits"), [([MIB] * 4, True), ([4 * MIB, 1], False), ([4 * MIB + 1], False), ([0, 4 * MIB], True)]
)
def test_the_limit_counts_what_really_comes(sizes: Sequence[int], fits: bool) -> None:
    parts = [b"x" * size for size in sizes]

    async def receive() -> Message:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def read() -> int:
        bounded, total = limited(receive, 4), 0
        while parts:
            total += len((await bounded())["body"])
        return total

    if fits:
        assert asyncio.run(read()) == sum(sizes)
    else:
        with pytest.raises(TooLarge):
            asyncio.run(read())


def test_three_megabytes_of_text_come_back_whole(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        text = "0123456789abcde\n" * (3_000_000 // 16)
        memory_id = await wire.capture(text)
        memory = await wire.call("GET", f"/api/memories/{memory_id}")
        assert memory["content"] == text
        assert memory["content_chars"] == len(text)

    play(scenario)


def test_what_hangs_on_a_client_header_is_out_of_reach_of_other_tokens(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        keys: list[str] = []
        clients: list[str | None] = []

        async def inner(scope: Scope, receive: Receive, send: Send) -> None:
            keys.append(scope["state"]["caller"].key)
            clients.append(scope["state"]["caller"].client)
            await Response(status_code=204)(scope, receive, send)

        guarded = Guards(inner, access=wire.world.app.access, allowed_hosts=())
        for kind in (TokenKind.PRIMARY, TokenKind.INTEGRATION):
            async with AsyncClient(transport=ASGITransport(guarded), base_url=BASE) as client:
                bearer = {"Authorization": f"Bearer {wire.world.secret(kind)}", "Perdure-Client": "desk"}
                await client.get("/api/memories", headers=bearer)
        assert len(set(keys)) == 2
        assert all(key.endswith(":desk") for key in keys)
        assert clients[0] == "desk", "the owner's client is the one it names"
        assert clients[1] not in (None, "desk"), "a token of an agent names its client itself"

    play(scenario)
