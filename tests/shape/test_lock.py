"""The lock files name every package exactly, with hashes, and nothing that would undo the vault's encryption."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib

import pytest

from tests.shape.tree import ROOT

LOCKS = ("requirements.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _read(lock: str) -> str:
    return (ROOT / lock).read_text(encoding="utf-8")


def _pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ]+) ", _read(lock), re.MULTILINE))


def _name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_hashes(lock: str) -> None:
    blocks = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", _read(lock), flags=re.MULTILINE))
    assert len(blocks) == len(_pins(lock)) > 40
    assert all("--hash=sha256:" in block for block in blocks)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_place_to_fetch_from(lock: str) -> None:
    assert not re.search(r"://|--(extra-)?index|--find-links", _read(lock))


def test_the_locks_cover_what_the_project_asks_for() -> None:
    groups = PROJECT["dependency-groups"]
    runtime = {_name(item) for item in [*PROJECT["project"]["dependencies"], *groups["build"]]}
    assert runtime <= _pins("requirements.lock").keys()
    assert runtime | {_name(item) for item in groups["dev"] if isinstance(item, str)} <= _pins("requirements-dev.lock").keys()


def test_both_locks_name_the_same_releases() -> None:
    assert _pins("requirements.lock").items() <= _pins("requirements-dev.lock").items()


def test_only_the_encrypting_sqlite_driver_is_locked_and_installed() -> None:
    """Plain `apsw` installs the same module, would win, and would write a plain vault."""
    assert all("apsw-sqlite3mc" in _pins(lock) and "apsw" not in _pins(lock) for lock in LOCKS)
    installed = {_name(dist.metadata["Name"].replace("_", "-")) for dist in importlib.metadata.distributions()}
    assert "apsw-sqlite3mc" in installed
    assert "apsw" not in installed
