"""Who may call what, what happens to errors and bugs, and what the record of calls holds."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import Field

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.domain.access import Caller, TokenKind
from perdure.domain.launch import Home, Launch
from perdure.domain.records import AuditEntry
from perdure.domain.vault import SlotKind
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.mcp.cortexa.rendering import error
from perdure.surfaces.mcp.declaration import tool
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.mcp.gate import Gate, ToolRefused
from perdure.surfaces.mcp.reply import Reply
from tests.surfaces.conftest import Converse
from tests.surfaces.transports import OpenWorld, World, call, fail, texts

SECRET = "the content of a call"


@tool(primary=True, writes=True)
async def owner_only(app: App, caller: Caller) -> Reply:
    """Only for the primary token."""
    return Reply(("done",))


@tool()
async def broken(app: App, caller: Caller, *, content: Annotated[str, Field(description="Text.")]) -> Reply:
    """Has a bug."""
    raise ValueError(content)


@tool()
async def endless(app: App, caller: Caller) -> Reply:
    """Never ends by itself."""
    await asyncio.Event().wait()
    raise AssertionError


TRIAL = Family(name="trial", tools=(owner_only, broken, endless), render_error=error)


def test_a_primary_only_tool_is_hidden_from_an_integration_token_and_refused_to_it(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        assert "owner_only" not in [t.name for t in (await client.list_tools()).tools]
        with pytest.raises(MCPError) as refused:
            await client.call_tool("owner_only", {})
        assert (refused.value.code, refused.value.message) == (-32001, "this tool requires the primary API token")
        assert [entry.output_status for entry in await _audit(world.app)] == ["forbidden"]

    connect(body, kind=TokenKind.INTEGRATION, families=(TRIAL,))


def test_the_primary_token_sees_and_runs_a_primary_only_tool(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        assert "owner_only" in [t.name for t in (await client.list_tools()).tools]
        assert texts(await call(client, "owner_only")) == ["done"]

    connect(body, families=(TRIAL,))


@pytest.mark.parametrize("kind", [TokenKind.PRIMARY, TokenKind.INTEGRATION])
def test_an_unknown_tool_is_a_protocol_error_for_everyone(connect: Converse, kind: TokenKind) -> None:
    async def body(client: Client, world: World) -> None:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("cortexa_fly", {})
        assert (refused.value.code, refused.value.message) == (-32602, "Unknown tool: cortexa_fly")

    connect(body, kind=kind)


def test_a_bug_becomes_an_internal_error_with_an_id_and_tells_nothing(
    connect: Converse, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: Client, world: World) -> None:
        with caplog.at_level(logging.ERROR):
            told = await fail(client, "broken", content=SECRET)
        error_id = told["details"]["id"]
        assert told["code"] == "internal"
        assert error_id in told["message"]
        logged = "\n".join(record.getMessage() for record in caplog.records)
        assert error_id in logged
        assert "raise ValueError(content)" in logged
        entries = await _audit(world.app)
        assert entries[0].error_message == f"internal: {error_id}"
        assert SECRET not in told["message"] + logged + repr(entries)
        assert "owner_only" in [t.name for t in (await client.list_tools()).tools], "the server lives"

    connect(body, families=(TRIAL,))


def test_a_cancelled_call_is_cancelled_and_recorded_as_such(open_world: OpenWorld) -> None:
    async def body() -> None:
        async with open_world((TRIAL,)) as world:
            task = asyncio.create_task(world.gate.call("trial", world.caller(TokenKind.PRIMARY), "endless", {}))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert [entry.output_status for entry in await _audit(world.app)] == ["cancelled"]

    asyncio.run(body())


def test_a_locked_vault_answers_health_and_nothing_else(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        await world.app.vault.add_key(SlotKind.PASSPHRASE, secret="correct horse battery")
        await world.app.vault.lock()
        for name, arguments in REASONABLE.items():
            if name != "cortexa_health":
                assert (await fail(client, name, **arguments))["code"] == "vault_locked", name
        assert (await fail(client, "cortexa_search", limit="bad"))["code"] == "vault_locked", (
            "the lock comes before the arguments"
        )
        health = await call(client, "cortexa_health")
        assert health.structured_content["vault"] == "locked"
        assert "Vault: locked." in texts(health)[0]

    connect(body)


def test_without_a_vault_every_call_says_so_and_makes_none(tmp_home: Path) -> None:
    async def body() -> None:
        home = Home(tmp_home / "home")
        app = build_app(Launch(home=home))
        gate = Gate(app, (CORTEXA,))
        reply = await gate.call("cortexa", app.access.local_owner(), "cortexa_search", {"query": "x"})
        assert reply.structured is not None
        assert reply.structured["error"]["code"] == "vault_missing"
        assert not home.vault_file.exists()

    asyncio.run(body())


def test_every_tool_is_called_in_the_test_of_the_locked_vault() -> None:
    assert set(REASONABLE) == {t.name for t in CORTEXA.tools}


def test_the_record_of_calls_holds_names_lengths_and_ids_but_no_content(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        arguments = {"content": SECRET, "thought_type": "note", "agent": "cursor", "session_id": "s-1", "tags": ["a", "b"]}
        item = (await call(client, "cortexa_capture", **arguments)).structured_content["id"]
        await call(client, "cortexa_get_item", item_id=item, max_chars=10)
        await fail(client, "cortexa_search", query="q", **{SECRET: 1})
        await fail(client, "cortexa_search", query="q", limit=SECRET)
        refused, unknown, read, captured = await _audit(world.app)
        assert captured.input_summary == "content:21 chars, thought_type=note, agent:6 chars, session_id:3 chars, tags:2 entries"
        assert (captured.agent, captured.session_id, captured.output_status) == ("cursor", "s-1", "ok")
        assert (read.input_summary, read.agent) == (f"item_id={item}, max_chars=10", "test-client")
        assert (unknown.input_summary, unknown.error_message) == ("query:1 chars, 1 unknown", "invalid_input")
        assert (refused.input_summary, refused.error_message) == ("query:1 chars, limit:21 chars", "invalid_input: limit")
        assert SECRET not in repr([refused, unknown, read, captured])
        assert captured.duration_ms > 0

    converse(body)


def test_a_secret_given_as_an_agent_is_masked_in_the_record_of_calls(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        token = "ghp_" + "a1B2" * 9
        await call(client, "cortexa_capture", content="x", thought_type="note", agent=token)
        assert token not in repr(await _audit(world.app))

    converse(body)


def test_arguments_must_be_an_object(open_world: OpenWorld) -> None:
    async def body() -> None:
        async with open_world((CORTEXA,)) as world:
            reply = await world.gate.call("cortexa", world.caller(TokenKind.PRIMARY), "cortexa_search", ["query"])
            assert reply.texts == ("invalid_input: arguments: must be an object, got an array of 1 entries",)
            with pytest.raises(ToolRefused):
                await world.gate.call("cortexa", world.caller(TokenKind.PRIMARY), "nothing", None)

    asyncio.run(body())


def test_the_door_of_all_families_answers_in_each_ones_manner(open_world: OpenWorld) -> None:
    async def body() -> None:
        async with open_world((CORTEXA,)) as world:
            gate = Gate(world.app, (CORTEXA, TRIAL))
            assert gate.doors == ("cortexa", "trial", "all")
            names = [t.name for t in gate.tools("all", world.caller(TokenKind.INTEGRATION))]
            assert "cortexa_search" in names
            assert "broken" in names
            assert "owner_only" not in names
            assert gate.schema("cortexa", "broken") is None
            assert gate.instructions("all").startswith(CORTEXA.instructions)

    asyncio.run(body())


REASONABLE: dict[str, dict[str, object]] = {
    "cortexa_ingest": {"content": "x"},
    "cortexa_capture": {"content": "x", "thought_type": "note"},
    "cortexa_search": {"query": "x"},
    "cortexa_recent": {},
    "cortexa_context": {"context": "x"},
    "cortexa_health": {},
    "cortexa_confidence_history": {"item_id": "x"},
    "cortexa_tool_metrics": {},
    "cortexa_get_item": {"item_id": "x"},
    "cortexa_list_projects": {},
    "cortexa_feed": {"channel": "x"},
    "cortexa_review": {"item_id": "x", "state": "reviewed"},
}


async def _audit(app: App) -> list[AuditEntry]:
    return [entry for entry, _ in await app.audit.recent(100)]
