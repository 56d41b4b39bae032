"""A record as a Markdown file: front matter of `key: <JSON>` lines, which is valid YAML; below it the content, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from perdure.errors import InvalidInput

FENCE = "---"
MAX_PART_BYTES = 80
"""Three of them fit into a file name on every system."""

_KEY = re.compile(r"[a-z][a-z0-9_]*")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""What JSON may hold raw inside a string and YAML may not."""
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def to_markdown(record: Mapping[str, Any]) -> str:
    """The file's text. The content stands once: the newest version, which says the same, leaves it out."""
    front = {name: value for name, value in record.items() if name != "content"}
    versions = front.get("versions")
    if versions and versions[-1].get("content") == record.get("content"):
        newest = {name: value for name, value in versions[-1].items() if name != "content"}
        front["versions"] = [*versions[:-1], newest]
    lines = [f"{name}: {_json(value)}" for name, value in front.items()]
    return "\n".join([FENCE, *lines, FENCE, record.get("content", "")])


def from_markdown(text: str) -> dict[str, Any]:
    """The record of a file that `to_markdown` made. Raises InvalidInput, naming the line that cannot be read."""
    front, content = _split(text.removeprefix("\ufeff"))
    record: dict[str, Any] = {}
    for number, line in enumerate(front, start=2):
        name, separator, value = line.partition(":")
        if not separator or not _KEY.fullmatch(name):
            raise InvalidInput(f"line {number}: must be a key of the front matter, a colon and its value as JSON")
        try:
            record[name] = json.loads(value)
        except ValueError:
            raise InvalidInput(f"line {number}: the value of {name} is not JSON") from None
    if record.get("type") == "project":
        return record
    versions = record.get("versions")
    if isinstance(versions, list) and versions and isinstance(versions[-1], dict):
        versions[-1].setdefault("content", content)
    return {**record, "content": content}


def markdown_path(record: Mapping[str, Any]) -> tuple[str, str]:
    """Folder and file name for a record, each one plain path part whatever the record says (FAULTS PT4)."""
    if record.get("type") == "project":
        return _part(record.get("slug"), "project"), f"project-{_part(record.get('id'), 'unknown')}.md"
    folder = _part(record.get("project_slug"), "no-project")
    parts = (_part(record.get("kind"), "memory"), _part(record.get("number"), "0"), _part(record.get("id"), "unknown"))
    return folder, "-".join(parts) + ".md"


def _split(text: str) -> tuple[list[str], str]:
    if not re.match(rf"{FENCE}\r?\n", text):
        raise InvalidInput(f"line 1: must be {FENCE}, which opens the front matter of an exported memory")
    end = re.compile(rf"^{FENCE}\r?\n", re.MULTILINE).search(text, text.index("\n") + 1)
    if end is None:
        raise InvalidInput(f"front matter: a line {FENCE} must end it")
    front = text[text.index("\n") + 1 : end.start()]
    return [line.removesuffix("\r") for line in front.split("\n")[:-1]], text[end.end() :]


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _part(raw: Any, fallback: str) -> str:
    """One path part of letters, digits, `-`, `_` and inner dots, that no system reads as a device or a way upwards."""
    plain = re.sub(r"[^\w.-]+", "-", str(raw or "")).encode()[:MAX_PART_BYTES].decode(errors="ignore")
    part = plain.strip(".-") or fallback
    return f"_{part}" if _RESERVED.fullmatch(part) else part
