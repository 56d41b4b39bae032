"""The guards of conftest.py guard."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from tests.conftest import WaitUntil


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_connection_beyond_this_machine_is_refused(method: str) -> None:
    with socket.socket() as endpoint, pytest.raises(RuntimeError, match="this machine only"):
        getattr(endpoint, method)(("192.0.2.1", 80))


def test_a_name_beyond_this_machine_is_not_looked_up() -> None:
    with pytest.raises(RuntimeError, match="this machine only"):
        socket.create_connection(("example.invalid", 80))


def test_a_connection_to_this_machine_is_made() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()


def test_a_home_for_tests_is_empty_private_and_short(tmp_home: Path) -> None:
    assert list(tmp_home.iterdir()) == []
    assert stat.S_IMODE(tmp_home.stat().st_mode) == 0o700
    assert len(tmp_home.name) < 16


def test_a_test_that_names_no_home_does_not_reach_the_real_one() -> None:
    assert not Path(os.environ["PERDURE_HOME"]).is_relative_to(Path.home() / ".perdure")


def test_a_wait_for_what_never_happens_fails(wait_until: WaitUntil) -> None:
    with pytest.raises(pytest.fail.Exception, match="within"):
        wait_until(lambda: False, timeout_s=0.05)
