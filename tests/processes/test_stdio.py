"""One bridge over its pipes: clean output, bad lines, a daemon that dies, hangs, cannot start or is of another version."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
from pathlib import Path

import pytest

from perdure.surfaces.bridge.locking import FileLock
from perdure.surfaces.bridge.state import write_state
from tests.processes.living import NEW_ERA, Household

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "environ", [{}, {"PYTHONIOENCODING": "cp1252"}, {"PYTHONWARNINGS": "always", "PYTHONIOENCODING": "ascii"}]
)
def test_st1_st2_st3_every_line_on_standard_output_is_json_rpc(household: Household, environ: dict[str, str]) -> None:
    bridge = household.bridge(flags=("-W", "always"), environ=environ)
    bridge.initialize()
    text = "Müşteri notları 用户 🔥"
    items = [bridge.capture(f"{text} {number}") for number in range(19)]
    assert bridge.read(items[-1]) == f"{text} 18"
    assert bridge.close() == 0
    messages = [json.loads(line) for line in bridge.lines]
    assert len(messages) == 21
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    assert bridge.errors() == ""


def test_ft11_bad_lines_are_answered_by_errors_and_the_connection_lives(household: Household) -> None:
    bridge = household.client()
    call = b'{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"cortexa_search","arguments":{"query":"%s"}}}'
    for line, code, answered in [
        (b"{not json", -32700, None),
        (b"\xff\xfe\x00\x01", -32700, None),
        (call % rb"\ud800", -32700, 77),
        (call % b"\xc3\x28", -32700, None),
        (b"[]", -32600, None),
        (b'{"jsonrpc":"1.0","id":78,"method":"ping"}', -32600, 78),
        (call % (b"x" * 4_200_000), -32600, 77),
    ]:
        bridge.say(line)
        answer = bridge.next()
        assert (answer["error"]["code"], answer["id"]) == (code, answered), line[:90]
        assert bridge.ask("ping")["result"] == {}


def test_three_megabytes_of_text_pass_both_ways(household: Household) -> None:
    bridge = household.client()
    content = "0123456789abcde\n" * 196_608
    assert bridge.read(bridge.capture(content)) == content


def test_ss1_the_handshake_is_answered_before_the_daemon_can_open_the_vault(household: Household) -> None:
    household.client().capture("something")
    household.kill_daemon(signal.SIGTERM)
    lock = FileLock(household.home.lock_file)
    assert lock.take()
    bridge = household.bridge()
    assert bridge.initialize()["serverInfo"]["name"] == "perdure"
    assert "cortexa_capture" in {tool["name"] for tool in bridge.ask("tools/list")["result"]["tools"]}
    assert bridge.ask("ping")["result"] == {}
    asked = bridge.send("tools/call", {"name": "cortexa_recent", "arguments": {}})
    assert household.started() == 1
    lock.release()
    assert bridge.next()["id"] == asked
    assert household.started() == 2


def test_answers_from_the_cache_are_those_of_a_live_daemon_to_the_byte(household: Household) -> None:
    def conversation() -> list[bytes]:
        old, new = household.bridge(), household.bridge()
        old.initialize()
        old.ask("tools/list")
        new.ask("server/discover", {"_meta": NEW_ERA})
        new.ask("tools/list", {"_meta": NEW_ERA})
        lines = [*old.lines, *new.lines]
        old.kill()
        new.kill()
        return lines

    household.client()
    live = conversation()
    household.kill_daemon(signal.SIGTERM)
    lock = FileLock(household.home.lock_file)
    assert lock.take()
    kept = conversation()
    lock.release()
    assert kept == live


def test_what_is_safe_to_repeat_is_asked_again_when_the_daemon_dies_and_other_calls_get_an_error(household: Household) -> None:
    bridge = household.client()
    bridge.capture("the vault is open")
    state = household.daemon()
    os.kill(state.pid, signal.SIGSTOP)
    read = bridge.send("tools/call", {"name": "cortexa_recent", "arguments": {}})
    write = bridge.send("tools/call", {"name": "a_tool_that_may_write_twice", "arguments": {}})
    question = bridge.send("tools/list")
    household.kill_daemon()
    answers = {answer["id"]: answer for answer in (bridge.next(), bridge.next(), bridge.next())}
    assert answers[write]["error"]["code"] == -32000
    assert "may or may not have been done" in answers[write]["error"]["message"]
    assert "the vault is open" in str(answers[read]["result"]["content"])
    assert answers[question]["result"]["tools"]
    assert bridge.capture("goes on")


def test_a_bridge_tells_its_client_why_the_daemon_cannot_start_and_lives(household: Household) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        bridge = household.bridge(environ={"PERDURE_PORT": str(port)})
        answer = bridge.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}})
        assert answer["error"]["code"] == -32000
        assert f"Port {port} is taken" in answer["error"]["message"]
        assert "is taken" in bridge.ask("tools/list")["error"]["message"]
    assert bridge.initialize()["serverInfo"]["name"] == "perdure"
    assert bridge.capture("after the port came free")


def test_a_home_that_cannot_be_made_is_named_in_every_answer(household: Household, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    bridge = household.bridge(home=tmp_path / "file" / "home")
    for method in ("initialize", "tools/list"):
        error = bridge.ask(method)["error"]
        assert error["data"]["code"] == "disk_read_only"
        assert "cannot be made" in error["message"]
    assert bridge.close() == 0


def test_a_damaged_vault_is_named_by_every_call_and_the_bridge_lives(household: Household) -> None:
    household.client().capture("something")
    household.kill_daemon(signal.SIGTERM)
    vault = household.home.vault_file
    vault.write_bytes(bytes(byte ^ 0x5A for byte in vault.read_bytes()))
    bridge = household.client()
    for _ in range(2):
        result = bridge.ask("tools/call", {"name": "cortexa_recent", "arguments": {}})["result"]
        assert result["isError"]
        assert result["structuredContent"]["error"]["code"] in ("vault_damaged", "vault_locked")
        assert "nothing was changed" in result["content"][0]["text"]
    assert bridge.ask("ping")["result"] == {}


def test_a_daemon_older_than_the_bridge_makes_way_for_a_new_one(household: Household) -> None:
    item = household.client().capture("kept over the change")
    old = household.daemon()
    write_state(household.home, dataclasses.replace(old, version="0.0.1"))
    assert household.client().read(item) == "kept over the change"
    assert household.daemon().pid != old.pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bridge_that_is_told_to_end_does_and_leaves_the_daemon(household: Household, number: signal.Signals) -> None:
    bridge = household.client()
    assert bridge.kill(number) == (0 if number is signal.SIGTERM else 130)
    assert household.client().capture("the daemon is still there")
    assert household.started() == 1


def test_what_was_asked_before_the_end_of_input_is_answered(household: Household) -> None:
    bridge = household.client()
    for number in range(20):
        arguments = {"content": f"last words {number}", "thought_type": "note"}
        bridge.send("tools/call", {"name": "cortexa_capture", "arguments": arguments})
    assert bridge.close() == 0
    assert len(bridge.lines) == 21


def test_a_bridge_with_a_token_is_that_tokens_caller_and_a_wrong_one_is_refused(household: Household) -> None:
    household.client().capture("the vault is open")
    secret = household.rest("POST", "/api/tokens", {"kind": "integration", "name": "agent"})["secret"]
    assert household.bridge(environ={"PERDURE_TOKEN": secret}).initialize()["serverInfo"]["name"] == "perdure"
    refused = household.bridge(environ={"PERDURE_TOKEN": "wrong"}).ask("tools/list")["error"]
    assert refused["data"]["code"] == "unauthorized"


def test_a_home_with_a_long_path_is_served_over_a_socket_elsewhere(household: Household, tmp_path: Path) -> None:
    house = Household(tmp_path / ("long" * 30), household.wait_until)
    try:
        assert house.client().capture("far down")
        folder = Path(house.daemon().socket).parent
        assert not folder.is_relative_to(tmp_path)
        assert folder.stat().st_mode & 0o777 == 0o700
        house.kill_daemon(signal.SIGTERM)
        folder.rmdir()
    finally:
        house.dispose()
