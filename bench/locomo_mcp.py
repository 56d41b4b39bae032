"""Real conversations through the whole product: every turn captured, every question asked, over MCP and HTTP.

    python bench/locomo_mcp.py FILE [--json]

FILE is a LoCoMo conversation file. A daemon of its own is started; the official MCP client captures all conversations turn by
turn into one vault (cortexa_capture), asks every question through cortexa_search with limit 10, and reads every turn back.
Turn R@10 is the mean share of a question's evidence turns among the first ten answers. Exit status 0 when no call failed,
every turn reads back to the byte and R@10 is at least --bar.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from daemon import running_daemon
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

LIMIT = 10


@dataclass(frozen=True)
class Turn:
    conversation: int
    dialogue_id: str
    session_id: str
    content: str
    occurred_at: str


def turns(data: list[dict[str, Any]]) -> Iterator[Turn]:
    """Every turn in session order, with its speaker and the session's date."""
    for number, item in enumerate(data):
        conversation = item["conversation"]
        session = 1
        while f"session_{session}" in conversation:
            when = datetime.strptime(conversation[f"session_{session}_date_time"], "%I:%M %p on %d %B, %Y")
            for turn in conversation[f"session_{session}"]:
                yield Turn(
                    conversation=number,
                    dialogue_id=turn["dia_id"],
                    session_id=f"{item['sample_id']}-{session}",
                    content=f"{turn['speaker']}: {turn['text']}",
                    occurred_at=when.replace(tzinfo=UTC).isoformat(),
                )
            session += 1


def questions(data: list[dict[str, Any]]) -> Iterator[tuple[int, int, str, list[str]]]:
    """(conversation, category, question, evidence ids); a few evidence strings hold several ids, some none."""
    for number, item in enumerate(data):
        for question in item["qa"]:
            evidence = list(dict.fromkeys(re.findall(r"D\d+:\d+", " ".join(question.get("evidence", [])))))
            if evidence:
                yield number, question["category"], question["question"], evidence


async def call(client: Client, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    if result.is_error or not isinstance(result.structured_content, dict):
        raise RuntimeError(f"{name} failed: {result.content}")
    return result.structured_content


async def measure(client: Client, data: list[dict[str, Any]]) -> dict[str, Any]:
    ids: dict[tuple[int, str], str] = {}
    told: dict[tuple[int, str], str] = {}
    began = time.perf_counter()
    for turn in turns(data):
        answer = await call(
            client,
            "cortexa_capture",
            {
                "content": turn.content,
                "thought_type": "note",
                "session_id": turn.session_id,
                "occurred_at": turn.occurred_at,
            },
        )
        key = (turn.conversation, turn.dialogue_id)
        ids[key], told[key] = answer["id"], turn.content
    capture_s = time.perf_counter() - began
    shares: dict[int, list[float]] = {}
    asked = list(questions(data))
    began = time.perf_counter()
    for conversation, category, question, evidence in asked:
        answer = await call(client, "cortexa_search", {"query": question, "limit": LIMIT})
        found = {hit["id"] for hit in answer["results"]}
        hits = sum(ids.get((conversation, turn)) in found for turn in evidence)
        shares.setdefault(category, []).append(hits / len(evidence))
    search_s = time.perf_counter() - began
    changed = 0
    for key, item_id in ids.items():
        changed += (await call(client, "cortexa_get_item", {"item_id": item_id}))["content"] != told[key]
    return {
        "turns": len(ids),
        "questions": len(asked),
        "recall_at_10": 100 * statistics.fmean(share for group in shares.values() for share in group),
        "recall_at_10_by_category": {c: 100 * statistics.fmean(group) for c, group in sorted(shares.items())},
        "captures_per_s": len(ids) / capture_s,
        "searches_per_s": len(asked) / search_s,
        "turns_changed": changed,
    }


async def run(data: list[dict[str, Any]]) -> dict[str, Any]:
    with running_daemon() as daemon:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {daemon.token}"}, timeout=60)
        transport = streamable_http_client(f"{daemon.url}/mcp/cortexa", http_client=http)
        async with http, Client(transport) as client:
            return await measure(client, data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--bar", type=float, default=60.0, help="the turn R@10 to reach, in per cent")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    figures = asyncio.run(run(json.loads(args.file.read_text(encoding="utf-8"))))
    if args.json:
        print(json.dumps(figures))
    else:
        categories = ", ".join(f"{c}: {share:.1f}" for c, share in figures["recall_at_10_by_category"].items())
        print(f"turns {figures['turns']}, read back changed {figures['turns_changed']}, questions {figures['questions']}")
        print(f"turn R@10 {figures['recall_at_10']:.1f} (by category {categories})")
        print(f"captures/s {figures['captures_per_s']:.0f}, searches/s {figures['searches_per_s']:.0f}")
    return 0 if figures["turns_changed"] == 0 and figures["recall_at_10"] >= args.bar else 1


if __name__ == "__main__":
    sys.exit(main())
