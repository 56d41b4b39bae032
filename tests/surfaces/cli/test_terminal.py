"""What is common to all commands: options anywhere, exit codes, one JSON document, no crash on any terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from perdure.domain.version import VERSION
from perdure.surfaces.cli import memories, terminal
from perdure.surfaces.cli.failure import EXIT_CODES
from perdure.surfaces.cli.main import root
from perdure.surfaces.cli.reference import commands
from tests.conftest import WaitUntil
from tests.surfaces.cli.conftest import Shell, Stream

COMMANDS = dict(commands(root))


@pytest.mark.parametrize("name", ["perdure", *COMMANDS])
def test_en3_every_help_is_written_on_every_terminal(lone_shell: Shell, name: str) -> None:
    words = name.split()[1:]
    for encoding in ("utf-8", "cp1252", "ascii"):
        ran = lone_shell(*words, "--help", encoding=encoding)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.isascii()
        assert b"--home" in ran.out
        assert b"--json" in ran.out


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_en3_a_result_that_the_terminal_cannot_show_is_written_out(shell: Shell, encoding: str) -> None:
    memory_id = shell.capture("\U0001f525 Müşteri notları", "--project", "漢")
    for command in (("recent",), ("search", "notları"), ("projects",), ("show", memory_id), ("versions", memory_id)):
        for is_terminal in (True, False):
            assert shell(*command, encoding=encoding, terminal=is_terminal).code == 0
    assert shell("recent", "--json", encoding=encoding).json["items"][0]["content"] == "\U0001f525 Müşteri notları"
    assert b"\\U0001f525" in shell("show", memory_id, encoding="cp1252", terminal=True).out
    assert shell("show", memory_id, encoding="cp1252").out == "\U0001f525 Müşteri notları".encode()


def test_colours_and_control_characters_stay_out_of_pipes_and_of_no_color(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.capture("text")
    assert b"\x1b" not in shell("recent").out
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b[3" not in shell("recent", terminal=True).out
    assert b"\x1b" not in shell("show", "nosuch").err.encode()


def test_global_options_stand_before_or_after_the_command(shell: Shell, tmp_home: Path) -> None:
    home = str(tmp_home / "home")
    for words in (("--home", home, "--json", "projects"), ("projects", "--json", "--home", home), ("--json", "projects")):
        assert shell(*words).json == {"items": []}
    assert shell("vault", "--json", "status").json["state"] == "open"
    assert shell("--version").text == f"perdure {VERSION}\n"


def test_a_command_line_that_is_not_understood_ends_with_2_and_says_why(lone_shell: Shell) -> None:
    for words in (("nosuch",), ("show",), ("recent", "--nosuch"), ("recent", "--limit", "0"), ("serve", "--port", "70000")):
        ran = lone_shell(*words)
        assert (ran.code, ran.out) == (2, b"")
        assert "Usage: perdure" in ran.err
        ran = lone_shell(*words, "--json")
        assert (ran.code, ran.error["code"]) == (2, "usage")


def test_a_text_that_looks_like_an_option_is_given_behind_two_dashes(shell: Shell) -> None:
    memory_id = shell("capture", "--", "--json").text.strip()
    assert shell("show", memory_id).text == "--json"


def test_ctrl_c_ends_with_130_and_no_traceback(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(memories, "write_table", interrupt)
    ran = shell("recent")
    assert (ran.code, ran.err.strip()) == (130, "perdure: Stopped.")


def test_a_daemon_that_went_away_ends_with_4(lone_shell: Shell, tmp_home: Path, shell: Shell) -> None:
    assert shell.state is not None
    gone = shell.state.__class__(pid=1, version=VERSION, urls=("http://127.0.0.1:1",), socket="none", started_at="")
    shell.state = gone
    message = shell.refused("projects", code="daemon_unreachable", exit_code=4)
    assert "perdure stop" in message


def test_a_bad_port_in_the_environment_is_told_as_such(lone_shell: Shell) -> None:
    lone_shell.environ["PERDURE_PORT"] = "many"
    assert "port" in lone_shell.refused("status", code="invalid_input")


def test_serve_bridge_and_bench_get_their_arguments(lone_shell: Shell, tmp_home: Path) -> None:
    lone_shell("--home", str(tmp_home / "x"), "serve", "--port", "0", "--host", "127.0.0.2")
    lone_shell("--home", "x", "mcp", "--family", "all")
    lone_shell("bench", "speed", "--large", "500", "--json")
    (_, (launch, background)), bridge, bench = lone_shell.calls
    assert (launch.home.folder, launch.port, launch.host, background) == (tmp_home / "x", 0, "127.0.0.2", False)
    assert bridge == ("bridge", ["--home", "x", "--family", "all"])
    assert bench == ("bench", ["speed", "--large", "500", "--json"])


def test_serve_in_the_background_comes_back_with_the_address(shell: Shell) -> None:
    assert shell.state is not None
    assert shell.told("serve", "--background")["urls"] == [shell.state.urls[0]]
    assert shell.state.urls[0] in shell("serve", "--background").text


def test_every_exit_code_is_told_in_the_help(lone_shell: Shell) -> None:
    told = lone_shell("--help").text
    assert all(what in told for what in EXIT_CODES.values())


def test_no_command_has_an_option_of_the_name_of_a_global_one() -> None:
    for name, command in COMMANDS.items():
        own = [option for param in command.params if isinstance(param, click.Option) for option in param.opts]
        assert not {"--home", "--json", "--help"} & set(own), name


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii"])
def test_progress_is_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for is_terminal in (True, False):
        stream = Stream(encoding=encoding, terminal=is_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        with terminal.progress("Importing", 3) as advance:
            advance(2)
        assert (b"Importing" in stream.content()) is is_terminal


def test_a_spinner_comes_on_a_terminal_when_it_takes_long(monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "SPINNER_AFTER_S", 0.0)
    stream = Stream(terminal=True)
    monkeypatch.setattr(sys, "stderr", stream)
    with terminal.waiting("Starting perdure"):
        wait_until(lambda: b"Starting perdure" in stream.content())


def test_json_is_ascii_so_that_it_survives_every_pipe(shell: Shell) -> None:
    shell.capture("\U0001f525\u202e")
    assert shell("recent", "--json").out.isascii()
    assert json.loads(shell("recent", "--json").out)["total"] == 1
