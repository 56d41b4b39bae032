"""What is acknowledged is on the disk: seen in the system calls, and after kill -9."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import WaitUntil

ROOT = Path(__file__).parents[2]
CALLS = "trace=pwrite64,fdatasync,fsync,recvfrom,sendto"

pytestmark = pytest.mark.slow


def capture(home: Path, content: str) -> str:
    state = json.loads((home / "run" / "daemon.json").read_text())
    request = urllib.request.Request(
        f"{state['urls'][0]}/api/memories",
        data=json.dumps({"content": content}).encode(),
        headers={
            "Authorization": f"Bearer {(home / 'token').read_text().strip()}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.loads(answer.read())["id"])


def is_open(home: Path) -> bool:
    try:
        state = json.loads((home / "run" / "daemon.json").read_text())
        with urllib.request.urlopen(f"{state['urls'][0]}/api/health", timeout=5) as answer:
            return bool(json.loads(answer.read())["vault"] == "open")
    except (OSError, ValueError, KeyError):
        return False


def acknowledged_before_durable(trace: list[str], asked: dict[str, str]) -> list[str]:
    """The ids (content → id in `asked`) whose answer was sent before a write to the log that follows the request, and a finished
    fdatasync of the log that follows the write.

    A traced call may stand in two lines, `<unfinished ...>` and `resumed>`; a sync counts from where it ended.
    """
    early = []
    for content, item in asked.items():
        received = next(n for n, line in enumerate(trace) if "recv" in line and content in line)
        sent = next(n for n, line in enumerate(trace) if "sendto(" in line and item in line)
        between = trace[received:sent]
        written = next((n for n, line in enumerate(between) if "pwrite64(" in line and "vault.db-wal" in line), len(between))
        if not any(_is_synced(between[written:], n) for n in range(len(between) - written)):
            early.append(item)
    return early


def _is_synced(lines: list[str], number: int) -> bool:
    """Whether a sync of the log ends in that line, which began in these lines."""
    line = lines[number]
    if re.search(r"f(data)?sync\(", line):
        return "vault.db-wal" in line and "unfinished" not in line
    thread = line.split()[0]
    begun = [one for one in lines[:number] if one.split()[0] == thread and "unfinished" in one]
    return "sync resumed" in line and bool(begun) and "vault.db-wal" in begun[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="system calls are traced with strace, which is Linux's")
def test_every_acknowledgement_follows_an_fdatasync_of_its_log_write(tmp_home: Path, wait_until: WaitUntil) -> None:
    strace = shutil.which("strace")
    assert strace, "install strace (Debian: apt-get install strace); .ci/run does"
    trace = tmp_home.parent / f"{tmp_home.name}.trace"
    command = [strace, "-f", "-y", "-s", "4096", "-o", str(trace), "-e", CALLS, sys.executable, "-m", "perdure", "serve"]
    process = subprocess.Popen([*command, "--home", str(tmp_home), "--port", "0"], stdout=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_open(tmp_home), timeout_s=60)
        asked = {content: capture(tmp_home, content) for content in (f"acknowledged-{number}-end" for number in range(20))}
    finally:
        state: dict[str, Any] = json.loads((tmp_home / "run" / "daemon.json").read_text())
        subprocess.run(["kill", str(state["pid"])], check=True)
        process.wait(timeout=60)
    lines = trace.read_text(errors="replace").splitlines()
    assert acknowledged_before_durable(lines, asked) == []


def test_an_answer_that_comes_before_its_sync_is_noticed() -> None:
    asked = '8 recvfrom(9<socket>, "... hello ...") = 9'
    write = '7 pwrite64(5</h/vault.db-wal>, "x", 1, 0) = 1'
    sync, answer = "7 fdatasync(5</h/vault.db-wal>) = 0", '8 sendto(9<socket>, "{\\"id\\":\\"abc\\"}") = 9'
    begun, ended = "7 fdatasync(5</h/vault.db-wal> <unfinished ...>", "7 <... fdatasync resumed>) = 0"

    def early(*trace: str) -> list[str]:
        return acknowledged_before_durable(list(trace), {"hello": "abc"})

    assert early(asked, write, sync, answer) == early(asked, write, begun, ended, write, answer) == []
    assert early(asked, write, answer, sync) == early(asked, sync, write, answer) == ["abc"]
    assert early(asked, write, begun, answer, ended) == early(write, sync, asked, answer) == ["abc"]


def test_nothing_acknowledged_is_lost_over_five_rounds_of_kill_9() -> None:
    command = [sys.executable, str(ROOT / "bench" / "crash.py"), "--rounds", "5", "--clients", "4", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    figures = json.loads(done.stdout or "{}")
    assert figures.get("failures") == [], done.stderr[-2000:]
    assert figures["acknowledged"] > 0
