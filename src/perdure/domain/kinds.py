"""What a memory can be, and what each door calls it (SEMANTICS 1: one memory, three vocabularies).

The stored kind never changes; a type filter of a door matches every kind that the door shows under that name.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The stored kind of a memory."""

    DECISION = "decision"
    ARCHITECTURE = "architecture"
    PATTERN = "pattern"
    CODING_RULE = "coding_rule"
    TOOL_CHOICE = "tool_choice"
    WORKFLOW = "workflow"
    PREFERENCE = "preference"
    QUESTION = "question"
    ENTITY = "entity"
    TODO = "todo"
    DEBUG = "debug"
    DISCOVERY = "discovery"
    NOTE = "note"
    HANDOFF = "handoff"
    ISSUE = "issue"
    SNIPPET = "snippet"
    RESEARCH = "research"
    DICTIONARY = "dictionary"
    PROGRESS = "progress"
    SNAPSHOT = "snapshot"
    REFLECTION = "reflection"


THOUGHT_TYPES: tuple[str, ...] = (
    "decision", "discovery", "architecture", "debug", "todo", "pattern", "question", "note", "handoff",
)  # fmt: skip
"""The thought types of cortexa_capture, in the seed's order."""

SHOWN_BY_CORTEXA: dict[Kind, str] = {
    Kind.DECISION: "decision",
    Kind.ARCHITECTURE: "architecture",
    Kind.PATTERN: "pattern",
    Kind.CODING_RULE: "pattern",
    Kind.TOOL_CHOICE: "pattern",
    Kind.WORKFLOW: "pattern",
    Kind.PREFERENCE: "pattern",
    Kind.QUESTION: "question",
    Kind.ENTITY: "note",
    Kind.TODO: "todo",
    Kind.DEBUG: "debug",
    Kind.DISCOVERY: "discovery",
    Kind.NOTE: "note",
    Kind.HANDOFF: "handoff",
    Kind.ISSUE: "debug",
    Kind.SNIPPET: "note",
    Kind.RESEARCH: "discovery",
    Kind.DICTIONARY: "note",
    Kind.PROGRESS: "note",
    Kind.SNAPSHOT: "note",
    Kind.REFLECTION: "reflection",
}

HALF_LIFE_DAYS: dict[Kind, float] = {
    kind: 180.0
    if kind in (Kind.DECISION, Kind.CODING_RULE, Kind.PREFERENCE, Kind.ARCHITECTURE)
    else 90.0
    if kind in (Kind.WORKFLOW, Kind.TOOL_CHOICE, Kind.PATTERN, Kind.ENTITY)
    else 14.0
    if kind in (Kind.DEBUG, Kind.TODO, Kind.PROGRESS)
    else 45.0
    for kind in Kind
}
"""After so many days a memory's recency counts half (SEMANTICS 3; starting values)."""
