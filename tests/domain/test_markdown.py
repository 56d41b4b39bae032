"""Records as Markdown files: nothing is lost, and no record writes outside its folder."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.markdown import from_markdown, markdown_path, to_markdown
from perdure.errors import InvalidInput

texts = st.text(st.characters(exclude_categories=["Cs"]))
contents = st.one_of(
    texts,
    st.lists(st.sampled_from(["---", "---\n", "\n", "\r\n", "\r", "key: 1\n", "\u2028", "\ufeff", "\x00", "é漢🔥"])).map("".join),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=5
)
YAML_PRINTABLE = re.compile("[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")


@given(contents, texts, values)
def test_ie1_any_record_comes_back_as_it_was(content: str, older: str, value: Any) -> None:
    versions = [{"version": 1, "content": older}, {"version": 2, "content": content, "agent": "a"}]
    record = {"perdure": 1, "type": "memory", "id": "1", "title": older, "odd": value, "content": content, "versions": versions}
    assert from_markdown(to_markdown(record)) == record


@given(texts)
def test_a_project_comes_back_as_it_was(name: str) -> None:
    record = {"perdure": 1, "type": "project", "id": "1", "slug": "s", "name": name}
    assert from_markdown(to_markdown(record)) == record


@given(values)
def test_the_front_matter_is_one_printable_line_a_key(value: Any) -> None:
    front = to_markdown({"type": "memory", "odd": value, "content": "text"})
    assert YAML_PRINTABLE.fullmatch(front)
    assert re.fullmatch(r"---\ntype: \"memory\"\nodd: .*\n---\ntext", front)


def test_the_content_stands_once_and_unescaped() -> None:
    record = {"type": "memory", "content": "# A\n\n---\nb\r\n", "versions": [{"version": 1, "content": "# A\n\n---\nb\r\n"}]}
    text = to_markdown(record)
    assert text.endswith("\n---\n# A\n\n---\nb\r\n")
    assert text.count("# A") == 1


def test_a_file_saved_with_other_line_ends_or_a_mark_of_its_encoding_is_read() -> None:
    text = '\ufeff---\r\ntype: "memory"\r\nid: "1"\r\n---\r\nbody'
    assert from_markdown(text) == {"type": "memory", "id": "1", "content": "body"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# Notes", "line 1"),
        ("", "line 1"),
        ('---\ntype: "memory"\n', "must end it"),
        ("---\nno colon\n---\n", "line 2"),
        ('---\ntype: "memory"\nid: {\n---\n', "line 3: the value of id is not JSON"),
    ],
)
def test_a_file_that_is_no_export_is_refused_by_its_line(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        from_markdown(text)


@given(st.dictionaries(st.sampled_from(["type", "kind", "project_slug", "number", "id", "slug"]), texts | st.just("../../etc")))
def test_pt4_a_path_is_two_plain_parts_whatever_the_record_says(record: dict[str, Any]) -> None:
    for part in markdown_path(record):
        for path in (PurePosixPath(part), PureWindowsPath(part)):
            assert path.parts == (part,)
            assert not path.is_reserved() if isinstance(path, PureWindowsPath) else part not in (".", "..")
        assert len(part.encode()) < 255
        assert json.loads(json.dumps(part)) == part


def test_pt4_ways_upwards_and_devices_become_plain_names() -> None:
    assert markdown_path({"project_slug": "../../etc", "kind": "note", "number": 3, "id": "../x"}) == ("etc", "note-3-x.md")
    assert markdown_path({"type": "project", "slug": "CON", "id": "1"}) == ("_CON", "project-1.md")
    assert markdown_path({}) == ("no-project", "memory-0-unknown.md")
