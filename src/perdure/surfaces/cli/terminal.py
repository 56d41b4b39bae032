"""What is written where: answers on stdout, remarks and progress on stderr; colours and spinners on a terminal only."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from perdure.domain.quoting import escape_line, visible

SPINNER_AFTER_S = 1.0
WIDE = 100_000
"""A table that is piped is never wrapped or cut."""


def make_safe() -> None:
    """A character that the terminal's encoding lacks is written out, never a crash (FAULTS EN3)."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a replaced stream may lack it


def write_json(document: Any) -> None:
    """One document, in ASCII, so that it survives every pipe and no text in it drives a terminal."""
    print(json.dumps(document, indent=2))


def write_text(text: str) -> None:
    print(visible(text) if sys.stdout.isatty() else text)


def write_raw(text: str) -> None:
    """Stored text: every byte of it into a pipe or file; visible, with a line's end, on a terminal."""
    if sys.stdout.isatty():
        write_text(text.removesuffix("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def remark(text: str) -> None:
    print(visible(text), file=sys.stderr)


def write_table(headings: Sequence[str], rows: Sequence[Sequence[object]], *, none: str) -> None:
    """Columns under their headings, each row on one line; `none` stands where there are no rows."""
    if not rows:
        remark(none)
        return
    from rich.console import Console  # noqa: PLC0415 - costs 30 ms, which commands without a table need not pay
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    terminal = sys.stdout.isatty()
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, no_wrap=True, overflow="fold" if heading == "id" else "ellipsis")
    for row in rows:
        table.add_row(*(Text("" if cell is None else escape_line(str(cell))) for cell in row))
    console = Console(width=None if terminal else WIDE, highlight=False)
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def write_fields(fields: Sequence[tuple[str, object]]) -> None:
    width = max(len(name) for name, _ in fields) + 2
    for name, value in fields:
        if value is not None:
            print(f"{name + ':':<{width}}{escape_line(str(value))}")


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner on stderr once it takes more than a second, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Any] = []

    def show() -> None:
        from rich.console import Console  # noqa: PLC0415 - only what is slow anyway pays for it

        shown.append(Console(stderr=True).status(f"{what} ...", spinner="line"))
        shown[0].start()

    timer = threading.Timer(SPINNER_AFTER_S, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()


@contextlib.contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Answers a function to call with how much more is done; a bar on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - only long work pays for it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - as above

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
