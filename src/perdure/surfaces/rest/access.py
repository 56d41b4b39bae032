"""/api/tokens, /api/audit and /api/settings; for the primary token alone."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from perdure.domain.access import TokenKind
from perdure.domain.records import AuditEntry
from perdure.domain.settings import SETTINGS
from perdure.surfaces.rest.endpoint import Call, Given, endpoint
from perdure.surfaces.rest.shapes import Instant, Shape

NO_AUTO_LOCK = (
    "It has no effect yet: the vault locks itself only where a passphrase is needed to open it again. Add one with "
    "`perdure vault key add passphrase`, and remove the keys that open it by themselves: `perdure vault key list`."
)


class TokenShape(Shape):
    id: str
    kind: TokenKind
    name: str
    created_at: Instant
    revoked_at: Instant | None


class TokenList(Shape):
    items: list[TokenShape]


class NewToken(Shape):
    """`secret` is told this once."""

    id: str
    secret: str


class TokenGiven(Given):
    kind: Literal["primary", "integration"]
    name: str


class AuditShape(Shape):
    at: Instant
    tool_name: str
    agent: str | None
    session_id: str | None
    input_summary: str
    output_status: str
    duration_ms: float
    error_message: str | None
    token_id: str | None


class AuditList(Shape):
    items: list[AuditShape]


class AuditGiven(Given):
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class SettingShape(Shape):
    """`notes`: why the value has no effect as things are."""

    name: str
    value: Any
    default: Any
    help: str
    allowed: tuple[str, ...]
    notes: tuple[str, ...] = ()


class SettingList(Shape):
    items: list[SettingShape]


class ValueGiven(Given):
    value: str = Field(description="As text: a word, a number, or JSON.")


@endpoint("GET", "/api/tokens", primary=True, works_locked=True)
async def list_tokens(call: Call) -> TokenList:
    """Tokens with their stories, revoked ones too, without secrets."""
    return TokenList(items=[TokenShape.model_validate(token) for token in call.app.access.tokens()])


@endpoint("POST", "/api/tokens", status=201, primary=True, works_locked=True)
async def create_token(call: Call, body: TokenGiven) -> NewToken:
    """A new token; its secret is told this once."""
    token, secret = call.app.access.create_token(TokenKind(body.kind), body.name)
    return NewToken(id=token.id, secret=secret)


@endpoint("DELETE", "/api/tokens/{token_id}", primary=True, works_locked=True)
async def revoke_token(call: Call, token_id: str) -> TokenShape:
    """Revoke a token; it opens nothing from now on."""
    return TokenShape.model_validate(call.app.access.revoke_token(token_id))


@endpoint("GET", "/api/audit", primary=True)
async def list_audit(call: Call, query: AuditGiven) -> AuditList:
    """The record of calls, newest first: names, lengths and ids, never content."""
    return AuditList(items=[_entry(entry, at) for entry, at in await call.app.audit.recent(query.limit)])


def _entry(entry: AuditEntry, at: datetime) -> AuditShape:
    fields = {name: getattr(entry, name) for name in AuditShape.model_fields if name != "at"}
    return AuditShape(at=at, **fields)


@endpoint("GET", "/api/settings", primary=True)
async def list_settings(call: Call) -> SettingList:
    """Every setting of the vault with its value in force."""
    values = await call.app.settings.all()
    return SettingList(items=[_setting(call, name, value) for name, value in values.items()])


@endpoint("GET", "/api/settings/{name}", primary=True)
async def get_setting(call: Call, name: str) -> SettingShape:
    """One setting with its value in force."""
    return _setting(call, name, await call.app.settings.get(name))


@endpoint("PUT", "/api/settings/{name}", primary=True)
async def put_setting(call: Call, name: str, body: ValueGiven) -> SettingShape:
    """Set a setting."""
    return _setting(call, name, await call.app.settings.put(name, body.value))


@endpoint("DELETE", "/api/settings/{name}", primary=True)
async def reset_setting(call: Call, name: str) -> SettingShape:
    """Bring a setting back to its default."""
    return _setting(call, name, await call.app.settings.put(name, None))


def _setting(call: Call, name: str, value: Any) -> SettingShape:
    declared = SETTINGS[name]
    notes = (NO_AUTO_LOCK,) if name == "auto_lock_minutes" and value and not call.app.vault.can_auto_lock else ()
    return SettingShape(
        name=name, value=value, default=declared.default, help=declared.help, allowed=declared.allowed, notes=notes
    )


ENDPOINTS = (
    list_tokens, create_token, revoke_token, list_audit, list_settings, get_setting, put_setting, reset_setting,
)  # fmt: skip
