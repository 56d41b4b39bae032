"""A vault that could not be opened: every route that needs it says why, the others still answer (FAULTS DL14)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from httpx2 import ASGITransport, AsyncClient

from perdure.bootstrap.build import build_app
from perdure.domain.access import TokenKind
from perdure.domain.launch import Home, Launch
from perdure.domain.vault import SlotKind
from perdure.surfaces.daemon.opening import Opening, PatientAsgi, PatientGate
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.rest.asgi import ENDPOINTS, build_asgi
from tests.surfaces.rest.conftest import BASE, problem_of
from tests.surfaces.rest.test_routes import NOWHERE

PASSPHRASE = "correct horse battery staple"
Harm = Callable[[Home], object]

HARMS: dict[str, tuple[Harm, int, str, str]] = {
    "no vault": (lambda home: home.vault_file.unlink(), 404, "vault_missing", "vault.db"),
    "an empty vault": (lambda home: home.vault_file.write_bytes(b""), 500, "vault_damaged", "damaged"),
    "half a vault": (lambda home: _cut(home.vault_file), 500, "vault_damaged", "damaged"),
    "another file": (lambda home: home.vault_file.write_bytes(bytes(range(256)) * 64), 500, "vault_damaged", "damaged"),
    "no key file": (lambda home: _key(home).unlink(), 423, "vault_locked", "key file"),
    "another key": (lambda home: _key(home).write_text("0" * 64), 423, "vault_locked", "key"),
}

LOST: dict[str, Harm] = {
    "no header": lambda home: _header(home).unlink(),
    "half a header": lambda home: _cut(_header(home)),
    "another header": lambda home: _header(home).write_text('{"a": 1}'),
}


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _header(home: Home) -> Path:
    return home.vault_file.with_name("header.json")


def _key(home: Home) -> Path:
    return home.folder / "vault.key"


@asynccontextmanager
async def _serving(home: Home) -> AsyncIterator[AsyncClient]:
    """What a daemon serves once it has tried to open the vault."""
    app = build_app(Launch(home=home))
    secret = home.token_file.read_text().strip()
    opening = Opening(app, None)
    asgi = build_asgi(app, PatientGate(app, (CORTEXA,), opening), allowed_hosts=(), on_stop=lambda: None)
    await opening.run()
    try:
        async with asgi.router.lifespan_context(asgi):
            transport = ASGITransport(PatientAsgi(asgi, app, opening))
            async with AsyncClient(transport=transport, base_url=BASE, headers={"Authorization": f"Bearer {secret}"}) as client:
                yield client
    finally:
        await app.vault.close()


async def _make(home: Home, *, passphrase: bool = False) -> None:
    app = build_app(Launch(home=home))
    await app.vault.start()
    if passphrase:
        await app.vault.add_key(SlotKind.PASSPHRASE, secret=PASSPHRASE)
    await app.vault.backup(home.folder / "copy")
    await app.vault.close()


@pytest.mark.parametrize(("harm", "status", "code", "word"), HARMS.values(), ids=HARMS.keys())
def test_dl14_every_route_that_needs_the_vault_says_why_it_is_not_open(
    tmp_home: Path, harm: Harm, status: int, code: str, word: str
) -> None:
    async def scene() -> None:
        home = Home(tmp_home)
        await _make(home)
        harm(home)
        before = sorted(path.name for path in home.vault_file.parent.iterdir())
        async with _serving(home) as client:
            for endpoint in ENDPOINTS:
                if endpoint.works_locked or endpoint.public or endpoint.gated:
                    continue
                path = endpoint.path.format(memory_id=NOWHERE, name="secrets", token_id="x", key_id="x")
                document = problem_of(await client.request(endpoint.method, path), status, code)
                assert word in document["detail"]
                assert "unlock it" not in document["detail"]
            answer = await client.post("/api/tools/cortexa_recent", json={})
            problem_of(answer, status, code)
            for path in ("/api/health", "/api/vault", "/api/tokens", "/api/tools", "/api/vault/keys"):
                assert (await client.get(path)).status_code == 200
        assert sorted(path.name for path in home.vault_file.parent.iterdir()) == before

    asyncio.run(scene())


@pytest.mark.parametrize("name", ["no vault", "an empty vault", "half a vault", "another file"])
def test_dl14_a_backup_is_restored_over_a_vault_that_cannot_be_opened(tmp_home: Path, name: str) -> None:
    async def scene() -> None:
        home = Home(tmp_home)
        await _make(home)
        HARMS[name][0](home)
        async with _serving(home) as client:
            restored = await client.post("/api/vault/restore", json={"folder": str(home.folder / "copy")})
            assert restored.status_code == 200, restored.text
            assert (await client.get("/api/memories")).status_code == 200

    asyncio.run(scene())


@pytest.mark.parametrize("harm", LOST.values(), ids=LOST.keys())
def test_dl14_without_its_key_header_the_owner_is_told_and_restores_a_backup(tmp_home: Path, harm: Harm) -> None:
    async def scene() -> None:
        home = Home(tmp_home)
        await _make(home)
        harm(home)
        async with _serving(home) as client:
            told = (await client.get("/api/memories")).json()
            assert told["code"] in ("vault_missing", "vault_damaged")
            assert "perdure vault restore" in told["detail"]
            stranger = await client.get("/api/memories", headers={"Authorization": "Bearer x"})
            assert stranger.json()["code"] == told["code"]
            problem_of(await client.get("/api/memories", headers={"Authorization": ""}), 401, "unauthorized")
            restored = await client.post("/api/vault/restore", json={"folder": str(home.folder / "copy")})
            assert restored.status_code == 200, restored.text
            assert (await client.get("/api/memories")).status_code == 200

    asyncio.run(scene())


def test_once_it_was_unlocked_the_fault_is_told_no_more(tmp_home: Path) -> None:
    async def scene() -> None:
        home = Home(tmp_home)
        await _make(home, passphrase=True)
        _key(home).write_text("0" * 64)
        async with _serving(home) as client:
            told = problem_of(await client.get("/api/memories"), 423, "vault_locked")["detail"]
            assert "does not open this vault" in told
            problem_of(await client.post("/api/vault/unlock", json={"secret": "wrong horse battery"}), 423, "vault_locked")
            assert (await client.post("/api/vault/unlock", json={"secret": PASSPHRASE})).json() == {"state": "open"}
            assert (await client.get("/api/memories")).status_code == 200
            assert (await client.post("/api/vault/lock")).json() == {"state": "locked"}
            assert problem_of(await client.get("/api/memories"), 423, "vault_locked")["detail"] != told

    asyncio.run(scene())


def test_an_integration_token_is_told_too(tmp_home: Path) -> None:
    async def scene() -> None:
        home = Home(tmp_home)
        await _make(home)
        secret = build_app(Launch(home=home)).access.create_token(TokenKind.INTEGRATION, "agent")[1]
        _key(home).unlink()
        async with _serving(home) as client:
            response = await client.get("/api/search?query=x", headers={"Authorization": f"Bearer {secret}"})
            assert "key file" in problem_of(response, 423, "vault_locked")["detail"]

    asyncio.run(scene())
