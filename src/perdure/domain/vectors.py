"""Embeddings as values: which model made them, and how a long text is cut into windows for them (SEMANTICS 3)."""

from __future__ import annotations

from dataclasses import dataclass

WINDOW_CHARS = 1600
"""About 400 tokens of English: within the 512 that the bundled model reads."""
OVERLAP_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """What a vector is comparable with: the same id, revision and dimension. `any_script`: trained on more than Latin scripts."""

    id: str
    revision: str
    dimension: int
    any_script: bool = False

    @property
    def key(self) -> str:
        return f"{self.id}@{self.revision}#{self.dimension}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How far the vectors follow the memories: live documents, those with vectors of the model, those with another model's."""

    documents: int
    embedded: int
    foreign: int


def windows(text: str) -> list[str]:
    """Overlapping windows of a text, whole words where there are any; one for a short text, none for a blank one.

    Together they hold every character of the text but white space at their ends.
    """
    found: list[str] = []
    start = 0
    while start < len(text):
        end = start + WINDOW_CHARS
        if end < len(text):
            gap = max(text.rfind(" ", start + WINDOW_CHARS // 2, end), text.rfind("\n", start + WINDOW_CHARS // 2, end))
            end = gap if gap > start else end
        window = text[start:end].strip()
        if window:
            found.append(window)
        if end >= len(text):
            break
        start = end - OVERLAP_CHARS
    return found
