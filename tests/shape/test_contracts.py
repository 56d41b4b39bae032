"""The import contracts of pyproject.toml break when a floor is crossed (that they hold for the tree, `make check` shows)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shape.tree import ROOT, SOURCE

CROSSINGS = [
    ("floors", "attic.py", "X = 1\n"),
    ("floors", "domain/probe.py", "import perdure.services\n"),
    ("floors", "engines/probe.py", "import perdure.services\n"),
    ("floors", "bootstrap/probe.py", "import perdure.surfaces\n"),
    ("services", "services/attic.py", "X = 1\n"),
    ("surfaces", "surfaces/probe.py", "import perdure.ports.store\n"),
    ("surfaces", "surfaces/probe.py", "import perdure.engines\n"),
    ("core", "services/probe.py", "import pydantic\n"),
    ("core", "domain/probe.py", "import sqlite3\n"),
    ("drivers", "engines/sql/probe.py", "import starlette.requests\n"),
    ("storage", "surfaces/probe.py", "import apsw\n"),
]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's empty floors with the real contracts."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(SOURCE, folder / "perdure", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize(("contract", "path", "text"), CROSSINGS)
def test_a_crossed_floor_breaks_its_contract(house: Path, contract: str, path: str, text: str) -> None:
    probe = house / "perdure" / path
    assert not probe.exists()
    probe.write_text(text, encoding="utf-8")
    try:
        answer = _check(house, contract)
    finally:
        probe.unlink()
    assert answer.returncode == 1, answer.stdout
    assert probe.stem in answer.stdout


def _check(house: Path, contract: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo", "--no-cache", "--contract", contract]
    environment = os.environ | {"PYTHONPATH": str(house)}
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False, timeout=120)
