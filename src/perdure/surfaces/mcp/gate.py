"""The one gate of every call: find, authorize, validate, run, render, audit (ARCHITECTURE, The way of one call)."""

from __future__ import annotations

import dataclasses
import logging
import secrets
import time
import traceback
from collections.abc import Mapping, Sequence
from uuid import UUID

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.memory import MAX_LABEL_CHARS
from perdure.domain.records import AuditEntry
from perdure.domain.secrets import redact
from perdure.domain.vault import VaultState
from perdure.errors import Internal, PerdureError, PrimaryOnly, VaultLocked, VaultMissing
from perdure.surfaces.mcp.declaration import Tool
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.mcp.reply import Reply

ALL = "all"
UNKNOWN_TOOL = -32602
PRIMARY_ONLY = -32001
logger = logging.getLogger(__name__)


class ToolRefused(Exception):
    """A call that reaches no tool: the name is unknown (-32602) or the token may not run it (-32001)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class Gate:
    """`door` is a family's name, or "all"; a tool answers in its own family's manner at every door."""

    def __init__(self, app: App, families: Sequence[Family]) -> None:
        self.app = app
        everything = {tool.name: (family, tool) for family in families for tool in family.tools}
        self._doors = {family.name: {t.name: (family, t) for t in family.tools} for family in families} | {ALL: everything}
        self._families = tuple(families)

    @property
    def doors(self) -> tuple[str, ...]:
        return tuple(self._doors)

    @property
    def repeatable(self) -> tuple[str, ...]:
        """The tools of all doors that do no more when called twice."""
        return tuple(name for name, (_, tool) in self._doors[ALL].items() if tool.repeatable or not tool.writes)

    def tools(self, door: str, caller: Caller) -> list[Tool]:
        """What the caller may use there, in the family's order."""
        return [tool for _, tool in self._doors[door].values() if caller.is_primary or not tool.primary]

    def schema(self, door: str, name: str) -> dict[str, object] | None:
        """A tool's argument schema, whoever asks; None for an unknown name."""
        found = self._doors[door].get(name)
        return found[1].schema if found else None

    def instructions(self, door: str) -> str:
        return "\n\n".join(family.instructions for family in self._families if door in (family.name, ALL))

    async def call(self, door: str, caller: Caller, name: str, arguments: object) -> Reply:
        """Run a tool. Errors of the tool are answers in the family's words.

        Raises ToolRefused, and asyncio.CancelledError when the client went away or took the call back.
        """
        found = self._doors[door].get(name)
        if found is None:
            raise ToolRefused(UNKNOWN_TOOL, f"Unknown tool: {name[:100]}")
        family, tool = found
        if tool.primary and not caller.is_primary:
            refused = PrimaryOnly()
            self.app.audit.record(_entry(tool, caller, arguments, refused.code, error=refused))
            raise ToolRefused(PRIMARY_ONLY, refused.message)
        started = time.perf_counter()
        reply: Reply | None = None
        try:
            reply = await self._run(tool, caller, arguments)
        except PerdureError as error:
            reply = _failed(family, told(error, tool.name))
        except Exception as bug:  # noqa: BLE001 - a bug in one tool becomes `internal`, not a dead server
            reply = _failed(family, logged(bug, tool.name))
        finally:
            status = "cancelled" if reply is None else reply.error.code if reply.error else "ok"
            entry = _entry(tool, caller, arguments, status, error=reply.error if reply else None)
            elapsed_ms = (time.perf_counter() - started) * 1000
            self.app.audit.record(dataclasses.replace(entry, duration_ms=elapsed_ms))
        return reply

    async def _run(self, tool: Tool, caller: Caller, raw: object) -> Reply:
        if not tool.works_locked:
            self._require_open()
            self.app.vault.touch()
        arguments = tool.parse({} if raw is None else raw)
        reply = await tool.run(self.app, caller, arguments.values)
        return reply.with_notes(arguments.notes)

    def fault(self) -> PerdureError | None:
        """Why the vault could not be opened, while it is not open; None where that is not known."""
        return None

    def _require_open(self) -> None:
        fault = self.fault()
        if fault is not None:
            raise fault
        state = self.app.vault.state
        if state is VaultState.MISSING:
            raise VaultMissing
        if state is VaultState.LOCKED:
            raise VaultLocked


def told(error: PerdureError, where: str) -> PerdureError:
    """The error as a caller is told it: one that says nothing but that it is internal is logged, and names its log entry."""
    return logged(error, where) if type(error) is Internal and error.message == Internal().message else error


def logged(bug: Exception, where: str) -> Internal:
    """The error told to the caller; the log has the frames and the kind of the bug, but no text: it could quote content."""
    error_id = secrets.token_hex(8)
    frames = "".join(traceback.format_tb(bug.__traceback__))
    logger.error("error %s in %s: %s\n%s", error_id, where, type(bug.__cause__ or bug).__qualname__, frames)
    return Internal(f"Something went wrong inside perdure; the log entry {error_id} tells more.", id=error_id)


def _failed(family: Family, error: PerdureError) -> Reply:
    return dataclasses.replace(family.render_error(error), error=error)


def _entry(tool: Tool, caller: Caller, raw: object, status: str, *, error: PerdureError | None) -> AuditEntry:
    given = raw if isinstance(raw, Mapping) else {}
    return AuditEntry(
        tool_name=tool.name,
        agent=_label(given.get("agent")) or caller.client,
        session_id=_label(given.get("session_id")),
        input_summary=summarize(tool, given),
        output_status=status,
        duration_ms=0.0,
        error_message=_cause(tool, error) if error else None,
        token_id=caller.token_id,
    )


def _label(value: object) -> str | None:
    return redact(value[:MAX_LABEL_CHARS])[0] if isinstance(value, str) and value else None


def _cause(tool: Tool, error: PerdureError) -> str:
    """The code, the argument it is about where that is one of the tool's, and the log entry's id; never the message."""
    if isinstance(error, Internal):
        return f"{error.code}: {error.details.get('id', '')}"
    argument = str(error.details.get("argument", "")).partition(".")[0].partition("[")[0]
    return f"{error.code}: {argument}" if argument in tool.schema["properties"] else error.code


def summarize(tool: Tool, given: Mapping[str, object]) -> str:
    """Names with lengths, numbers, listed values and ids; never content, nor a name that is none of the tool's arguments."""
    properties = tool.schema["properties"]
    parts = [f"{name}{_summary(value, properties[name])}" for name, value in given.items() if name in properties]
    unknown = len(given) - len(parts)
    return ", ".join([*parts, f"{unknown} unknown"] if unknown else parts)


def _summary(value: object, schema: Mapping[str, object]) -> str:
    allowed = schema.get("enum")
    match value:
        case str() if _is_id(value) or (isinstance(allowed, list) and value in allowed):
            return f"={value}"
        case str():
            return f":{len(value)} chars"
        case bool() | int() | float() | None:
            return f"={value}"
        case list():
            return f":{len(value)} entries"
        case dict():
            return f":{len(value)} fields"
    return ""


def _is_id(text: str) -> bool:
    if len(text) != 36:
        return False
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
