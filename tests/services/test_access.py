from __future__ import annotations

from pathlib import Path

import pytest

from perdure.app import App
from perdure.domain.access import Caller, TokenKind
from perdure.errors import InvalidInput, NotFound, Unauthorized
from tests.services.conftest import Play


def test_the_primary_token_names_the_owner_and_an_integration_token_is_less(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        owner = app.access.authenticate(app.access.primary_secret())
        assert (owner.is_primary, owner.client) == (True, None)
        assert app.access.authenticate(app.access.primary_secret(), client="cursor").client == "cursor"
        token, secret = app.access.create_token(TokenKind.INTEGRATION, " cursor ")
        caller = app.access.authenticate(secret)
        assert (caller.is_primary, caller.client, caller.token_id) == (False, "cursor", token.id)
        assert caller.spaces == owner.spaces == me.spaces

    play(scenario)


@pytest.mark.parametrize("secret", [None, "", "pdr_unknown", "x" * 10_000, "\u0000"])
def test_no_token_and_an_unknown_one_are_refused(play: Play, secret: str | None) -> None:
    async def scenario(app: App, me: Caller) -> None:
        with pytest.raises(Unauthorized):
            app.access.authenticate(secret)

    play(scenario)


def test_a_revoked_token_lets_nobody_in_and_an_unknown_id_is_named(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        token, secret = app.access.create_token(TokenKind.INTEGRATION, "old")
        app.access.revoke_token(token.id)
        with pytest.raises(Unauthorized, match="revoked"):
            app.access.authenticate(secret)
        with pytest.raises(NotFound):
            app.access.revoke_token("nobody")

    play(scenario)


@pytest.mark.parametrize("name", ["", "   ", "n" * 101])
def test_a_token_needs_a_name_of_sensible_length(play: Play, name: str) -> None:
    async def scenario(app: App, me: Caller) -> None:
        with pytest.raises(InvalidInput, match="1 to 100"):
            app.access.create_token(TokenKind.INTEGRATION, name)

    play(scenario)


def test_the_caller_key_is_the_connection_where_there_is_one_else_the_token(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        secret = app.access.primary_secret()
        assert app.access.authenticate(secret, key="session-7").key == "session-7"
        caller = app.access.authenticate(secret)
        assert caller.key == caller.token_id

    play(scenario)


def test_revoking_the_primary_token_makes_a_new_one_so_that_the_owner_is_not_locked_out(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        old = app.access.primary_secret()
        app.access.revoke_token(app.access.authenticate(old).token_id)
        with pytest.raises(Unauthorized):
            app.access.authenticate(old)
        assert app.access.authenticate(app.access.primary_secret()).is_primary

    play(scenario)


def test_a_lost_token_file_is_made_anew_at_the_next_start(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.vault.close()
        (tmp_home / "token").unlink()
        await app.vault.start()
        assert app.access.authenticate((tmp_home / "token").read_text().strip()).is_primary

    play(scenario)
