"""The documents point at what is there (that they tell the truth about tools and commands, tests/surfaces sees to)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shape.tree import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_documents_a_newcomer_needs_are_there() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in DOCUMENTS}
    assert names >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/quickstart.md", "docs/concepts.md"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_within_the_repository_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_that_is_named_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(r"(?:`|^\$ )make ([a-z]+)", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= targets
