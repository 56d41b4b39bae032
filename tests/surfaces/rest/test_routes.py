"""Every declared route: one call that is right and one that is wrong; the ledger fails for a route that stands in neither."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.domain.access import TokenKind
from perdure.surfaces.rest.asgi import ENDPOINTS
from tests.surfaces.rest.conftest import Play, Wire, problem_of

NOWHERE = "01900000-0000-7000-8000-000000000000"
BY_NAME = {endpoint.function.__name__: endpoint for endpoint in ENDPOINTS}
Given = tuple[str, Any]
"""What goes behind or into the path, and the body. `ID` stands for a captured memory, `HOME` for the home folder."""

RIGHT: dict[str, tuple[Given, str]] = {
    "get_root": (("/", None), "mcp"),
    "get_openapi": (("/openapi.json", None), "paths"),
    "get_health": (("/api/health", None), "uptime_s"),
    "stop": (("/api/stop", None), "stopping"),
    "list_tools": (("/api/tools", None), "items"),
    "call_tool": (("/api/tools/cortexa_recent", {"limit": "3"}), "text"),
    "list_memories": (("/api/memories?kind=note&kind=debug&from=2020-01&limit=5", None), "total"),
    "capture_memory": (("/api/memories", {"content": "x", "confidence": "high", "tags": '["a","b"]'}), "id"),
    "archive_memories": (("/api/memories/archive", {"tag": ["none-has-it"]}), "archived"),
    "get_memory": (("/api/memories/ID", None), "content"),
    "update_memory": (("/api/memories/ID", {"content": "new", "expected_version": 1}), "revision"),
    "archive_memory": (("/api/memories/ID", None), "archived_at"),
    "restore_memory": (("/api/memories/ID/restore", None), "archived_at"),
    "review_memory": (("/api/memories/ID/review", {"state": "reviewed"}), "review"),
    "list_versions": (("/api/memories/ID/versions", None), "items"),
    "purge_memory": (("/api/memories/ID/purge", {"confirm": "ID"}), "purged"),
    "search_memories": (("/api/search?query=pelican", None), "hits"),
    "list_projects": (("/api/projects", None), "items"),
    "vault_status": (("/api/vault", None), "cipher"),
    "check_vault": (("/api/vault/check", {"deep": True}), "faults"),
    "rekey_vault": (("/api/vault/rekey", None), "state"),
    "unlock_vault": (("/api/vault/unlock", None), "state"),
    "backup_vault": (("/api/vault/backup", {"folder": "HOME/backup"}), "folder"),
    "export_sqlcipher": (("/api/vault/export-sqlcipher", {"target": "HOME/copy.db", "passphrase": "p"}), "path"),
    "list_keys": (("/api/vault/keys", None), "items"),
    "add_key": (("/api/vault/keys", {"kind": "recovery"}), "recovery_key"),
    "list_tokens": (("/api/tokens", None), "items"),
    "create_token": (("/api/tokens", {"kind": "integration", "name": "agent"}), "secret"),
    "list_audit": (("/api/audit?limit=5", None), "items"),
    "list_settings": (("/api/settings", None), "items"),
    "get_setting": (("/api/settings/secrets", None), "value"),
    "put_setting": (("/api/settings/secrets", {"value": "refuse"}), "value"),
    "reset_setting": (("/api/settings/secrets", None), "default"),
}
ELSEWHERE = {"export_memories", "import_memories", "lock_vault", "restore_vault", "remove_key", "revoke_token"}
"""Shown by tests of their own, for they need more than one call."""

WRONG: dict[str, tuple[Given, int, str]] = {
    "stop": (("/api/stop/now", None), 404, "not_found"),
    "call_tool": (("/api/tools/cortexa_nothing", {}), 404, "not_found"),
    "list_memories": (("/api/memories?limit=0", None), 422, "invalid_input"),
    "capture_memory": (("/api/memories", {"content": "  "}), 422, "invalid_input"),
    "archive_memories": (("/api/memories/archive", {}), 422, "invalid_input"),
    "get_memory": ((f"/api/memories/{NOWHERE}", None), 404, "item_missing"),
    "update_memory": (("/api/memories/ID", {"content": "new", "expected_version": 7}), 409, "conflict"),
    "archive_memory": ((f"/api/memories/{NOWHERE}", None), 404, "item_missing"),
    "restore_memory": ((f"/api/memories/{NOWHERE}/restore", None), 404, "item_missing"),
    "review_memory": (("/api/memories/ID/review", {"state": "superseded"}), 422, "invalid_input"),
    "list_versions": ((f"/api/memories/{NOWHERE}/versions", None), 404, "item_missing"),
    "purge_memory": (("/api/memories/ID/purge", {"confirm": NOWHERE}), 422, "invalid_input"),
    "search_memories": (("/api/search", None), 422, "invalid_input"),
    "export_sqlcipher": (("/api/vault/export-sqlcipher", {"target": "copy.db", "passphrase": "p"}), 422, "invalid_input"),
    "backup_vault": (("/api/vault/backup", {"folder": "HOME"}), 409, "conflict"),
    "restore_vault": (("/api/vault/restore", {"folder": "HOME/none"}), 404, "vault_missing"),
    "check_vault": (("/api/vault/check", {"deep": "perhaps"}), 422, "invalid_input"),
    "rekey_vault": (("/api/vault/rekey", {"secrt": "x"}), 422, "invalid_input"),
    "unlock_vault": (("/api/vault/unlock", []), 422, "invalid_input"),
    "lock_vault": (("/api/vault/lock", None), 409, "conflict"),
    "add_key": (("/api/vault/keys", {"kind": "passphrase"}), 422, "invalid_input"),
    "remove_key": (("/api/vault/keys/none", None), 404, "not_found"),
    "create_token": (("/api/tokens", {"kind": "integration", "name": " "}), 422, "invalid_input"),
    "revoke_token": (("/api/tokens/none", None), 404, "not_found"),
    "list_audit": (("/api/audit?limit=many", None), 422, "invalid_input"),
    "get_setting": (("/api/settings/none", None), 404, "not_found"),
    "put_setting": (("/api/settings/secrets", {"value": "shout"}), 422, "invalid_input"),
    "reset_setting": (("/api/settings/none", None), 404, "not_found"),
}
CANNOT_FAIL = {
    "get_root", "get_openapi", "get_health", "list_tools", "list_projects", "vault_status", "list_keys", "list_tokens",
    "list_settings", "export_memories", "import_memories",
}  # fmt: skip
"""Nothing that is sent makes these fail; their refusals (token, lock) are tested for all together."""


def test_the_ledger_names_every_route_that_is_declared() -> None:
    assert set(RIGHT) | ELSEWHERE == set(BY_NAME)
    assert set(WRONG) | CANNOT_FAIL == set(BY_NAME)
    assert len(BY_NAME) == len(ENDPOINTS)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_call_is_answered_as_declared(play: Play, name: str) -> None:
    endpoint, (given, member) = BY_NAME[name], RIGHT[name]

    async def scenario(wire: Wire) -> None:
        path, body = _filled(given, await wire.capture("a pelican"), wire)
        answer = await wire.call(endpoint.method, path, body, status=endpoint.status)
        assert member in answer
        if endpoint.answer is not None:
            assert set(answer) == set(endpoint.answer.model_fields)

    play(scenario)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused_by_a_named_error(play: Play, name: str) -> None:
    endpoint, (given, status, code) = BY_NAME[name], WRONG[name]

    async def scenario(wire: Wire) -> None:
        path, body = _filled(given, await wire.capture("a pelican"), wire)
        await wire.refused(endpoint.method, path, body, status=status, code=code)

    play(scenario)


def test_an_integration_token_is_refused_on_every_route_of_the_owner(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        async with wire.carrying(TokenKind.INTEGRATION) as client:
            for endpoint in (e for e in ENDPOINTS if e.primary):
                path = endpoint.path.replace("{", "").replace("}", "")
                problem = problem_of(await client.request(endpoint.method, path, json={}), 403, "forbidden")
                assert "primary token" in problem["detail"]
        assert wire.stops == []

    play(scenario)


def test_every_route_needs_a_token_but_the_three_that_say_otherwise(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for endpoint in ENDPOINTS:
            response = await wire.anonymous.request(endpoint.method, endpoint.path, json={})
            assert (response.status_code == 200) == endpoint.public
            assert endpoint.public or response.status_code == 401
        assert sorted(e.path for e in ENDPOINTS if e.public) == ["/", "/api/health", "/openapi.json"]

    play(scenario)


def test_a_locked_vault_says_so_on_every_route_that_needs_it(play: Play) -> None:
    works_locked = {
        "get_root", "get_openapi", "get_health", "list_tools", "stop", "vault_status", "unlock_vault", "list_keys",
        "list_tokens", "create_token", "lock_vault", "add_key",
    }  # fmt: skip
    needs_it = [name for name in RIGHT if name not in works_locked]

    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican")
        await wire.call("POST", "/api/vault/keys", {"kind": "passphrase", "secret": "long enough"}, status=201)
        await wire.call("POST", "/api/vault/lock")
        for name in needs_it:
            path, body = _filled(RIGHT[name][0], memory_id, wire)
            await wire.refused(BY_NAME[name].method, path, body, status=423, code="vault_locked")
        for name in ("get_health", "vault_status", "list_keys", "list_tokens", "list_tools"):
            await wire.call(BY_NAME[name].method, RIGHT[name][0][0])

    play(scenario)


def test_methods_are_told_by_options_and_by_the_refusal_of_others(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        allowed = "DELETE, GET, HEAD, OPTIONS, PATCH"
        options = await wire.client.options("/api/memories/some-id")
        assert (options.status_code, options.headers["allow"]) == (204, allowed)
        refused = await wire.client.put("/api/memories/some-id")
        problem_of(refused, 405, "method_not_allowed")
        assert refused.headers["allow"] == allowed
        head = await wire.client.head("/api/memories")
        assert (head.status_code, head.content) == (200, b"")

    play(scenario)


NOTHING = ["/nothing", "/api/nothing", "/api/memories/", "/api", "/sse", "/messages", "/mcp/none", "/mcp/cortexa/x"]


@pytest.mark.parametrize("path", NOTHING)
def test_an_address_of_nothing_is_a_problem_that_lists_nothing_stored(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("a pelican")
        assert "pelican" not in str(await wire.refused("GET", path, status=404, code="not_found"))

    play(scenario)


def _filled(given: Given, memory_id: str, wire: Wire) -> Given:
    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return memory_id if value == "ID" else value.replace("HOME", str(wire.world.home))
        return {name: fill(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    path, body = given
    return path.replace("ID", memory_id), fill(body)
