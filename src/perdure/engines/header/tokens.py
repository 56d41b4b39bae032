"""Tokens are 256-bit random secrets, remembered by their SHA-256 alone.

A slow hash protects what people think up and others guess; nobody guesses 256 random bits, and the hash is computed on every
request. Tokens stand outside the header's tags on purpose: a leaked token must be revocable while the vault is locked, and
whoever can write this 0700 folder can read the primary token in it anyway.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import uuid4

from perdure.domain.access import Token, TokenKind

_PREFIX = {TokenKind.PRIMARY: "pdr_", TokenKind.INTEGRATION: "pdi_", TokenKind.USER: "cnxt_"}
_TOKEN_BYTES = 32


def new_token(kind: TokenKind, name: str, *, created_at: datetime, user_id: str | None = None) -> tuple[Token, str]:
    """A new token and its secret; the prefix tells people and secret scanners what it is."""
    secret = _PREFIX[kind] + secrets.token_urlsafe(_TOKEN_BYTES)
    token = Token(id=str(uuid4()), kind=kind, name=name, digest=token_digest(secret), created_at=created_at, user_id=user_id)
    return token, secret


def token_digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def live_by_digest(tokens: Iterable[Token]) -> dict[str, Token]:
    return {token.digest: token for token in tokens if token.revoked_at is None}


def match_token(live: Mapping[str, Token], secret: str) -> Token | None:
    """The token with that secret.

    The look-up's timing can tell only about the digest of a guess, which nobody can steer towards another digest; the
    comparison that decides takes constant time.
    """
    digest = token_digest(secret)
    token = live.get(digest)
    return token if token is not None and hmac.compare_digest(token.digest, digest) else None
