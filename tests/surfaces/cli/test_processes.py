"""The command line as a user meets it: real processes over a temporary home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.domain.launch import Home
from perdure.surfaces.bridge.state import read_state

HEAVY = ["anyio", "apsw", "argon2", "cryptography", "httpx2", "keyring", "mcp", "pydantic", "starlette", "typer", "uvicorn"]


class Terminal:
    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *argv: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "perdure", *argv],
            input=stdin,
            capture_output=True,
            env={**os.environ, "PERDURE_HOME": str(self.home), "PERDURE_PORT": "0", **environ},
            timeout=120,
        )


@pytest.fixture
def terminal(tmp_home: Path) -> Iterator[Terminal]:
    perdure = Terminal(tmp_home / "home")
    yield perdure
    perdure("stop")


@pytest.mark.parametrize("argv", [["--help"], ["status"], ["stop"], ["token", "show", "primary"], ["capture", "--help"]])
def test_quick_commands_load_nothing_heavy(tmp_home: Path, argv: list[str]) -> None:
    code = (
        "import sys\nfrom perdure.__main__ import main\n"
        f"sys.argv = ['perdure', *{argv!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(chr(10) + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    environ = {**os.environ, "PERDURE_HOME": str(tmp_home / "home")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, timeout=60, check=True)
    assert not set(done.stdout.splitlines()[-1].split()) & {*HEAVY, "rich", "asyncio"}


@pytest.mark.slow
def test_a_memory_outlives_the_daemon_that_a_command_started(terminal: Terminal) -> None:
    assert terminal("status").returncode == 4
    captured = terminal("capture", "-", stdin="\U0001f525 Müşteri\r\n".encode())
    assert captured.returncode == 0, captured.stderr
    memory_id = captured.stdout.decode().strip()
    status = json.loads(terminal("status", "--json").stdout)
    assert (status["running"], status["health"]["memories"], status["health"]["vault"]) == (True, 1, "open")
    assert b"cipher aegis" in terminal("status").stdout
    assert json.loads(terminal("stop", "--json").stdout) == {"stopped": True, "pid": status["pid"]}
    assert terminal("stop").stdout == b"perdure does not run.\n"
    assert terminal("show", memory_id).stdout == "\U0001f525 Müşteri\r\n".encode()


@pytest.mark.slow
def test_en3_a_narrow_terminal_crashes_no_process(terminal: Terminal) -> None:
    memory_id = terminal("capture", "\U0001f525", PYTHONIOENCODING="utf-8").stdout.decode().strip()
    for argv in (["--help"], ["recent"], ["show", memory_id], ["doctor", "--quick"], ["status"]):
        done = terminal(*argv, PYTHONIOENCODING="cp1252")
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_crash(terminal: Terminal) -> None:
    terminal("capture", "text")
    done = subprocess.run(
        f"{sys.executable} -m perdure export - | true",
        shell=True, capture_output=True, timeout=60, env={**os.environ, "PERDURE_HOME": str(terminal.home), "PERDURE_PORT": "0"},
    )  # fmt: skip
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_dl11_doctor_proves_the_whole_loop_and_leaves_nothing_behind(terminal: Terminal, tmp_home: Path) -> None:
    scratch = tmp_home / "t"
    scratch.mkdir()
    done = terminal("doctor", "--json", TMPDIR=str(scratch))
    told = json.loads(done.stdout)
    assert done.returncode == 0, told
    assert told["home"] == str(terminal.home)
    assert "the memory is there to the byte" in [finding["what"] for finding in told["findings"]]
    assert list(scratch.iterdir()) == []
    assert not terminal.home.exists()


@pytest.mark.slow
def test_serve_in_the_background_comes_back_while_the_daemon_stays(terminal: Terminal) -> None:
    assert terminal("serve", "--background", "--port", "0").returncode == 0
    state = read_state(Home(terminal.home))
    assert state is not None
    assert json.loads(terminal("status", "--json").stdout)["pid"] == state.pid
