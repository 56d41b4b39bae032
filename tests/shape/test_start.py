"""What must start fast loads nothing heavy: the stdio bridge, its command, and the floors under everything."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest

from tests.shape.tree import ROOT, SOURCE

HEAVY = {
    "anyio", "apsw", "argon2", "asyncio", "click", "cryptography", "httpx2", "keyring", "mcp", "pydantic", "rich", "starlette",
    "typer", "uvicorn",
}  # fmt: skip
SCRIPTS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
LIGHT = ["perdure.errors", "perdure.domain", "perdure.surfaces.bridge", SCRIPTS["cortexa-mcp"].split(":")[0]]


def _modules(name: str) -> list[str]:
    """The module, or every module of the package; none while it is not built."""
    base = SOURCE.parent / name.replace(".", "/")
    files = [base.with_suffix(".py")] if base.with_suffix(".py").is_file() else sorted(base.rglob("*.py"))
    return [".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__") for file in files]


PRESENT = [name for name in LIGHT if _modules(name)]


def test_there_is_something_that_must_start_fast() -> None:
    assert {"perdure.errors", "perdure.domain"} <= set(PRESENT)


@pytest.mark.parametrize("name", PRESENT)
def test_importing_it_loads_nothing_heavy(name: str) -> None:
    assert _loaded(_modules(name)) & HEAVY == set()


def test_something_heavy_would_be_noticed() -> None:
    assert "rich" in _loaded(["rich"])


def _loaded(modules: list[str]) -> set[str]:
    code = f"import sys, json, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return {module.split(".")[0] for module in json.loads(done.stdout)}
