"""`perdure serve` as a process: what it says, who may run it, how it ends."""

from __future__ import annotations

import signal
import socket

import pytest

from perdure.surfaces.bridge.state import read_state
from tests.processes.living import ANSWER_S, Household

pytestmark = pytest.mark.slow


def test_it_tells_addresses_places_and_what_to_paste_and_ends_on_a_signal(household: Household) -> None:
    server = household.serve("--port", "0")
    state = household.daemon()
    household.client().capture("while it serves")
    server.send_signal(signal.SIGTERM)
    told, trouble = server.communicate(timeout=ANSWER_S)
    text = told.decode()
    assert server.returncode == 0
    assert trouble == b""
    assert all(url in text for url in state.urls)
    assert str(household.home.vault_file) in text
    assert str(household.home.token_file) in text
    assert '"mcpServers"' in text
    assert "cortexa-mcp" in text
    assert f"{state.urls[0]}/mcp/cortexa" in text
    assert read_state(household.home) is None


def test_it_listens_on_both_loopback_addresses(household: Household) -> None:
    household.serve("--port", "0")
    hosts = {url.rsplit(":", 1)[0] for url in household.daemon().urls}
    assert "http://127.0.0.1" in hosts
    assert hosts <= {"http://127.0.0.1", "http://[::1]"}


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_en3_no_encoding_of_standard_output_stops_it(household: Household, encoding: str) -> None:
    household.folder = household.folder.with_name("用户 🔥")
    household.home = type(household.home)(household.folder)
    server = household.serve("--port", "0", environ={"PYTHONIOENCODING": encoding})
    household.daemon()
    household.client().capture("🔥")
    server.send_signal(signal.SIGINT)
    told, trouble = server.communicate(timeout=ANSWER_S)
    assert (server.returncode, trouble) == (0, b"")
    assert rb"\u7528\u6237" in told


def test_a_second_daemon_says_who_runs_and_where(household: Household) -> None:
    household.serve("--port", "0")
    state = household.daemon()
    for arguments, code in [((), 0), (("--port", state.urls[0].rsplit(":", 1)[1]), 0), (("--port", "1"), 1)]:
        second = household.serve(*arguments)
        _, told = second.communicate(timeout=ANSWER_S)
        assert second.returncode == code
        assert str(state.pid).encode() in told
        assert state.urls[0].encode() in told


def test_lk7_a_killed_daemon_leaves_a_lock_file_that_blocks_nobody(household: Household) -> None:
    first = household.serve("--port", "0")
    household.daemon()
    household.client().capture("the vault is made")
    first.kill()
    first.communicate(timeout=ANSWER_S)
    assert household.home.lock_file.exists()
    second = household.serve("--port", "0")
    household.wait_until(lambda: household.daemon().pid == second.pid, timeout_s=ANSWER_S)
    assert household.client().capture("served again")


def test_a_named_port_that_is_taken_is_an_error_that_names_it(household: Household) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = household.serve("--port", str(port))
        _, told = server.communicate(timeout=ANSWER_S)
    assert server.returncode == 1
    assert f"Port {port} is taken".encode() in told


def test_au6_it_refuses_other_machines_while_there_is_no_token(household: Household) -> None:
    server = household.serve("--host", "0.0.0.0", "--port", "0")
    _, told = server.communicate(timeout=ANSWER_S)
    assert server.returncode != 0
    assert b"no primary token" in told
    assert not household.home.vault_file.exists()


def test_a_stop_over_http_ends_it_and_its_bridges_start_another(household: Household) -> None:
    client = household.client()
    item = client.capture("before the stop")
    before = household.daemon()
    household.rest("POST", "/api/stop")
    household.wait_until(lambda: read_state(household.home) is None, timeout_s=ANSWER_S)
    assert client.read(item) == "before the stop"
    assert household.daemon().pid != before.pid


def test_its_files_are_the_owners_alone_and_its_log_has_no_content(household: Household) -> None:
    client = household.client()
    client.capture("MARKER-of-content")
    client.say(b'{"jsonrpc":"2.0","id":1,"method":"MARKER-method","params":{"MARKER":1}}')
    client.next()
    household.daemon()
    files = [path for path in household.folder.rglob("*") if not path.is_socket()]
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    logs = [path.read_text() for path in household.home.log_folder.iterdir()]
    assert "the vault is open" in "".join(logs)
    assert "MARKER" not in "".join(logs)
