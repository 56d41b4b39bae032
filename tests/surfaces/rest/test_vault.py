"""The vault and its keys and tokens over REST: locked, opened, copied, brought back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.surfaces.rest.conftest import Play, Wire, problem_of

PASSPHRASE = "correct horse battery staple"


def test_a_vault_with_a_passphrase_is_locked_and_opened_again(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican")
        await wire.call("POST", "/api/vault/keys", {"kind": "passphrase", "secret": PASSPHRASE}, status=201)
        for key in (await wire.call("GET", "/api/vault/keys"))["items"]:
            if key["kind"] != "passphrase":
                await wire.call("DELETE", f"/api/vault/keys/{key['id']}")
        assert await wire.call("POST", "/api/vault/lock") == {"state": "locked"}
        await wire.refused("GET", f"/api/memories/{memory_id}", status=423, code="vault_locked")
        for body in (None, {"secret": "wrong"}):
            await wire.refused("POST", "/api/vault/unlock", body, status=423, code="vault_locked")
        assert await wire.call("POST", "/api/vault/unlock", {"secret": PASSPHRASE}) == {"state": "open"}
        assert (await wire.call("GET", f"/api/memories/{memory_id}"))["content"] == "a pelican"

    play(scenario)


def test_the_last_key_stays(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        (key,) = (await wire.call("GET", "/api/vault/keys"))["items"]
        await wire.refused("DELETE", f"/api/vault/keys/{key['id']}", status=409, code="conflict")

    play(scenario)


def test_a_backup_brings_back_what_was_there(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        folder = str(wire.world.home / "copy")
        memory_id = await wire.capture("a pelican")
        assert await wire.call("POST", "/api/vault/backup", {"folder": folder}, status=201) == {"folder": folder}
        await wire.call("PATCH", f"/api/memories/{memory_id}", {"content": "a heron"})
        restored = await wire.call("POST", "/api/vault/restore", {"folder": folder})
        assert restored["state"] == "open"
        assert await asyncio.to_thread((Path(restored["kept"]) / "vault.db").exists)
        assert (await wire.call("GET", f"/api/memories/{memory_id}"))["content"] == "a pelican"

    play(scenario)


PLACES = [
    ("HOME/token", 409, "conflict"),
    ("HOME/token/sub", 422, "invalid_input"),
    ("HOME/" + "n" * 300, 422, "invalid_input"),
    ("HOME" + "/n" * 3000, 422, "invalid_input"),
    ("HOME/vault", 422, "invalid_input"),
    ("HOME/vault/sub", 422, "invalid_input"),
    ("HOME/link/sub", 422, "invalid_input"),
    ("HOME/lost", 422, "invalid_input"),
    ("HOME", 409, "conflict"),
]


@pytest.mark.parametrize(("place", "status", "code"), PLACES, ids=[place[:20] for place, *_ in PLACES])
def test_a_backup_that_cannot_be_made_names_its_place_and_leaves_nothing(play: Play, place: str, status: int, code: str) -> None:
    async def scenario(wire: Wire) -> None:
        home = wire.world.home
        (home / "link").symlink_to(home / "vault")
        (home / "lost").symlink_to(home / "nowhere" / "x")
        before = _tree(home)
        folder = place.replace("HOME", str(home))
        wrong = await wire.refused("POST", "/api/vault/backup", {"folder": folder}, status=status, code=code)
        assert str(home) in wrong["detail"]
        assert _tree(home) == before
        assert await wire.capture("still there")

    play(scenario)


def test_a_copy_for_other_tools_that_cannot_be_made_names_its_place(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        home = wire.world.home
        for target, status, code in (
            ("token", 409, "conflict"),
            ("token/sub", 507, "disk_read_only"),
            ("vault/sub", 422, "invalid_input"),
            ("n" * 300, 422, "invalid_input"),
        ):
            body = {"target": str(home / target), "passphrase": PASSPHRASE}
            wrong = await wire.refused("POST", "/api/vault/export-sqlcipher", body, status=status, code=code)
            assert str(home) in wrong["detail"]

    play(scenario)


def test_a_backup_that_nobody_can_have_is_refused_by_name(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for name, status, code in (("n" * 300, 422, "invalid_input"), ("token", 404, "vault_missing")):
            body = {"folder": str(wire.world.home / name)}
            wrong = await wire.refused("POST", "/api/vault/restore", body, status=status, code=code)
            assert str(wire.world.home) in wrong["detail"]
        assert await wire.capture("still there")

    play(scenario)


def _tree(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def test_a_new_token_works_at_once_and_is_listed_without_its_secret(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        token = await wire.call("POST", "/api/tokens", {"kind": "integration", "name": "agent"}, status=201)
        listed = await wire.client.get("/api/tokens")
        assert token["id"] in listed.text
        assert token["secret"] not in listed.text
        revoked = await wire.call("DELETE", f"/api/tokens/{token['id']}")
        assert revoked["revoked_at"]
        bearer = {"Authorization": f"Bearer {token['secret']}"}
        problem_of(await wire.anonymous.get("/api/projects", headers=bearer), 401, "unauthorized")

    play(scenario)


def test_a_setting_holds_until_it_is_reset(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        changed = await wire.call("PUT", "/api/settings/audit_days", {"value": "7"})
        assert (changed["value"], changed["default"]) == (7, 90)
        assert (await wire.call("GET", "/api/settings/audit_days"))["value"] == 7
        assert (await wire.call("DELETE", "/api/settings/audit_days"))["value"] == 90

    play(scenario)


def test_an_unknown_setting_is_named_in_short(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for method, body in (("GET", None), ("PUT", {"value": "1"}), ("DELETE", None)):
            wrong = await wire.refused(method, f"/api/settings/{'x' * 10_000}", body, status=404, code="not_found")
            assert len(wrong["detail"]) < 400

    play(scenario)


def test_stop_asks_for_a_graceful_end_once(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        assert await wire.call("POST", "/api/stop", status=202) == {"stopping": True}
        assert wire.stops == ["stop"]

    play(scenario)


def test_writes_leave_a_record_with_ids_and_without_content(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican", project="aviary")
        await wire.call("DELETE", f"/api/memories/{memory_id}")
        await wire.refused("PUT", "/api/settings/pelican", {"value": "x"}, status=404, code="not_found")
        response = await wire.client.get("/api/audit")
        entries = [(e["tool_name"], e["input_summary"], e["output_status"]) for e in response.json()["items"]]
        assert entries == [
            ("PUT /api/settings/{name}", "", "not_found"),
            ("DELETE /api/memories/{memory_id}", f"memory_id={memory_id}", "ok"),
            ("POST /api/memories", "", "ok"),
        ]
        assert "pelican" not in response.text
        assert "aviary" not in response.text

    play(scenario)
