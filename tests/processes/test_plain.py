"""Nothing of a memory stands readable on the disk: not in files, logs, temporary files or backups, also after kill -9."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes.living import Household

pytestmark = pytest.mark.slow

PLACES = ("content", "title", "tag", "project", "path", "session", "agent", "channel", "handoff")
MARKERS = {place: f"Xq7{place}Zw9marker{place}" for place in PLACES}


def forms(marker: str) -> Iterator[bytes]:
    """The marker as UTF-8, UTF-16, hex and base64 at each of the three places where it may begin in a longer text."""
    plain = marker.encode()
    yield from (plain, marker.encode("utf-16-le"), marker.encode("utf-16-be"))
    yield from (plain.hex().encode(), plain.hex().upper().encode())
    for lead in range(3):
        coded = base64.b64encode(b"\0" * lead + plain)
        yield coded[4 if lead else 0 : len(coded) // 4 * 4 - 4]


def readable(*folders: Path) -> set[str]:
    """`file: marker` for each marker that stands in a file of the folders, in any form, in any letters' case."""
    found = set()
    for folder in folders:
        for path in (path for path in folder.rglob("*") if path.is_file()):
            data = path.read_bytes()
            folded = data.lower()
            for name, marker in MARKERS.items():
                if any(form in data for form in forms(marker)) or marker.lower().encode() in folded:
                    found.add(f"{path.name}: {name}")
    return found


def remember(household: Household) -> None:
    household.rest(
        "POST",
        "/api/memories",
        {
            "content": f"The {MARKERS['content']} stands here",
            "kind": "handoff",
            "title": MARKERS["title"],
            "tags": [MARKERS["tag"]],
            "project": MARKERS["project"],
            "files": [f"src/{MARKERS['path']}.py"],
            "session_id": MARKERS["session"],
            "agent": MARKERS["agent"],
            "channel": MARKERS["channel"],
            "handoff": {"completed": [], "next_action": f"Do {MARKERS['handoff']}"},
        },
    )


def test_nothing_remembered_is_readable_on_the_disk_but_in_an_export(household: Household, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    household.serve(environ={"TMPDIR": str(temporary), "SQLITE_TMPDIR": str(temporary), "PERDURE_LOG": "debug"})
    household.wait_until(household.home.token_file.exists, timeout_s=60)
    remember(household)
    for word in MARKERS.values():
        assert household.rest("GET", f"/api/search?query={word}")["hits"]
    household.rest("POST", "/api/tools/cortexa_search", {"query": MARKERS["content"]})
    household.rest("POST", "/api/tools/cortexa_context", {"context": "nothing", "project": MARKERS["project"]})
    assert readable(household.folder, temporary) == set(), "while the daemon runs"
    household.rest("POST", "/api/vault/backup", {"folder": str(tmp_path / "backup")})
    household.kill_daemon()
    assert readable(household.folder, temporary) == set(), "after kill -9"
    assert readable(tmp_path / "backup") == set(), "in a backup"
    household.serve(environ={"TMPDIR": str(temporary)})
    household.daemon()
    (tmp_path / "plain").mkdir()
    target = tmp_path / "plain" / "export.jsonl"
    command = [sys.executable, "-m", "perdure", "--home", str(household.folder), "export", str(target)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert readable(tmp_path / "plain") == {f"export.jsonl: {name}" for name in MARKERS}, "an export is plain"
