"""The searchable projection of a memory: which text is indexed, as which terms (SEMANTICS 3)."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.domain.memory import Draft, Memory
from perdure.domain.text import Stem, index_terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The terms of a text's parts, each a single string with single spaces between terms."""

    title: str
    body: str
    labels: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Terms are already analysed (domain/text.py): engines store and match them literally.

    `number` is the owning space's number, by which an engine bounds its index to one space.
    """

    memory_id: str
    space_id: str
    space_number: int
    project_id: str | None
    kind: str
    title: str
    body: str
    labels: str


def analyse(item: Draft | Memory, project_name: str | None, *, stem: Stem) -> Analysis:
    """The terms under which it is found. Takes time in proportion to the text: off the event loop for long ones."""
    handoff = "\n".join(item.handoff.texts()) if item.handoff else ""
    labels = [*item.tags, *item.files, project_name or "", item.language or "", item.agent or ""]
    return Analysis(
        title=" ".join(index_terms(item.title, stem)),
        body=" ".join(index_terms(f"{item.content}\n{handoff}" if handoff else item.content, stem)),
        labels=" ".join(index_terms("\n".join(label for label in labels if label), stem)),
    )


def document_of(memory: Memory, space_number: int, *, stem: Stem, analysis: Analysis | None = None) -> Document:
    """The document of a live memory; its text is analysed here where that was not done before."""
    terms = analysis or analyse(memory, memory.project_name, stem=stem)
    return Document(
        memory_id=memory.id,
        space_id=memory.space_id,
        space_number=space_number,
        project_id=memory.project_id,
        kind=memory.kind.value,
        title=terms.title,
        body=terms.body,
        labels=terms.labels,
    )
