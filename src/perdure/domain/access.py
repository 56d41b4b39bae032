"""Who calls, and what each kind of token may do (SEMANTICS 6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class TokenKind(StrEnum):
    """primary: the owner; integration: an agent that may not run, write or drive; user: a person's `cnxt_` key."""

    PRIMARY = "primary"
    INTEGRATION = "integration"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it is remembered: its hash and its story, never its secret."""

    id: str
    kind: TokenKind
    name: str
    digest: str
    created_at: datetime
    revoked_at: datetime | None = None
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One authenticated caller: the verified side of attribution, and the spaces it may reach.

    `key` is the caller key of SEMANTICS 6 (bridge connection, legacy session, Perdure-Client header, else token id). `client`
    is the verified client name (token name or the client info of the connection). `spaces` holds the ids of the spaces it
    reads; `space_id` is the one it writes to.
    """

    kind: TokenKind
    token_id: str
    key: str
    space_id: str
    spaces: tuple[str, ...]
    user_id: str
    client: str | None = None

    @property
    def is_primary(self) -> bool:
        return self.kind is TokenKind.PRIMARY
