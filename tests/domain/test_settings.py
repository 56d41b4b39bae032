"""A setting typed by a person becomes a value of its type, or a sentence that says what is allowed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.domain.kinds import Kind
from perdure.domain.settings import SETTINGS, Setting, parse_setting, setting
from perdure.errors import InvalidInput, NotFound


@pytest.mark.parametrize("declared", SETTINGS.values(), ids=SETTINGS)
def test_every_default_is_allowed_and_explained(declared: Setting) -> None:
    raw = declared.default if declared.type is str else json.dumps(declared.default)
    assert parse_setting(declared.name, raw) == declared.default
    assert type(declared.default) is declared.type
    assert declared.help.strip()


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("secrets", "refuse", "refuse"),
        ("secrets", ' "redact" ', "redact"),
        ("capture_policy", "team", "team"),
        ("auto_lock_minutes", "0", 0),
        ("auto_lock_minutes", " 10080 ", 10_080),
        ("audit_days", "1", 1),
        ("audit_days", "3650", 3650),
        ("templates", "{}", {}),
        ("templates", '{"stand-up_2": {"kind": "note", "tags": ["a"]}, "b": {"kind": "todo"}}',
         {"stand-up_2": {"kind": "note", "tags": ["a"]}, "b": {"kind": "todo"}}),
    ],
)  # fmt: skip
def test_what_is_allowed_is_read_as_its_type(name: str, raw: str, value: Any) -> None:
    assert parse_setting(name, raw) == value


@pytest.mark.parametrize(
    ("name", "raw", "allowed"),
    [
        ("secrets", "keep", "must be one of redact, refuse"),
        ("secrets", "", "must be one of redact, refuse"),
        ("capture_policy", "Team", "must be one of private, team, public"),
        ("auto_lock_minutes", "-1", "must lie between 0 and 10080"),
        ("auto_lock_minutes", "10081", "must lie between 0 and 10080"),
        ("audit_days", "0", "must lie between 1 and 3650"),
        ("audit_days", "soon", "must be a whole number"),
        ("audit_days", "1.5", "must be a whole number"),
        ("audit_days", "true", "must be a whole number"),
        ("audit_days", "null", "must be a whole number"),
        ("templates", "[]", "must be a JSON object"),
        ("templates", "{", "must be a JSON object"),
        ("templates", "[" * 100_000, "must be a JSON object"),
    ],
)
def test_what_is_not_allowed_is_refused_with_what_is(name: str, raw: str, allowed: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_setting(name, raw)
    assert refusal.value.message == f"{name}: {allowed}"
    assert refusal.value.details == {"argument": name}


@pytest.mark.parametrize(
    "template",
    [
        {"x": "note"}, {"x": {}}, {"x": {"kind": "poem"}}, {"x": {"kind": ["note"]}}, {"x": {"kind": "note", "tags": "standup"}},
        {"x": {"kind": "note", "tags": [1]}}, {"x": {"kind": "note", "tags": None}}, {"": {"kind": "note"}},
        {"a b": {"kind": "note"}}, {"1st": {"kind": "note"}}, {"übung": {"kind": "note"}}, {"n" * 41: {"kind": "note"}},
    ],
)  # fmt: skip
def test_a_template_that_could_never_be_used_is_refused_with_the_kinds_there_are(template: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"^templates: ") as refusal:
        parse_setting("templates", json.dumps(template))
    assert all(kind.value in refusal.value.message for kind in Kind)


@pytest.mark.parametrize(
    ("raw", "value"), [("on", True), ("OFF", False), ("true", True), ("False", False), ("1", True), (" 0 ", False)]
)
def test_a_switch_is_read_from_every_usual_word(monkeypatch: pytest.MonkeyPatch, raw: str, value: bool) -> None:
    monkeypatch.setitem(SETTINGS, "switch", Setting(name="switch", type=bool, default=False, help="A switch."))
    assert parse_setting("switch", raw) is value
    with pytest.raises(InvalidInput, match=r"^switch: must be on or off"):
        parse_setting("switch", "maybe")


def test_a_name_that_is_none_is_told_those_there_are() -> None:
    with pytest.raises(NotFound) as refusal:
        setting("colour")
    assert all(name in refusal.value.message for name in ("'colour'", *SETTINGS))
    with pytest.raises(NotFound):
        parse_setting("colour", "red")
