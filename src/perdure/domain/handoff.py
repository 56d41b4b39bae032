"""The handoff record of cortexa_capture: where one session stopped and the next goes on (seed 000, cortexa_capture)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perdure.errors import InvalidInput

MAX_ENTRIES = 12
MAX_TEXT_CHARS = 500
MAX_NEXT_ACTION_CHARS = 1000
MAX_SERIALIZED_CHARS = 12_000
STATUSES: tuple[str, ...] = ("passed", "failed", "not_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A check as its caller reports it; perdure did not run it."""

    check: str
    status: str
    details: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    completed: tuple[str, ...] = ()
    verification: tuple[Verification, ...] = ()
    blockers: tuple[str, ...] = ()
    next_action: str

    def as_dict(self) -> dict[str, Any]:
        """The JSON form of the seed; `details` is left out where it was."""
        checks = [
            {"check": v.check, "status": v.status, **({"details": v.details} if v.details is not None else {})}
            for v in self.verification
        ]
        return {
            "completed": list(self.completed),
            "verification": checks,
            "blockers": list(self.blockers),
            "next_action": self.next_action,
        }

    def texts(self) -> list[str]:
        """Every text in it, in reading order, for indexing."""
        checks = [part for v in self.verification for part in (v.check, v.status, v.details or "") if part]
        return [*self.completed, *checks, *self.blockers, self.next_action]


def parse_handoff(raw: Mapping[str, Any]) -> Handoff:
    """Read a handoff from its JSON form.

    Raises InvalidInput that names the field for: unknown or missing fields, blank or overlong text, more than 12 entries,
    unknown check statuses, a serialized form of more than 12,000 characters.
    """
    _refuse_unknown(raw, ("completed", "verification", "blockers", "next_action"), where="handoff")
    handoff = Handoff(
        completed=_texts(raw.get("completed"), "handoff.completed"),
        verification=_checks(raw.get("verification")),
        blockers=_texts(raw.get("blockers"), "handoff.blockers"),
        next_action=_text(raw.get("next_action"), "handoff.next_action", limit=MAX_NEXT_ACTION_CHARS),
    )
    size = len(json.dumps(handoff.as_dict(), ensure_ascii=False))
    if size > MAX_SERIALIZED_CHARS:
        raise InvalidInput(f"handoff: serialized it may have {MAX_SERIALIZED_CHARS} characters, has {size}", argument="handoff")
    return handoff


def _checks(raw: Any) -> tuple[Verification, ...]:
    entries = _entries(raw, "handoff.verification")
    checks = []
    for index, entry in enumerate(entries):
        where = f"handoff.verification[{index}]"
        if not isinstance(entry, Mapping):
            raise InvalidInput(f"{where}: must be an object with check, status and optional details", argument=where)
        _refuse_unknown(entry, ("check", "status", "details"), where=where)
        status = entry.get("status")
        if status not in STATUSES:
            raise InvalidInput(f"{where}.status: must be one of {', '.join(STATUSES)}", argument=f"{where}.status")
        details = entry.get("details")
        checks.append(
            Verification(
                check=_text(entry.get("check"), f"{where}.check", limit=MAX_TEXT_CHARS),
                status=str(status),
                details=None if details is None else _text(details, f"{where}.details", limit=MAX_TEXT_CHARS),
            )
        )
    return tuple(checks)


def _texts(raw: Any, where: str) -> tuple[str, ...]:
    return tuple(_text(entry, f"{where}[{index}]", limit=MAX_TEXT_CHARS) for index, entry in enumerate(_entries(raw, where)))


def _entries(raw: Any, where: str) -> Sequence[Any]:
    if raw is None:
        return ()
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes):
        raise InvalidInput(f"{where}: must be an array", argument=where)
    if len(raw) > MAX_ENTRIES:
        raise InvalidInput(f"{where}: may have {MAX_ENTRIES} entries, has {len(raw)}", argument=where)
    return raw


def _text(raw: Any, where: str, *, limit: int) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise InvalidInput(f"{where}: must be text that is not blank", argument=where)
    if len(raw) > limit:
        raise InvalidInput(f"{where}: may have {limit} characters, has {len(raw)}", argument=where)
    return raw


def _refuse_unknown(raw: Mapping[str, Any], known: tuple[str, ...], *, where: str) -> None:
    unknown = sorted(str(key) for key in raw if key not in known)
    if unknown:
        raise InvalidInput(f"{where}: unknown field {unknown[0]!r}; allowed are {', '.join(known)}", argument=where)
