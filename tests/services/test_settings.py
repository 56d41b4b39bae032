from __future__ import annotations

import pytest

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.settings import SETTINGS
from perdure.errors import InvalidInput, NotFound, VaultLocked
from tests.services.conftest import Play


def test_a_setting_has_its_default_until_it_is_set_and_again_when_reset(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        assert await app.settings.get("audit_days") == SETTINGS["audit_days"].default
        assert await app.settings.put("audit_days", "7") == 7
        assert (await app.settings.all())["audit_days"] == 7
        await app.settings.put("audit_days", None)
        assert await app.settings.get("audit_days") == SETTINGS["audit_days"].default

    play(scenario)


def test_a_setting_outlives_the_vault_being_closed(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.settings.put("secrets", "refuse")
        await app.vault.close()
        await app.vault.unlock()
        assert await app.settings.get("secrets") == "refuse"

    play(scenario)


def test_a_refused_value_changes_nothing(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        with pytest.raises(InvalidInput, match="redact, refuse"):
            await app.settings.put("secrets", "shout")
        with pytest.raises(NotFound, match="audit_days"):
            await app.settings.put("nothing", "1")
        assert await app.settings.get("secrets") == "redact"

    play(scenario)


def test_a_locked_vault_tells_no_setting(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        app.settings.forget()
        with pytest.raises(VaultLocked):
            await app.settings.get("secrets")

    play(scenario)
