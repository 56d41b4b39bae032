"""Export and import: JSONL, or a folder of Markdown files; ids, versions and dates are kept (FAULTS IE1, IE2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from perdure.domain.scopes import Project
from perdure.domain.secrets import holds_secret
from perdure.domain.transfer import check_parcel, read_record
from perdure.errors import InvalidInput
from perdure.surfaces.cli.command import command
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.failure import ERROR, OK
from perdure.surfaces.cli.files import Source, count_sources, json_lines, markdown_folder, read_sources
from perdure.surfaces.cli.memories import filters
from perdure.surfaces.cli.narrowing import Narrow, narrowed
from perdure.surfaces.cli.terminal import progress, remark, write_json, write_text

MAX_BATCH_BYTES = 8 * 1024 * 1024
MAX_BATCH_RECORDS = 500
MAX_RECORD_BYTES = 64 * 1024 * 1024
"""What the daemon takes in one request."""
FORMATS = ("jsonl", "markdown")


@command(
    "export",
    "perdure export memories.jsonl",
    "perdure export notes --format markdown --project shop",
    "perdure export - --kind decision --from 2026-08 | gzip > decisions.jsonl.gz",
)
@click.argument("target", metavar="FILE|FOLDER|-", type=click.Path(allow_dash=True, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="jsonl",
    show_default=True,
    help="One file, or a folder.",
)
@filters(everywhere=False)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def export_memories(invocation: Invocation, target: Path, form: str, force: bool, **narrow: Any) -> None:
    """Write memories as plain text, with all versions.

    Archived ones too. What is exported is not encrypted.
    `perdure import` reads both formats back; for a copy that stays encrypted see `perdure vault backup`.
    """
    if str(target) == "-" and (invocation.as_json or form == "markdown"):
        raise click.UsageError("Standard output takes JSONL alone; name a file or a folder.")
    records = narrowed(invocation.daemon.stream("/api/export"), Narrow.of(**narrow))
    writer = markdown_folder(target) if form == "markdown" else json_lines(target, force=force)
    counts: Counter[str] = Counter()
    with progress("Exporting") as advance, writer as write:
        for record in records:
            write(record)
            counts[str(record.get("type"))] += 1
            advance(1)
    if str(target) == "-":
        return
    told = {"target": str(target), "format": form, "memories": counts["memory"], "projects": counts["project"]}
    invocation.tell(told, f"Written to {target}, not encrypted. Memories: {counts['memory']}, projects: {counts['project']}.")


@command(
    "import",
    "perdure import memories.jsonl --dry-run",
    "perdure import memories.jsonl",
    "perdure import notes",
    "gunzip -c decisions.jsonl.gz | perdure import -",
)
@click.argument("source", metavar="FILE|FOLDER|-", type=click.Path(exists=True, allow_dash=True, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Read and check everything, store nothing.")
def import_memories(invocation: Invocation, source: Path, dry_run: bool) -> int:
    """Add exported memories.

    From a JSONL file or a folder of Markdown files, whichever it is. What is there already (by its id) stays as it is, so
    that a repeated import adds nothing. A bad record is named and stops no other; the command then exits with 1.
    """
    with progress("Checking" if dry_run else "Importing", count_sources(source)) as advance:
        sources = _advancing(read_sources(source), advance)
        report = _preview(sources) if dry_run else _send(invocation, sources)
    if invocation.as_json:
        write_json(report.document(dry_run))
    else:
        write_text(report.text(dry_run))
        if report.with_secrets:
            records = "1 record holds" if report.with_secrets == 1 else f"{report.with_secrets} records hold"
            remark(f"{records} what looks like a secret: kept as it is, masked wherever it is read but in an export.")
        for place, why in report.refused:
            remark(f"{place}: {why}")
    return ERROR if report.refused else OK


@dataclass
class Report:
    added: int = 0
    existing: int = 0
    with_secrets: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def document(self, dry_run: bool) -> dict[str, Any]:
        refused = [{"at": place, "why": why} for place, why in self.refused]
        if dry_run:
            return {"dry_run": True, "records": dict(self.kinds), "with_secrets": self.with_secrets, "refused": refused}
        return {"added": self.added, "existing": self.existing, "with_secrets": self.with_secrets, "refused": refused}

    def text(self, dry_run: bool) -> str:
        if dry_run:
            found = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common()) or "nothing"
            return f"Would import {found}; {len(self.refused)} refused. Nothing was stored."
        return f"{self.added} added, {self.existing} were there already, {len(self.refused)} refused."


def _preview(sources: Iterable[Source]) -> Report:
    report = Report()
    for source in sources:
        try:
            record = _object(source)
            item = read_record(record, "")
            if not isinstance(item, Project):
                check_parcel(item)
        except InvalidInput as error:
            report.refused.append((source.place, error.message))
            continue
        report.with_secrets += holds_secret(record)
        report.kinds["project" if isinstance(item, Project) else item.memory.kind.value] += 1
    return report


def _object(source: Source) -> dict[str, Any]:
    try:
        record = json.loads(source.line)
    except ValueError:
        raise InvalidInput(source.fault or "is no JSON") from None
    if not isinstance(record, dict):
        raise InvalidInput("record: must be a JSON object")
    return record


def _send(invocation: Invocation, sources: Iterable[Source]) -> Report:
    report = Report()
    for batch in _batches(sources, report):
        answer = invocation.daemon.post_lines("/api/import", [source.line for source in batch])
        report.added += answer["added"]
        report.existing += answer["existing"]
        report.with_secrets += answer["with_secrets"]
        report.refused += [(batch[refused["line"] - 1].place, refused["why"]) for refused in answer["refused"]]
    return report


def _batches(sources: Iterable[Source], report: Report) -> Iterator[list[Source]]:
    batch: list[Source] = []
    size = 0
    for source in sources:
        fault = source.fault or ("is larger than 64 MiB" if len(source.line) >= MAX_RECORD_BYTES else None)
        if fault:
            report.refused.append((source.place, fault))
            continue
        if batch and (size + len(source.line) > MAX_BATCH_BYTES or len(batch) == MAX_BATCH_RECORDS):
            yield batch
            batch, size = [], 0
        batch.append(source)
        size += len(source.line) + 1
    if batch:
        yield batch


def _advancing(sources: Iterable[Source], advance: Callable[[int], None]) -> Iterator[Source]:
    for source in sources:
        yield source
        advance(1)
