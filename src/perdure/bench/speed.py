"""`perdure bench speed`: how fast, told as ratios taken side by side in one run, for a machine's figures drift.

Every pair that is compared is measured in turn, A B A B, and the medians are set against each other.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import apsw

from perdure.bench import corpus
from perdure.bench.vaults import Bench, CountingVFS, fill, open_vault
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.retrieval import Filter, Query
from perdure.domain.vault import Progress

CALLERS = 64
ROUNDS = 5
QUERIES = 60
BRIDGE_STARTS = 5
COUNTING_VFS = "perdure-bench-counting"

Report = Callable[[Progress], None]
"""Told how far the work is; its unit names what is under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure; `bar` is what it is held against, `holds` whether it does (None: told, not judged)."""

    name: str
    value: float
    unit: str
    bar: str = ""
    holds: bool | None = None


async def measure(small: int, large: int, *, report: Report) -> list[Figure]:
    """All figures of the engine: captures, searches at two sizes, encryption's price."""
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as name:
        folder = Path(name)
        figures = await captures(folder, report)
        figures += await searches(folder, (small, large), report=report)
        return figures


async def captures(folder: Path, report: Report) -> list[Figure]:
    """64 concurrent captures against the same with synchronous=OFF and without encryption; waits for the disk per capture."""
    async with AsyncExitStack() as stack:
        kinds: dict[str, Bench] = {
            "durable": await stack.enter_async_context(open_vault(folder / "durable")),
            "off": await stack.enter_async_context(open_vault(folder / "off", synchronous="OFF")),
            "plain": await stack.enter_async_context(open_vault(folder / "plain", encrypted=False)),
        }
        rates: dict[str, list[float]] = {name: [] for name in kinds}
        for number in range(ROUNDS):
            for name, bench in kinds.items():
                rates[name].append(await _capture_rate(bench, CALLERS, count=CALLERS * 12, label=f"{name} {number}"))
            report(Progress(done=number + 1, total=ROUNDS, unit="captures"))
    rate = {name: statistics.median(values) for name, values in rates.items()}
    share = rate["durable"] / rate["off"]
    price = rate["plain"] / rate["durable"]
    alone, together = await _syncs(folder)
    return [
        Figure(name="captures, 64 callers", value=rate["durable"], unit="/s"),
        Figure(name="captures, 64 callers, synchronous off", value=rate["off"], unit="/s"),
        Figure(name="durable rate / rate with synchronous off", value=share, unit="", bar=">= 0.6", holds=share >= 0.6),
        Figure(name="waits for the disk per capture, one caller", value=alone, unit=""),
        Figure(
            name="waits for the disk per capture, 64 callers",
            value=together,
            unit="",
            bar="<= 1/10 of one caller's",
            holds=together <= alone / 10,
        ),
        Figure(name="capture time, encrypted / plain", value=price, unit="", bar="<= 1.2", holds=price <= 1.2),
    ]


async def _capture_rate(bench: Bench, callers: int, *, count: int, label: str) -> float:
    texts = [f"{text} {label}" for text in corpus.memories(count, seed=len(label))]

    async def one(mine: Sequence[str]) -> None:
        for text in mine:
            await bench.app.memories.capture(bench.owner, Draft(content=text, kind=Kind.NOTE))

    began = time.perf_counter()
    await asyncio.gather(*(one(texts[caller::callers]) for caller in range(callers)))
    return count / (time.perf_counter() - began)


async def _syncs(folder: Path) -> tuple[float, float]:
    """Waits for the disk per capture, of one caller and of 64, in a vault over a file system that counts them."""
    vfs = CountingVFS(COUNTING_VFS)
    try:
        async with open_vault(folder / "counted", vfs=COUNTING_VFS) as bench:
            counts = []
            for callers, count in ((1, 200), (CALLERS, CALLERS * 12)):
                before = vfs.syncs
                await _capture_rate(bench, callers, count=count, label=f"counted {callers}")
                counts.append((vfs.syncs - before) / count)
    finally:
        vfs.unregister()
    return counts[0], counts[1]


async def searches(folder: Path, sizes: tuple[int, int], *, report: Report) -> list[Figure]:
    """Keyword search of three words from questions at two sizes, and encrypted against plain at the smaller."""
    small, large = sizes
    async with AsyncExitStack() as stack:
        benches = {
            "small": await stack.enter_async_context(open_vault(folder / "small")),
            "plain": await stack.enter_async_context(open_vault(folder / "small-plain", encrypted=False)),
            "large": await stack.enter_async_context(open_vault(folder / "large")),
        }
        done = 0

        def count(number: int) -> None:
            nonlocal done
            done += number
            report(Progress(done=done, total=2 * small + large, unit="filling"))

        for name, bench in benches.items():
            await fill(bench, corpus.memories(large if name == "large" else small, seed=7), on_progress=count)
        p50 = await _search_p50(benches, report)
    growth = p50["large"] / p50["small"]
    price = p50["small"] / p50["plain"]
    return [
        Figure(name=f"keyword search p50 at {small:,}", value=p50["small"], unit="ms"),
        Figure(name=f"keyword search p50 at {large:,}", value=p50["large"], unit="ms"),
        Figure(name=f"p50 at {large:,} / at {small:,}", value=growth, unit="", bar="<= 3", holds=growth <= 3),
        Figure(name="search p50, encrypted / plain", value=price, unit="", bar="<= 1.2", holds=price <= 1.2),
    ]


async def _search_p50(benches: Mapping[str, Bench], report: Report) -> dict[str, float]:
    """Milliseconds, by vault; every query is asked of each vault in turn, after a round that warms them up."""
    times: dict[str, list[float]] = {name: [] for name in benches}
    for number in range(ROUNDS + 1):
        for text in corpus.queries(QUERIES, seed=3):
            for name, bench in benches.items():
                took = await _timed(lambda b=bench, t=text: b.app.retrieval.search(_query(b, t)))  # type: ignore[misc]  # bound now
                if number:
                    times[name].append(took * 1000)
        report(Progress(done=number + 1, total=ROUNDS + 1, unit="searching"))
    return {name: statistics.median(values) for name, values in times.items()}


def _query(bench: Bench, text: str) -> Query:
    return Query(text=text, filter=Filter(spaces=bench.owner.spaces))


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began


def bridge(report: Report) -> list[Figure]:
    """From the start of the bridge's process to its first tools/list over a raw pipe, with the daemon up."""
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as home:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "perdure", "serve", "--home", home, "--port", "0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            _first_tools(home)  # waits for the daemon, and warms the file system's cache
            times = []
            for number in range(BRIDGE_STARTS):
                times.append(_first_tools(home))
                report(Progress(done=number + 1, total=BRIDGE_STARTS, unit="bridge starts"))
        finally:
            daemon.terminate()
            daemon.wait(timeout=30)
    median = statistics.median(times)
    return [Figure(name="bridge: start to first tools/list", value=median, unit="s", bar="<= 0.5", holds=median <= 0.5)]


def _first_tools(home: str) -> float:
    requests = (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "perdure-bench", "version": "0"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "perdure", "mcp", "--home", home],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        process.stdin.flush()
        while json.loads(process.stdout.readline()).get("id") != 2:
            pass
        took = time.perf_counter() - began
        process.stdin.close()
        process.wait(timeout=30)
    return took


def environment() -> dict[str, str]:
    """What the figures were taken with."""
    return {"python": sys.version.split()[0], "sqlite": apsw.sqlite_lib_version()}
