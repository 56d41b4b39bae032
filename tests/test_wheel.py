"""The wheel holds the whole product, and works where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.shape.tree import ROOT, SOURCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_file_of_the_package_and_the_licence(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    files = {path.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests", "bench", "docs")) for name in names)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    _run(sys.executable, "-m", "pip", "install", "--no-deps", "--target", folder, wheel)
    return folder


def test_every_module_of_an_installed_wheel_imports(installed: Path) -> None:
    code = (
        "import importlib, pkgutil, perdure; "
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(perdure.__path__, 'perdure.')]; print(perdure.__file__)"
    )
    assert Path(_run(sys.executable, "-c", code, python_path=installed).strip()).is_relative_to(installed)


def test_an_installed_wheel_passes_its_own_doctor(installed: Path) -> None:
    _run(sys.executable, "-m", "perdure", "doctor", python_path=installed)


def _run(*command: str | Path, python_path: Path | None = None) -> str:
    environment = os.environ | ({"PYTHONPATH": str(python_path)} if python_path else {})
    done = subprocess.run(command, cwd=ROOT.anchor, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
