"""Project names are names and never paths; slugs are safe in an address and never empty."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.scopes import MAX_PROJECT_NAME_CHARS, project_name, slugify
from perdure.errors import InvalidInput


@pytest.mark.parametrize("raw", ["../../victim", "..", "a/../b", "a\\..\\b", "..\\x", "x/.."])
def test_pt3_a_name_that_climbs_upwards_is_refused(raw: str) -> None:
    with pytest.raises(InvalidInput, match="not a path"):
        project_name(raw)


@pytest.mark.parametrize("raw", ["", "   ", "n" * 201, "a\x00b", "a\nb", "a\x7fb", "half \ud800"])
def test_a_name_that_is_no_name_is_refused_by_its_argument(raw: str) -> None:
    with pytest.raises(InvalidInput, match=r"^project: ") as refusal:
        project_name(raw)
    assert refusal.value.details == {"argument": "project"}


@pytest.mark.parametrize("name", ["A/B test", "v1..2", "...", "C:\\work", "プロジェクト", "_", "n" * MAX_PROJECT_NAME_CHARS])
def test_a_name_is_kept_as_it_is(name: str) -> None:
    assert project_name(f" {name}\t") == name


def test_a_name_is_the_same_in_every_composition() -> None:
    assert project_name("Cafe\u0301") == "Caf\u00e9"


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=250))
def test_a_name_is_taken_or_refused_and_taken_again_as_it_was_taken(raw: str) -> None:
    try:
        name = project_name(raw)
    except InvalidInput:
        return
    assert project_name(name) == name == unicodedata.normalize("NFC", name)
    assert 1 <= len(name) <= MAX_PROJECT_NAME_CHARS


@given(st.text())
def test_a_slug_holds_letters_digits_and_single_dashes_and_is_never_empty(name: str) -> None:
    slug = slugify(name)
    assert re.fullmatch(r"[^\W_](?:[\w-]*[^\W_])?", slug)
    assert "--" not in slug


@pytest.mark.parametrize(
    ("name", "slug"),
    [("A/B test", "a-b-test"), ("a b test", "a-b-test"), ("Straße 1", "strasse-1"), ("ＦＵＬＬ", "full"), ("早报", "早报"),
     ("_", "project"), ("🔥", "project"), ("team_a", "team_a")],
)  # fmt: skip
def test_a_slug_is_the_plain_form_of_a_name(name: str, slug: str) -> None:
    assert slugify(name) == slug
