"""`/name:` at the start of an ingested text chooses its kind and tags, and nothing else changes."""

from __future__ import annotations

import pytest

from perdure.domain.kinds import Kind
from perdure.domain.templates import BUILT_IN, UserTemplate, apply_template


def test_the_seeds_example_is_a_note_tagged_as_an_idea() -> None:
    found = apply_template("/idea: Use HNSW for semantic search", {})
    assert (found.kind, found.tags, found.content, found.unknown) == (Kind.NOTE, ("idea",), "Use HNSW for semantic search", None)


@pytest.mark.parametrize(
    ("name", "kind", "tags"),
    [
        ("decision", Kind.DECISION, ()),
        ("bug", Kind.DEBUG, ()),
        ("todo", Kind.TODO, ()),
        ("question", Kind.QUESTION, ()),
        ("note", Kind.NOTE, ()),
        ("learn", Kind.DISCOVERY, ()),
        ("meeting", Kind.NOTE, ("meeting",)),
    ],
)
def test_each_built_in_name_has_its_kind(name: str, kind: Kind, tags: tuple[str, ...]) -> None:
    found = apply_template(f"/{name}: text", {})
    assert (found.kind, found.tags, found.content) == (kind, tags, "text")


def test_content_is_kept_to_the_byte_behind_one_blank() -> None:
    assert apply_template("/note:  two blanks\r\n\ttail \n", {}).content == " two blanks\r\n\ttail \n"
    assert apply_template("/note:\nnext line", {}).content == "\nnext line"


@pytest.mark.parametrize(
    "text", ["plain", " /idea: not at the start", "/idea no colon", "/: x", "/etc/passwd: a path", "https://a.b/idea: x", ""]
)
def test_text_without_a_prefix_is_a_note_as_it_stands(text: str) -> None:
    found = apply_template(text, {})
    assert (found.kind, found.content, found.tags, found.unknown) == (Kind.NOTE, text, (), None)


def test_an_unknown_name_stays_text_and_is_told_with_the_names_there_are() -> None:
    found = apply_template("/recipe: soup", {"standup": UserTemplate(kind="progress")})
    assert (found.kind, found.content, found.unknown) == (Kind.NOTE, "/recipe: soup", "recipe")
    assert found.known == tuple(sorted([*BUILT_IN, "standup"]))


def test_a_users_template_wins_over_a_built_in_one_whatever_the_case() -> None:
    found = apply_template("/BUG: it breaks", {"Bug": UserTemplate(kind="issue", tags=("tracker",))})
    assert (found.kind, found.tags, found.content) == (Kind.ISSUE, ("tracker",), "it breaks")
