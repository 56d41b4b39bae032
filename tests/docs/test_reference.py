"""docs/reference says what the declarations say, no more and no less."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure import errors
from perdure.domain.settings import SETTINGS
from perdure.surfaces.cli.main import root
from perdure.surfaces.cli.reference import FAMILIES, commands, main, pages
from tests.shape.tree import ROOT

FOLDER = ROOT / "docs" / "reference"
PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_declarations_make(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], (
        "run: .venv/bin/python -m perdure.surfaces.cli.reference docs/reference"
    )


def test_there_is_no_page_that_nothing_makes() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(PAGES)


def test_the_generator_writes_every_page(tmp_path: Path) -> None:
    main(tmp_path / "reference")
    assert {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "reference").iterdir()} == PAGES


def test_every_tool_command_setting_and_error_has_its_place() -> None:
    tools = [tool for family in FAMILIES for tool in family.tools]
    assert all(f"### {tool.name}\n" in PAGES["tools.md"] for tool in tools)
    assert all(f"| `{name}` |" in PAGES["tools.md"] for tool in tools for name in tool.schema["properties"])
    assert all(f"| `{name}` |" in PAGES["settings.md"] for name in SETTINGS)
    assert all(
        f"| `{kind.code}` |" in PAGES["errors.md"]
        for kind in vars(errors).values()
        if isinstance(kind, type) and kind is not errors.PerdureError and issubclass(kind, errors.PerdureError)
    )
    assert "## perdure vault key add\n" in PAGES["cli.md"]


def test_every_command_teaches_with_an_example_that_begins_with_its_name() -> None:
    for name, command in commands(root):
        assert command.help, name
        assert any(line.strip().startswith("perdure") or "perdure" in line for line in (command.epilog or "").splitlines()), name
