"""Remembering and finding: capture, ingest, search, context, show, recent, versions, projects."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from perdure.domain.kinds import Kind
from perdure.domain.memory import CONFIDENCE_BY_WORD, Privacy, ReviewState
from perdure.domain.quoting import excerpt
from perdure.surfaces.cli.client import part
from perdure.surfaces.cli.command import command
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.failure import Failure
from perdure.surfaces.cli.terminal import remark, write_json, write_raw, write_table, write_text
from perdure.surfaces.cli.wording import answer_in_cli_words

KINDS = [kind.value for kind in Kind]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def filters(*, everywhere: bool = True) -> Decorator:
    """The options that narrow which memories are meant; they go to the daemon under the names it knows."""
    options = [
        click.option("--project", metavar="NAME", help="Of this project: its name, slug or id."),
        click.option(
            "--kind", multiple=True, type=click.Choice(KINDS), metavar="KIND", help="Of this kind; repeated: of any of them."
        ),
        click.option("--tag", multiple=True, metavar="TAG", help="With this tag; repeated: with all of them."),
        click.option("--from", metavar="DATE", help="From this day, month or time on, when it happened."),
        click.option("--to", metavar="DATE", help="Up to this day, month or time, which is included."),
    ]
    if everywhere:
        options += [
            click.option("--agent", metavar="NAME", help="Captured by this agent."),
            click.option("--session", "session_id", metavar="ID", help="Of this session."),
            click.option("--file", multiple=True, metavar="PATH", help="About this file; may be repeated."),
            click.option("--channel", metavar="NAME", help="Posted to this channel."),
        ]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@command(
    "capture",
    'perdure capture "We chose RS256 for the tokens" --kind decision --project shop --tag auth',
    "git log -1 --format=%B | perdure capture - --kind note",
    'perdure capture "Friday\'s outage was DNS" --occurred-at 2026-08-14 --expires 90d',
    'perdure capture "Stopping here" --kind handoff --project shop --session s1 --handoff handoff.json',
    """echo '{"next_action": "Rotate the keys", "blockers": ["No rotation yet"]}' |
    perdure capture "Stopping here" --kind handoff --project shop --session s1 --handoff -""",
)
@click.argument("content", required=False)
@click.option(
    "--kind",
    "--type",
    type=click.Choice(KINDS),
    default="note",
    show_default=True,
    metavar="KIND",
    help=f"What it is: {', '.join(KINDS)}.",
)
@click.option("--title", metavar="TEXT", help="A heading; else its first line serves.")
@click.option("--project", metavar="NAME", help="The project it belongs to, made if it is new.")
@click.option("--agent", metavar="NAME", help="Who says so.")
@click.option("--session", "session_id", metavar="ID", help="The session it comes from.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file it is about; may be repeated.")
@click.option("--language", metavar="NAME", help="The programming or human language.")
@click.option("--confidence", type=click.Choice(list(CONFIDENCE_BY_WORD)), help="How sure it is.")
@click.option("--occurred-at", metavar="DATE", help="When it happened: a time, a day or a month.")
@click.option("--expires", metavar="WHEN", help="Archive it then: 14d, a date or a time.")
@click.option("--channel", metavar="NAME", help="Post it to a shared channel too.")
@click.option(
    "--handoff",
    metavar="FILE",
    help="JSON file of a handoff: next_action, and completed, verification, blockers; - reads standard input.",
)
@click.option("--privacy", type=click.Choice([p.value for p in Privacy]), help="Who may see it.  [default: the setting]")
def capture(invocation: Invocation, content: str | None, handoff: str | None, **fields: Any) -> None:
    """Remember a text.

    CONTENT is the text; - , or none in a pipe, reads standard input, every byte of it. Answers the id.
    """
    body = {"content": read_content(content), **{name: value for name, value in fields.items() if value not in (None, ())}}
    if handoff:
        body["handoff"] = _read_json(handoff)
    _captured(invocation, invocation.daemon.post("/api/memories", body))


@command(
    "ingest",
    'perdure ingest "/decision: prices are kept in cents"',
    "perdure ingest - < meeting.txt",
)
@click.argument("content", required=False)
@click.option("--project", metavar="NAME", help="The project it belongs to, made if it is new.")
@click.option("--occurred-at", metavar="DATE", help="When it happened: a time, a day or a month.")
def ingest(invocation: Invocation, content: str | None, **fields: Any) -> None:
    """Remember a text whose /name: at the start picks a template.

    Templates: idea, decision, bug, todo, question, note, learn, meeting, and your own (`perdure settings get templates`).
    """
    arguments = {"content": read_content(content), **{name: value for name, value in fields.items() if value is not None}}
    _captured(invocation, invocation.daemon.post("/api/tools/cortexa_ingest", arguments)["structured"])


@command(
    "search",
    "perdure search refresh tokens",
    'perdure search "src/auth.js" --project shop --kind decision --explain',
    "perdure search tokens --json",
)
@click.argument("query", nargs=-1, required=True)
@filters()
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, metavar="N", help="How many at most.")
@click.option("--explain", is_flag=True, help="Show the parts of each score.")
def search(invocation: Invocation, query: tuple[str, ...], explain: bool, **narrow: Any) -> None:
    """Find memories by words, best first, and why each came. Any text is a query; nothing in it is an operator."""
    answer = invocation.daemon.get("/api/search", {"query": " ".join(query), **narrow})
    if invocation.as_json:
        write_json(answer)
        return
    hits = answer["hits"]
    rows = [[f"{hit['score']:.3f}", *_row(hit["memory"]), ", ".join(hit["why"])] for hit in hits]
    if explain:
        for row, hit in zip(rows, hits, strict=True):
            row.append(" ".join(f"{name} {value:.3f}" for name, value in hit["parts"].items()))
    headings = ["score", *ROW, "why", *(["parts"] if explain else [])]
    write_table(headings, rows, none="No memory matches the query.")


@command(
    "context",
    'perdure context "rotating the signing keys" --project shop',
    'perdure context "login fails" --file src/auth.js --limit 5',
)
@click.argument("words", nargs=-1, required=True)
@click.option("--project", metavar="NAME", help="Lift what belongs to this project.")
@click.option("--file", "file_paths", multiple=True, metavar="PATH", help="Lift what is about this file; may be repeated.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, metavar="N", help="How many at most.")
@click.option("--max-chars", type=click.IntRange(256, 70_000), metavar="N", help="How long the brief may be: 256 to 70000.")
def context(invocation: Invocation, words: tuple[str, ...], **fields: Any) -> None:
    """Show the brief an agent is given before work.

    WORDS say what the work is; what is remembered for it comes under headings.
    """
    arguments = {"context": " ".join(words), **{name: value for name, value in fields.items() if value not in (None, ())}}
    answer = invocation.daemon.post("/api/tools/cortexa_context", arguments)
    text = "\n".join(map(answer_in_cli_words, answer["text"]))
    invocation.tell({**answer["structured"], "text": text}, text)


@command("show", "perdure show 0198c1d2-...", "perdure show ID > memory.txt", "perdure show ID --json")
@click.argument("memory_id", metavar="ID")
def show(invocation: Invocation, memory_id: str) -> None:
    """Print a memory's content.

    Every byte of it into a pipe; on a terminal control characters are made visible. With --json everything about it.
    """
    memory = invocation.daemon.get(f"/api/memories/{part(memory_id)}")
    if invocation.as_json:
        write_json(memory)
        return
    if sys.stdout.isatty():
        about = [memory[name] for name in ("kind", "title", "project_slug", "occurred_at", "agent")]
        remark(" | ".join([*(word for word in about if word), f"version {memory['version']}", *memory["tags"]]))
    write_raw(memory["content"])


@command("recent", "perdure recent", "perdure recent --project shop --kind todo --limit 50", "perdure recent --archived")
@filters()
@click.option("--review", type=click.Choice([state.value for state in ReviewState]), help="In this state of review.")
@click.option("--source", metavar="NAME", help="From this product, such as claude or chatgpt.")
@click.option("--archived", is_flag=True, help="Archived and superseded ones too.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, metavar="N", help="How many at most.")
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip so many.")
def recent(invocation: Invocation, **narrow: Any) -> None:
    """List memories, newest first."""
    page = invocation.daemon.get("/api/memories", narrow)
    if invocation.as_json:
        write_json(page)
        return
    write_table(["recorded", *ROW], [[_minute(m["recorded_at"]), *_row(m)] for m in page["items"]], none="No memories.")
    if page["total"] > page["offset"] + len(page["items"]) > 0:
        remark(f"{len(page['items'])} of {page['total']} shown; --offset {page['offset'] + len(page['items'])} goes on.")


@command("versions", "perdure versions ID", "perdure versions ID --json")
@click.argument("memory_id", metavar="ID")
def versions(invocation: Invocation, memory_id: str) -> None:
    """List what a memory has said, oldest first, by its first line; --json holds the whole texts."""
    answer = invocation.daemon.get(f"/api/memories/{part(memory_id)}/versions")
    if invocation.as_json:
        write_json(answer)
        return
    rows = [
        [version["version"], _minute(version["valid_from"]), version["agent"], len(version["content"]), _first_line(version)]
        for version in answer["items"]
    ]
    write_table(["version", "since", "agent", "chars", "text"], rows, none="No versions.")


@command("projects", "perdure projects", "perdure projects --json")
def projects(invocation: Invocation) -> None:
    """List the projects, the most recently used first."""
    answer = invocation.daemon.get("/api/projects")
    if invocation.as_json:
        write_json(answer)
        return
    rows = [[p["name"], p["slug"], p["memories"], _minute(p["last_at"]), p["id"]] for p in answer["items"]]
    write_table(["name", "slug", "memories", "last", "id"], rows, none="No projects; a capture with --project makes one.")


def read_content(given: str | None) -> str:
    """The argument, or standard input byte for byte. Raises Failure for input that is not UTF-8."""
    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        raise click.UsageError("Give the text as an argument, or pipe it in.")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise Failure("invalid_input", f"Standard input is not UTF-8 (byte {error.start}); convert it first.") from error


ROW = ("kind", "project", "heading", "id")


def _row(memory: dict[str, Any]) -> list[object]:
    return [memory["kind"], memory["project_slug"], _heading(memory), memory["id"]]


def _heading(memory: dict[str, Any]) -> str:
    return memory["title"] or excerpt(memory["content"], 80)


def _first_line(version: dict[str, Any]) -> str:
    return excerpt(version["content"].strip().partition("\n")[0], 80)


def _minute(instant: str | None) -> str:
    return (instant or "")[:16].replace("T", " ")


def _read_json(path: str) -> Any:
    try:
        return json.loads(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes())
    except ValueError as error:
        raise Failure("invalid_input", f"{path}: is not JSON ({error}).") from error


def _captured(invocation: Invocation, answer: dict[str, Any]) -> None:
    if invocation.as_json:
        write_json(answer)
        return
    write_text(answer["id"])
    if answer.get("existing"):
        remark("It was captured a moment ago; this is the same memory.")
    if answer.get("redacted"):
        remark(f"Redacted before storing: {', '.join(answer['redacted'])}.")
    for note in answer.get("notes", ()):
        remark(note)
