"""The command `perdure bench`: measures this machine with the perdure that is installed."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from perdure.bench import speed
from perdure.domain.vault import Progress as Done

DESCRIPTION = """Measure perdure on this machine.

speed     captures, searches at two sizes, what encryption costs, how fast the bridge starts; told as ratios of one run
"""


def run(argv: Sequence[str]) -> int:
    """Exit code 0 when every bar holds, 1 when one does not."""
    parser = argparse.ArgumentParser(
        "perdure bench", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["speed"])
    parser.add_argument("--small", type=int, default=10_000, help="memories in the smaller vault (default 10000)")
    parser.add_argument("--large", type=int, default=200_000, help="memories in the larger vault (default 200000)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    asked = parser.parse_args(argv)
    with _progress() as report:
        figures = asyncio.run(speed.measure(asked.small, asked.large, report=report)) + speed.bridge(report)
    if asked.json:
        document = {"figures": [dataclasses.asdict(figure) for figure in figures], **speed.environment()}
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        Console().print(_table(figures))
    return 1 if any(figure.holds is False for figure in figures) else 0


@contextmanager
def _progress() -> Iterator[speed.Report]:
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal) as progress:
        tasks = {}

        def report(at: Done) -> None:
            if at.unit not in tasks:
                tasks[at.unit] = progress.add_task(at.unit, total=at.total)
            progress.update(tasks[at.unit], completed=at.done, total=at.total)

        yield report


def _table(figures: Sequence[speed.Figure]) -> Table:
    table = Table("figure", "value", "bar", "holds", box=None)
    for figure in figures:
        holds = "" if figure.holds is None else "yes" if figure.holds else "NO"
        table.add_row(figure.name, f"{figure.value:,.3f} {figure.unit}".strip(), figure.bar, holds)
    return table
