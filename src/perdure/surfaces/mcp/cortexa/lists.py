"""Lists of memories as Cortexa shows them: search results, recent captures, a channel's feed, projects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from perdure.domain.instants import rfc3339
from perdure.domain.memory import Memory
from perdure.domain.retrieval import Answer, Hit
from perdure.domain.scopes import Project
from perdure.services.retrieval.service import CANDIDATES
from perdure.surfaces.mcp.cortexa.rendering import WHOLE, Entry, headline, label, listing, summary
from perdure.surfaces.mcp.reply import Reply

FEED_CHARS = 2_000
SIGNALS = {"embedding_unavailable": "embedding_unavailable: keyword matches only."}


def search_reply(answer: Answer) -> Reply:
    """Numbered hits, best first."""
    entries = [_hit(place, hit) for place, hit in enumerate(answer.hits, 1)]
    found = f"{answer.found} or more" if answer.found >= CANDIDATES else str(answer.found)
    signals = "".join(f"\n{SIGNALS.get(signal, signal)}" for signal in answer.signals)

    def lead(shown: int) -> str:
        first = f"{shown} of {found} shown, best first; {WHOLE}" if entries else "No memory matches the query."
        return first + signals

    return listing("results", entries, lead, found=answer.found, signals=list(answer.signals))


def _hit(place: int, hit: Hit) -> Entry:
    data = {**summary(hit.memory), "score": round(hit.score, 4), "why": list(hit.why)}
    why = f" | {', '.join(hit.why)}" if hit.why else ""
    lines = f"{place}. {headline(data, 'kind', 'project', 'date')} | score {hit.score:.3f}{why}\n   {data['excerpt']}"
    return Entry(lines, data)


def recent_reply(found: Sequence[Memory], limit: int) -> Reply:
    """`found` holds one more than the limit where there are older ones."""
    entries = [_recent(memory) for memory in found[:limit]]

    def lead(shown: int) -> str:
        if not entries:
            return "Nothing was captured yet."
        more = ", there are older ones" if len(found) > shown else ""
        return f"{shown} shown, newest first{more}; {WHOLE}"

    return listing("items", entries, lead)


def _recent(memory: Memory) -> Entry:
    data = {**summary(memory), "recorded_at": rfc3339(memory.recorded_at)}
    return Entry(f"- {headline(data, 'recorded_at', 'kind', 'project', 'agent')}\n  {data['excerpt']}", data)


def feed_reply(found: Sequence[Memory], channel: str, *, since: datetime | None, full: bool) -> Reply:
    """Oldest first. The cursor is that of the last entry shown, so that what did not fit comes with the next call."""
    entries = [_post(memory) for memory in found]
    name = label(channel)

    def lead(shown: int) -> str:
        if not entries:
            return f"Nothing new in channel {name}."
        more = "; more may be there, call again with the cursor" if full or shown < len(entries) else ""
        return f"{shown} from channel {name}, oldest first{more}."

    reply = listing("entries", entries, lead)
    shown = (reply.structured or {})["shown"]
    last = found[shown - 1].recorded_at if shown else since
    cursor = rfc3339(last) if last else None
    return Reply(
        (f"{reply.texts[0]}\ncursor: {cursor or 'none yet; leave since out'}",), {**(reply.structured or {}), "cursor": cursor}
    )


def _post(memory: Memory) -> Entry:
    data = {**summary(memory, FEED_CHARS), "recorded_at": rfc3339(memory.recorded_at)}
    return Entry(f"- {headline(data, 'recorded_at', 'agent', 'kind', 'project')}\n  {data['excerpt']}", data)


def projects_reply(projects: Sequence[Project]) -> Reply:
    entries = [_project(project) for project in projects]

    def lead(shown: int) -> str:
        if not entries:
            return "There are no projects yet; a capture with a project name makes one."
        cut = f" of {len(entries)}" if shown < len(entries) else ""
        return f"{shown}{cut} projects, the most recently used first."

    return listing("projects", entries, lead, total=len(entries))


def _project(project: Project) -> Entry:
    data = {
        "id": project.id,
        "slug": project.slug,
        "name": label(project.name),
        "memories": project.memories,
        "last_at": rfc3339(project.last_at) if project.last_at else None,
    }
    count = f"{project.memories} {'memory' if project.memories == 1 else 'memories'}"
    last = f", last {data['last_at']}" if data["last_at"] else ""
    return Entry(f"- {data['name']} | slug {project.slug} | id {project.id} | {count}{last}", data)
