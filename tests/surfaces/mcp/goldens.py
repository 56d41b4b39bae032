"""What agents read, kept word for word in golden/*.txt; ids, markers and times are replaced, for they are new in each run.

To accept a change: delete the file, run the test (it fails once and writes the new one), read the difference.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("golden")

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_MARKER = re.compile(r"perdure-recall-[0-9a-f]{16}")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")


def check_golden(name: str, text: str) -> None:
    file = FOLDER / f"{name}.txt"
    text = normalized(text) + "\n"
    if not file.exists():
        file.write_text(text, encoding="utf-8")
        pytest.fail(f"{file.name} was missing and has been written; read it and run again")
    assert text == file.read_text(encoding="utf-8")


def normalized(text: str) -> str:
    """Ids are numbered by their first appearance, so that it still shows which are the same."""
    ids: dict[str, str] = {}
    text = _UUID.sub(lambda match: ids.setdefault(match[0], f"ID-{len(ids) + 1}"), text)
    return _DIGEST.sub("DIGEST", _INSTANT.sub("INSTANT", _MARKER.sub("perdure-recall-MARKER", text)))
