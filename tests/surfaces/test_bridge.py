"""The bridge's pump against a daemon that the test plays, and the small parts it stands on."""

from __future__ import annotations

import dataclasses
import json
import queue
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.domain.launch import Home, Launch
from perdure.domain.version import VERSION
from perdure.errors import Busy, DiskReadOnly
from perdure.surfaces.bridge.answers import KeptAnswers, read_answers
from perdure.surfaces.bridge.locking import FileLock
from perdure.surfaces.bridge.messages import MAX_LINE_BYTES, failure, parse, request_key
from perdure.surfaces.bridge.pump import REPLAY_ID, Pump
from perdure.surfaces.bridge.start import ensure_daemon, find_connection, is_older
from perdure.surfaces.bridge.state import DaemonState, is_told, mark_of, read_state, write_state

WAIT_S = 20
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Stage:
    """A pump whose daemons are played by the test; each connection it asks for is taken from `offers`."""

    def __init__(self, *, kept: KeptAnswers | None = None) -> None:
        self.offers: queue.Queue[socket.socket | Exception] = queue.Queue()
        self._said: queue.Queue[bytes] = queue.Queue()
        self._sockets: list[socket.socket] = []
        self.pump = Pump(self._connect, self._said.put, kept=kept)

    def daemon(self) -> Daemon:
        """Let the pump connect."""
        ours, theirs = socket.socketpair()
        ours.settimeout(WAIT_S)
        self._sockets += [ours, theirs]
        self.offers.put(theirs)
        return Daemon(ours)

    def client(self, message: object) -> None:
        self.pump.take(json.dumps(message).encode())

    def heard(self) -> Any:
        """The next message that the client is sent."""
        return json.loads(self._said.get(timeout=WAIT_S))

    def silent(self) -> bool:
        return self._said.empty()

    def close(self) -> None:
        for each in self._sockets:
            each.close()

    def _connect(self) -> tuple[socket.socket, DaemonState]:
        offer = self.offers.get(timeout=WAIT_S)
        if isinstance(offer, Exception):
            raise offer
        state = DaemonState(pid=1, version=VERSION, urls=(), socket="", started_at="", repeatable=("read_only",))
        return offer, state


class Daemon:
    """One connection's other end."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")

    def hears(self) -> Any:
        return json.loads(self._lines.readline())

    def says(self, message: object) -> None:
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def answers(self, request: Any, result: object) -> None:
        self.says({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def dies(self) -> None:
        self._lines.close()
        self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


@pytest.fixture
def stage() -> Iterator[Callable[..., Stage]]:
    stages: list[Stage] = []

    def make(**options: Any) -> Stage:
        stages.append(Stage(**options))
        return stages[-1]

    yield make
    for each in stages:
        each.close()


def _request(number: int, method: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}


def test_lines_pass_in_their_order_whether_they_came_before_the_connection_or_after(stage: Callable[..., Stage]) -> None:
    play = stage()
    for number in range(3):
        play.client(_request(number, "tools/list"))
    daemon = play.daemon()
    assert [daemon.hears()["id"] for _ in range(3)] == [0, 1, 2]
    play.client(_request(3, "tools/list"))
    asked = daemon.hears()
    daemon.answers(asked, {"tools": []})
    assert play.heard() == {"jsonrpc": "2.0", "id": 3, "result": {"tools": []}}


def test_a_new_daemon_is_told_of_the_handshake_and_its_answer_stays_inside(stage: Callable[..., Stage]) -> None:
    play = stage()
    first = play.daemon()
    play.client(INITIALIZE)
    first.answers(first.hears(), {"protocolVersion": "2025-06-18"})
    assert play.heard()["id"] == 0
    play.client(INITIALIZED)
    assert first.hears() == INITIALIZED
    first.dies()
    second = play.daemon()
    play.client(_request(5, "tools/call"))
    replayed = second.hears()
    assert replayed == {**INITIALIZE, "id": REPLAY_ID}
    assert second.hears() == INITIALIZED
    second.answers(replayed, {})
    second.answers(second.hears(), {"content": []})
    assert play.heard()["id"] == 5
    assert play.silent()


def test_a_call_of_a_tool_that_may_be_called_twice_is_asked_again_of_the_next_daemon(stage: Callable[..., Stage]) -> None:
    play = stage()
    first = play.daemon()
    call = {**_request(1, "tools/call"), "params": {"name": "read_only"}}
    play.client(call)
    assert first.hears() == call
    first.dies()
    second = play.daemon()
    second.answers(second.hears(), {"content": []})
    assert play.heard() == {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}


def test_what_a_dead_daemon_was_given_is_an_error_for_calls_and_asked_again_for_questions(stage: Callable[..., Stage]) -> None:
    play = stage()
    first = play.daemon()
    play.client(_request(1, "tools/call"))
    play.client(_request(2, "tools/list"))
    assert [first.hears()["id"], first.hears()["id"]] == [1, 2]
    first.dies()
    error = play.heard()
    assert (error["id"], error["error"]["code"], error["error"]["data"]) == (1, -32000, {"code": "restarted"})
    second = play.daemon()
    asked = second.hears()
    assert asked["id"] == 2
    second.answers(asked, {})
    assert play.heard() == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_question_that_every_daemon_dies_of_is_given_up(stage: Callable[..., Stage]) -> None:
    play = stage()
    play.client(_request(1, "tools/list"))
    for _ in range(4):
        daemon = play.daemon()
        assert daemon.hears()["id"] == 1
        daemon.dies()
    assert play.heard()["error"]["data"] == {"code": "restarted"}


def test_a_call_that_was_taken_back_gets_no_answer(stage: Callable[..., Stage]) -> None:
    play = stage()
    daemon = play.daemon()
    play.client(_request(1, "tools/call"))
    daemon.hears()
    play.client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    daemon.hears()
    daemon.dies()
    play.pump.finish()
    assert play.silent()


def test_a_daemon_that_cannot_be_had_is_an_error_for_each_request_and_tried_again(stage: Callable[..., Stage]) -> None:
    play = stage()
    play.offers.put(Busy("the reason"))
    play.client(_request(1, "initialize"))
    assert play.heard()["error"] == {"code": -32000, "message": "the reason", "data": {"code": "busy"}}
    play.offers.put(RuntimeError("inner text"))
    play.client(_request(2, "tools/list"))
    assert play.heard()["error"]["message"] == "perdure cannot be reached: RuntimeError"
    daemon = play.daemon()
    play.client(_request(3, "tools/list"))
    while (asked := daemon.hears())["id"] != 3:
        pass
    daemon.answers(asked, {})
    assert play.heard()["id"] == 3


def test_a_line_beyond_the_limit_is_answered_here_and_not_passed_on(stage: Callable[..., Stage]) -> None:
    play = stage()
    play.client({**_request(7, "tools/call"), "params": {"text": "x" * MAX_LINE_BYTES}})
    answer = play.heard()
    assert (answer["id"], answer["error"]["code"]) == (7, -32600)
    assert "too_large" in answer["error"]["message"]


def test_kept_answers_are_given_until_the_daemon_is_there(stage: Callable[..., Stage]) -> None:
    results = {"2025-06-18": {"initialize": '{"kept":1}', "tools/list": '{"tools":[]}'}}
    play = stage(kept=KeptAnswers(results, "2025-06-18"))
    play.client(INITIALIZE)
    assert play.heard() == {"jsonrpc": "2.0", "id": 0, "result": {"kept": 1}}
    play.client(INITIALIZED)
    play.client(_request(1, "tools/list"))
    assert play.heard()["result"] == {"tools": []}
    play.client(_request(2, "tools/call"))
    daemon = play.daemon()
    assert [daemon.hears() for _ in range(2)] == [{**INITIALIZE, "id": REPLAY_ID}, INITIALIZED]
    assert daemon.hears()["id"] == 2


@pytest.mark.parametrize(
    "message",
    [
        {**INITIALIZE, "params": {"protocolVersion": "2025-06-18"}},
        {**INITIALIZE, "params": None},
        {"method": "tools/list", "id": 1},
        {"method": "tools/list", "id": 1, "params": {"cursor": "x"}},
        {"method": "tools/list", "id": 1, "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2025-06-18"}}},
        {"method": "tools/call", "id": 1},
        {"method": "tools/list"},
        {"method": ["tools/list"], "id": 1},
        {},
    ],
)
def test_what_is_not_certain_is_left_to_the_daemon(message: dict[str, Any]) -> None:
    results = {"2025-06-18": {"initialize": "{}", "tools/list": "{}"}}
    assert KeptAnswers(results, "2025-06-18").answer(message) is None


def test_an_unknown_protocol_version_gets_the_newest_handshake_as_from_a_live_daemon() -> None:
    kept = KeptAnswers({"2025-06-18": {"initialize": '{"old":1}'}, "2025-11-25": {"initialize": '{"new":1}'}}, "2025-11-25")
    asked = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": "1999-01-01"}}  # type: ignore[dict-item]  # a dict
    assert json.loads(kept.answer(asked) or b"")["result"] == {"new": 1}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version":"0.0.0","latest":"x","families":{"cortexa":{}}}', "{}"])
def test_kept_answers_of_another_version_or_shape_are_not_used(tmp_home: Path, content: str) -> None:
    home = Home(tmp_home)
    home.run_folder.mkdir()
    assert read_answers(home, "cortexa") is None
    home.tools_cache.write_text(content)
    assert read_answers(home, "cortexa") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"id":1}', {"id": 1}),
        (b"\xff\x00", {}),
        (b"[1]", {}),
        (b"{", {}),
        (b"[" * 100_000, {}),
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
    ],
)
def test_any_line_can_be_looked_into(line: bytes, message: dict[str, Any]) -> None:
    assert parse(line) == message


@pytest.mark.parametrize(
    ("message", "key"), [({"id": 1}, "1"), ({"id": "1"}, '"1"'), ({"id": None}, None), ({"id": True}, None), ({}, None)]
)
def test_a_request_is_known_by_an_id_that_is_a_number_or_a_text(message: dict[str, Any], key: str | None) -> None:
    assert request_key(message) == key


def test_an_error_is_one_line_whatever_its_text() -> None:
    line = failure('"a"', "two\nlines ✓", reason="busy")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "jsonrpc": "2.0",
        "id": "a",
        "error": {"code": -32000, "message": "two\nlines ✓", "data": {"code": "busy"}},
    }


def test_a_lock_is_held_by_one_and_free_after_its_release(tmp_home: Path) -> None:
    one, two = FileLock(tmp_home / "lock"), FileLock(tmp_home / "lock")
    assert (one.take(), two.take(), one.take()) == (True, False, True)
    one.release()
    assert two.take()
    two.release()


def _state() -> DaemonState:
    return DaemonState(pid=1, version=VERSION, urls=("http://127.0.0.1:1",), socket="/nowhere", started_at="now")


def test_a_state_is_read_back_as_it_was_written_and_nonsense_is_none(tmp_home: Path) -> None:
    home = Home(tmp_home)
    home.run_folder.mkdir()
    state = write_state(home, _state())
    assert state == dataclasses.replace(_state(), home=str(tmp_home.resolve()), mark=mark_of(tmp_home) or "")
    assert read_state(home) == state
    assert home.state_file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in home.run_folder.iterdir()] == ["daemon.json"]
    assert find_connection(home, {}) is None


def test_the_state_of_a_copied_or_moved_home_is_none_and_a_link_to_the_home_is_the_home(tmp_home: Path) -> None:
    first, link, copy, moved = (Home(tmp_home / name) for name in ("first", "link", "copy", "moved"))
    first.run_folder.mkdir(parents=True)
    state = write_state(first, _state())
    link.folder.symlink_to(first.folder)
    shutil.copytree(first.folder, copy.folder)
    assert (read_state(first), read_state(link), read_state(copy)) == (state, state, None)
    assert (is_told(first, state), is_told(copy, state)) == (True, False)
    first.folder.rename(moved.folder)
    assert (read_state(first), read_state(moved)) == (None, None)
    assert not is_told(first, state)
    shutil.copytree(moved.folder, first.folder)
    assert read_state(first) is None


@pytest.mark.parametrize(
    "change",
    [
        {"pid": "1"},
        {"pid": 0},
        {"pid": 10**30},
        {"version": 5},
        {"urls": "abc"},
        {"urls": [1]},
        {"socket": 7},
        {"socket": None},
        {"nonce": 1},
        {"repeatable": {}},
        {"repeatable": [[]]},
        {"home": []},
        {"home": "\0"},
        {"mark": None},
    ],
)
def test_a_state_of_wrong_types_is_none(tmp_home: Path, change: dict[str, object]) -> None:
    home = Home(tmp_home)
    home.run_folder.mkdir()
    state = write_state(home, _state())
    whole = json.loads(home.state_file.read_bytes())
    home.state_file.write_text(json.dumps({**whole, "of a newer version": 1}))
    assert read_state(home) == state
    home.state_file.write_text(json.dumps({**whole, **change}))
    assert read_state(home) is None


@pytest.mark.parametrize("content", ["", "{", "null", "[]", '{"pid": 1}', "[" * 100_000, "\udcff", "9" * 5000])
def test_a_state_file_with_nonsense_is_none(tmp_home: Path, content: str) -> None:
    home = Home(tmp_home)
    home.run_folder.mkdir()
    home.state_file.write_text(content, errors="surrogateescape")
    assert read_state(home) is None


@pytest.mark.parametrize(
    ("version", "older"), [("0.0.9", True), (VERSION, False), ("99.0.0", False), ("nonsense", True), ("9" * 5000, True)]
)
def test_only_an_older_daemon_must_make_way(version: str, older: bool) -> None:
    assert is_older(version) is older


def test_a_folder_that_cannot_be_made_is_named(tmp_home: Path) -> None:
    (tmp_home / "file").write_text("")
    with pytest.raises(DiskReadOnly, match="cannot be made"):
        ensure_daemon(Launch(home=Home(tmp_home / "file" / "home")), {})
