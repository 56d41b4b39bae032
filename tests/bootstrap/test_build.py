from __future__ import annotations

import asyncio
from pathlib import Path

from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.vault import VaultState


def test_building_opens_and_makes_nothing(tmp_home: Path) -> None:
    app = build_app(read_launch(home=tmp_home / "new", environ={}))
    assert app.vault.state is VaultState.MISSING
    assert not (tmp_home / "new").exists()


def test_a_built_app_starts_with_a_vault_of_its_own(tmp_home: Path) -> None:
    async def body() -> None:
        app = build_app(read_launch(home=tmp_home / "new", environ={}))
        assert await app.vault.start() is VaultState.OPEN
        await app.vault.close()

    asyncio.run(body())
    names = {path.relative_to(tmp_home / "new").as_posix() for path in (tmp_home / "new").rglob("*") if path.is_file()}
    assert {"vault.key", "token", "vault/header.json", "vault/vault.db"} <= names
