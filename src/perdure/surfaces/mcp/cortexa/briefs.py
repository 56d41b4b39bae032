"""The brief of cortexa_context: prior thoughts grouped by type, whole at every max_chars (seed 000, legacy grouping)."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.domain.retrieval import Answer, Hit
from perdure.domain.scopes import Project
from perdure.surfaces.mcp.cortexa.rendering import NOTICE, WHOLE, Entry, fitting, headline, label, quoted, summary
from perdure.surfaces.mcp.reply import Reply

GROUPS: dict[str, str] = {
    "decision": "Decisions",
    "architecture": "Architecture",
    "pattern": "Patterns",
    "debug": "Debug",
    "todo": "TODOs",
    "discovery": "Discoveries",
    "question": "Questions",
}
NOTES = "Notes"
"""The last group: notes, handoffs and reflections."""
ENTRY_CHARS = 600
MIN_ENTRY_CHARS = 80
EMPTY = "No relevant memories found. That is no evidence that there is no history: check other sources."


def context_reply(answer: Answer, project: Project | None, *, asked: str | None, max_chars: int | None) -> Reply:
    """The best hits that fit, grouped; `asked` is the project as the caller named it. Never longer than `max_chars`."""
    entry_chars = ENTRY_CHARS if max_chars is None else min(ENTRY_CHARS, max(MIN_ENTRY_CHARS, max_chars // 4))
    entries = fitting([_entry(hit, entry_chars) for hit in answer.hits])
    while True:
        text = _text(entries, answer, _remark(project, asked))
        if max_chars is None or len(text) <= max_chars or not entries:
            break
        entries = entries[:-1]
    if max_chars is not None and len(text) > max_chars:
        text = _text([], answer, "")
    data = {
        "notice": NOTICE,
        "results": [entry.data for entry in entries],
        "found": answer.found,
        "shown": len(entries),
        "signals": list(answer.signals),
    }
    return Reply((text,), data)


def _remark(project: Project | None, asked: str | None) -> str:
    if asked is None or project is not None:
        return ""
    return f"\nNo project is called {label(asked[:100])}; cortexa_list_projects lists them. All projects were searched."


def _text(entries: Sequence[Entry], answer: Answer, remark: str) -> str:
    if not answer.hits:
        return EMPTY + remark
    lead = f"{len(entries)} of {len(answer.hits)} shown"
    if not entries:
        return f"{lead}: max_chars is too small for one; raise it, or use cortexa_search.{remark}"
    return f"{lead}; {WHOLE}{remark}\n{quoted(_grouped(entries))}"


def _grouped(entries: Sequence[Entry]) -> str:
    groups: dict[str, list[str]] = {heading: [] for heading in (*GROUPS.values(), NOTES)}
    for entry in entries:
        groups[GROUPS.get(entry.data["kind"], NOTES)].append(entry.text)
    return "\n".join(f"## {heading}\n" + "\n".join(texts) for heading, texts in groups.items() if texts)


def _entry(hit: Hit, max_chars: int) -> Entry:
    data = {**summary(hit.memory, max_chars), "score": round(hit.score, 4), "why": list(hit.why)}
    shown = ("project", "date") if data["kind"] in (*GROUPS, "note") else ("kind", "project", "date")
    return Entry(f"- {data['excerpt']}\n  ({headline(data, *shown, 'agent', 'review')})", data)
