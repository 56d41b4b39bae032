"""What every test may rely on: no network, no real home, no real keyring, repeatable properties, bounded waits."""

from __future__ import annotations

import ipaddress
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import hypothesis
import pytest

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

WaitUntil = Callable[..., None]


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """A connection beyond this machine, or a name look-up that would leave it, fails the test that tried."""
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _refuse_remote(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _refuse_remote(self.family, address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *rest: Any, **options: Any) -> Any:
        if host is not None and not _is_local(host):
            raise RuntimeError(f"a test looked up {host!r}; tests reach this machine only")
        return getaddrinfo(host, *rest, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_real_home() -> Iterator[None]:
    """A test, or a process it starts, that names no home gets an empty one, and finds no keyring."""
    with tempfile.TemporaryDirectory(prefix="pd-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_HOME", str(Path(folder) / "home"))
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        yield


@pytest.fixture
def tmp_home() -> Iterator[Path]:
    """An empty 0700 folder for one test; its path is short, for a Unix socket's path may have about 100 characters."""
    with tempfile.TemporaryDirectory(prefix="pd-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def wait_until() -> WaitUntil:
    """`wait_until(lambda: …, timeout_s=10)` returns as soon as the condition holds, and fails when it does not in that time."""
    pause = threading.Event()

    def wait(condition: Callable[[], object], *, timeout_s: float = 10) -> None:
        deadline = monotonic() + timeout_s
        while not condition():
            if monotonic() > deadline:
                pytest.fail(f"did not happen within {timeout_s} s")
            pause.wait(0.01)

    return wait


def _refuse_remote(family: int, address: Any) -> None:
    internet = family in (socket.AF_INET, socket.AF_INET6)
    if internet and not _is_local(address[0]):
        raise RuntimeError(f"a test connected to {address[0]!r}; tests reach this machine only")


def _is_local(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in ("", "localhost")
    return address.is_loopback or address.is_unspecified
