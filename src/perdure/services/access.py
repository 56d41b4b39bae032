"""Tokens and who stands behind them; works while the vault is locked."""

from __future__ import annotations

import hmac

from perdure.domain.access import Caller, Token, TokenKind
from perdure.errors import InvalidInput, Unauthorized, VaultDamaged, VaultMissing
from perdure.ports.vault import KeyHeader

OWNER_ID = "owner"
"""The one user of an embedded vault; a personal space has the id of its user."""


class AccessService:
    def __init__(self, header: KeyHeader) -> None:
        self._header = header

    def authenticate(self, secret: str | None, *, client: str | None = None, key: str | None = None) -> Caller:
        """The caller behind a token's secret. Raises Unauthorized for none, an unknown or a revoked one.

        Without a header that can be read nobody is known but the owner, by the token file, so that they can restore a backup;
        all others are told what is wrong with it (VaultMissing, VaultDamaged).
        """
        if not secret:
            raise Unauthorized
        try:
            token = self._header.find_token(secret)
        except (VaultMissing, VaultDamaged):
            own = self._header.primary_secret()
            if own is None or not hmac.compare_digest(own.encode(), secret.encode()):
                raise
            return self.local_owner(client=client, key=key)
        if token is None:
            raise Unauthorized("The token is not known here or was revoked; `perdure token show primary` prints yours.")
        return self.caller_of(token, client=client, key=key)

    def caller_of(self, token: Token, *, client: str | None = None, key: str | None = None) -> Caller:
        user_id = token.user_id or OWNER_ID
        return Caller(
            kind=token.kind,
            token_id=token.id,
            key=key or token.id,
            space_id=user_id,
            spaces=(user_id,),
            user_id=user_id,
            client=client or (token.name if token.kind is not TokenKind.PRIMARY else None),
        )

    def local_owner(self, *, client: str | None = None, key: str | None = None) -> Caller:
        """The owner, known by the operating system (a socket in a folder only they can enter)."""
        return Caller(
            kind=TokenKind.PRIMARY,
            token_id="local",
            key=key or "local",
            space_id=OWNER_ID,
            spaces=(OWNER_ID,),
            user_id=OWNER_ID,
            client=client,
        )

    def tokens(self) -> tuple[Token, ...]:
        return self._header.tokens()

    def create_token(self, kind: TokenKind, name: str) -> tuple[Token, str]:
        """A new token and its secret, which is told this once. Raises InvalidInput for a blank or overlong name."""
        if not name.strip() or len(name) > 100:
            raise InvalidInput("name: must have 1 to 100 characters", argument="name")
        return self._header.add_token(kind, name.strip())

    def revoke_token(self, token_id: str) -> Token:
        """The revoked token. The owner is never locked out: a new primary token takes a revoked one's place. Raises NotFound."""
        token = self._header.revoke_token(token_id)
        if token.kind is TokenKind.PRIMARY:
            self._header.ensure_primary()
        return token

    def primary_secret(self) -> str | None:
        return self._header.primary_secret()
