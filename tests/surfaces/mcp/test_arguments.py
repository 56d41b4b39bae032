"""Arguments in the shapes clients send, and refusals that tell what is wrong without quoting it."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from perdure.app import App
from perdure.domain.access import Caller
from perdure.errors import InvalidInput
from perdure.surfaces.mcp.cortexa.capturing import cortexa_capture
from perdure.surfaces.mcp.declaration import Clamp, tool
from perdure.surfaces.mcp.reply import Reply


@tool()
async def sample(
    app: App,
    caller: Caller,
    *,
    text: Annotated[str, Field(max_length=10, description="Text.")],
    tags: list[str] | None = None,
    paths: Annotated[list[Annotated[str, Field(max_length=5)]] | None, Field(max_length=2)] = None,
    color: Literal["red", "not_red"] | None = None,
    count: Annotated[int, Field(ge=1, le=20)] = 8,
    limit: Annotated[int, Clamp()] = 10,
    deep: bool | None = None,
    note: str | None = None,
    options: dict[str, Any] | None = None,
    steps: list[dict[str, Any]] | None = None,
) -> Reply:
    """A tool with an argument of every kind."""
    return Reply(())


def parsed(**arguments: object) -> dict[str, Any]:
    return sample.parse({"text": "t", **arguments}).values


def refusal(**arguments: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        sample.parse({"text": "t", **arguments})
    return refused.value.message


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ('["a","b"]', ["a", "b"]),
        ("a,b", ["a", "b"]),
        (" a , b ,", ["a", "b"]),
        ("a", ["a"]),
        ('"a"', ["a"]),
        ('"a, b"', ["a, b"]),
        (None, None),
        ([], []),
        ("[]", []),
        ("", None),
        (["a,b", "c"], ["a,b", "c"]),
        ('["a,b", "c"]', ["a,b", "c"]),
        ("[WIP]", ["[WIP]"]),
        ("[" * 100_000, ["[" * 100_000]),
    ],
)
def test_ar1_an_array_is_read_from_every_shape_that_clients_send(sent: object, read: object) -> None:
    assert parsed(tags=sent)["tags"] == read


@pytest.mark.parametrize(
    ("name", "sent", "read"),
    [
        ("count", "10", 10),
        ("count", 10.0, 10),
        ("count", None, 8),
        ("deep", "true", True),
        ("deep", "False", False),
        ("color", " RED ", "red"),
        ("color", "Not_Red", "not_red"),
        ("note", "   ", None),
        ("options", '{"a": [1]}', {"a": [1]}),
        ("steps", '[{"a": 1}]', [{"a": 1}]),
    ],
)
def test_other_shapes_that_can_mean_one_thing_only_are_read_as_that(name: str, sent: object, read: object) -> None:
    assert parsed(**{name: sent})[name] == read


@pytest.mark.parametrize(
    ("name", "sent", "told"),
    [
        ("text", "t" * 11, "text: must be text of up to 10 characters, got text of 11 characters"),
        ("text", None, "text: is required; it must be text of up to 10 characters"),
        ("text", 7, "text: must be text of up to 10 characters, got the number 7"),
        ("count", 21, "count: must be a whole number (1 to 20), got the number 21"),
        ("count", "many", "count: must be a whole number (1 to 20), got text of 4 characters"),
        ("count", 1.5, "count: must be a whole number (1 to 20), got the number 1.5"),
        ("count", True, "count: must be a whole number (1 to 20), got a boolean"),
        ("count", 10**30, "count: must be a whole number (1 to 20), got a very large number"),
        ("deep", 1, "deep: must be true or false, got the number 1"),
        ("color", "green", "color: must be one of red, not_red, got text of 5 characters"),
        ("tags", 5, "tags: must be an array, each text, got the number 5"),
        ("tags", ["a", None], "tags[1]: must be text, got null"),
        ("tags", {"a": 1}, "tags: must be an array, each text, got an object of 1 fields"),
        (
            "paths",
            ["a", "b", "c"],
            "paths: must be an array of up to 2 entries, each text of up to 5 characters, got an array of 3 entries",
        ),
        ("paths", ["too long"], "paths[0]: must be text of up to 5 characters, got text of 8 characters"),
        ("options", "{broken", "options: must be an object, got text of 7 characters"),
        ("steps", "a,b", "steps: must be an array, each an object, got text of 3 characters"),
        ("note", "\ud800", "note: holds half a surrogate pair, which is no text"),
        ("tgas", [], "'tgas': is no argument here; allowed are {names}. Did you mean tags?"),
        ("x\u202e\n", 1, r"'x\u202e\n': is no argument here; allowed are {names}"),
    ],
)
def test_a_refusal_names_the_argument_what_is_allowed_and_what_came(name: str, sent: object, told: str) -> None:
    assert refusal(**{name: sent}) == told.replace("{names}", ", ".join(sample.schema["properties"]))


def test_a_tool_without_arguments_says_so_when_one_is_sent() -> None:
    @tool()
    async def bare(app: App, caller: Caller) -> Reply:
        """No arguments."""
        return Reply(())

    assert bare.parse({}).values == {}
    with pytest.raises(InvalidInput, match="'x': is no argument here; this tool takes none"):
        bare.parse({"x": 1})


@pytest.mark.parametrize(("sent", "taken"), [(0, 1), (-5, 1), (101, 100), (10**30, 100), ("500", 100)])
def test_a_limit_without_a_stated_maximum_is_clamped_and_the_answer_says_so(sent: object, taken: int) -> None:
    arguments = sample.parse({"text": "t", "limit": sent})
    assert arguments.values["limit"] == taken
    assert arguments.notes == (f"limit: must lie between 1 and 100; {taken} was taken.",)
    assert Reply(("a",), {"x": 1}).with_notes(arguments.notes) == Reply(
        ("a", *arguments.notes), {"x": 1, "notes": [*arguments.notes]}
    )


def test_a_handoff_may_come_as_json_text_and_its_lists_too() -> None:
    handoff = {"completed": '["a, b"]', "verification": [], "next_action": "go on"}
    values = cortexa_capture.parse({"content": "c", "thought_type": "handoff", "handoff": json.dumps(handoff)}).values
    assert values["handoff"] == {"completed": ["a, b"], "verification": [], "next_action": "go on"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(list(sample.schema["properties"])), JSON) | JSON)
def test_whatever_comes_is_read_or_refused_in_words(raw: object) -> None:
    try:
        arguments = sample.parse(raw)
    except InvalidInput as refused:
        told = refused.message
    else:
        told = f"text: {arguments.values['text']}"
    assert ": " in told
