"""The searchable projection of a memory: which text is indexed, as which terms (SEMANTICS 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perdure.domain.memory import Memory
from perdure.domain.text import index_terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Terms are already analysed (domain/text.py): engines store and match them literally, separated by single spaces.

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


def document_of(memory: Memory, space_number: int, stem: Callable[[str], str]) -> Document:
    """The document of a live memory. Costs time in proportion to the text: run it off the event loop for long ones."""
    handoff = "\n".join(memory.handoff.texts()) if memory.handoff else ""
    labels = [*memory.tags, *memory.files, memory.project_name or "", memory.language or "", memory.agent or ""]
    return Document(
        memory_id=memory.id,
        space_id=memory.space_id,
        space_number=space_number,
        project_id=memory.project_id,
        kind=memory.kind.value,
        title=" ".join(index_terms(memory.title, stem)),
        body=" ".join(index_terms(f"{memory.content}\n{handoff}" if handoff else memory.content, stem)),
        labels=" ".join(index_terms("\n".join(label for label in labels if label), stem)),
    )
