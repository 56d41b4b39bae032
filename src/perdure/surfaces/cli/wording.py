"""What perdure says in the words of its tools and of REST, said in the words of the command line."""

from __future__ import annotations

import re

from perdure.domain.quoting import HEADER

OPTIONS: dict[str, str] = {
    "thought_type": "--type",
    "session_id": "--session",
    "superseded_by": "--superseded-by",
    "occurred_at": "--occurred-at",
    "file_context": "--file",
    "file_paths": "--file",
    "expected_version": "--expected-version",
    "max_chars": "--max-chars",
}
"""Arguments whose names stand for nothing else, wherever they stand."""
LEADING: dict[str, str] = {
    **{name: f"--{name}" for name in (
        "agent", "channel", "confidence", "confirm", "expires", "from", "handoff", "kind", "language", "limit", "name", "note",
        "offset", "privacy", "project", "review", "source", "tag", "title", "to",
    )},
    "files": "--file",
    "tags": "--tag",
}  # fmt: skip
"""Arguments whose names are words too: they are meant in the list that opens a message, before its colon."""
SENTENCES: tuple[tuple[str, str], ...] = (
    ("cortexa_list_projects lists them", "`perdure projects` lists them"),
    ("cortexa_get_item with an id gives the whole", "`perdure show ID` gives the whole"),
    ("cortexa_search", "`perdure search`"),
    ("cortexa_ingest", "`perdure ingest`"),
)

_ARGUMENT = re.compile(rf"(?<![\w-])(?:{'|'.join(OPTIONS)})(?![\w-])")
_LEAD = re.compile(r"[a-z_]+(?:, [a-z_]+)*(?=: )")


def in_cli_words(text: str) -> str:
    """A message with options in place of arguments, and commands in place of tools. Only for what perdure says itself."""
    lead = _LEAD.match(text)
    if lead is not None:
        names = (LEADING.get(name, name) for name in lead[0].split(", "))
        text = ", ".join(names) + text[lead.end() :]
    for tool, command in SENTENCES:
        text = text.replace(tool, command)
    return _ARGUMENT.sub(lambda match: OPTIONS[match[0]], text)


def answer_in_cli_words(text: str) -> str:
    """An answer of a tool: its own words are put so, what is remembered stays as it is."""
    lead, header, remembered = text.partition(f"\n{HEADER}")
    return in_cli_words(lead) + header + remembered
