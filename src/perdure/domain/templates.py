"""`/name:` at the very start of an ingested text says what it is (seed 000, cortexa_ingest: `/idea: Use HNSW for …`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from perdure.domain.kinds import Kind

NAME = "[A-Za-z][A-Za-z0-9_-]{0,39}"
_PREFIX = re.compile(f"/({NAME}):")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserTemplate:
    """A template of the settings: the kind it gives, by its stored name, and the tags it adds."""

    kind: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Templated:
    """What an ingested text is. `unknown` names a prefix that is no template; the text was then left whole."""

    kind: Kind
    content: str
    tags: tuple[str, ...] = ()
    unknown: str | None = None
    known: tuple[str, ...] = ()
    """The names there are, when it was an unknown one."""


BUILT_IN: Mapping[str, UserTemplate] = {
    "idea": UserTemplate(kind=Kind.NOTE, tags=("idea",)),
    "decision": UserTemplate(kind=Kind.DECISION),
    "bug": UserTemplate(kind=Kind.DEBUG),
    "todo": UserTemplate(kind=Kind.TODO),
    "question": UserTemplate(kind=Kind.QUESTION),
    "note": UserTemplate(kind=Kind.NOTE),
    "learn": UserTemplate(kind=Kind.DISCOVERY),
    "meeting": UserTemplate(kind=Kind.NOTE, tags=("meeting",)),
}


def apply_template(text: str, user_templates: Mapping[str, UserTemplate]) -> Templated:
    """The kind, tags and content of an ingested text; without a prefix it is a note.

    The stored content is the text after the prefix, less one blank right behind the colon, and otherwise kept to the byte. The
    case of names does not count; a user's template wins over a built-in one of its name; text with an unknown name is kept whole.
    """
    match = _PREFIX.match(text)
    if match is None:
        return Templated(kind=Kind.NOTE, content=text)
    name = match[1].lower()
    templates = {**BUILT_IN, **{key.lower(): value for key, value in user_templates.items()}}
    template = templates.get(name)
    if template is None:
        return Templated(kind=Kind.NOTE, content=text, unknown=match[1], known=tuple(sorted(templates)))
    return Templated(kind=Kind(template.kind), content=text[match.end() :].removeprefix(" "), tags=template.tags)
