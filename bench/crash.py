"""Durability under kill -9: whatever was acknowledged is there after the restart, to the byte.

    python bench/crash.py --rounds N --clients N [--json]

In each round N clients capture over MCP and HTTP while the daemon is killed at a random moment; it is started again, every
capture acknowledged so far in the round is read back and compared, and the vault is checked page by page.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import threading
from typing import Any

import httpx2
from daemon import Daemon, running_daemon
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

ENDED = (httpx2.HTTPError, MCPError, OSError, BaseExceptionGroup)
"""How a call ends when its daemon dies."""


async def capture_until_dead(daemon_url: str, token: str, name: str, acknowledged: dict[str, str]) -> None:
    number = 0
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=20)
    transport = streamable_http_client(f"{daemon_url}/mcp/cortexa", http_client=http)
    with contextlib.suppress(*ENDED):
        async with http, Client(transport) as client:
            while True:
                number += 1
                content = f"capture {number} of {name}: " + "durable " * random.randint(1, 200)
                result = await client.call_tool("cortexa_capture", {"content": content, "thought_type": "note"})
                if result.is_error or not isinstance(result.structured_content, dict):
                    return
                acknowledged[result.structured_content["id"]] = content


async def one_round(daemon: Daemon, clients: int, number: int) -> dict[str, str]:
    """Capture with N clients until the kill; answers what was acknowledged."""
    acknowledged: dict[str, str] = {}
    url, token = daemon.url, daemon.token
    kill = threading.Timer(random.uniform(0.3, 2.0), daemon.kill)
    kill.start()
    await asyncio.gather(*(capture_until_dead(url, token, f"round {number} client {c}", acknowledged) for c in range(clients)))
    await asyncio.to_thread(kill.join)
    return acknowledged


def lost(daemon: Daemon, acknowledged: dict[str, str]) -> list[str]:
    """Ids whose content is not there as it was acknowledged."""
    missing = []
    for item_id, content in acknowledged.items():
        try:
            found: Any = daemon.rest("GET", f"/api/memories/{item_id}")
        except OSError:
            found = {}
        if found.get("content") != content:
            missing.append(item_id)
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    total = 0
    failures: list[str] = []
    with running_daemon() as daemon:
        for number in range(1, args.rounds + 1):
            acknowledged = asyncio.run(one_round(daemon, args.clients, number))
            daemon.start()
            missing = lost(daemon, acknowledged)
            faults = daemon.rest("POST", "/api/vault/check", {"deep": True})["faults"]
            total += len(acknowledged)
            failures += [f"round {number}: lost {item}" for item in missing]
            failures += [f"round {number}: {fault}" for fault in faults]
            if not args.json:
                print(f"round {number}: {len(acknowledged)} acknowledged, {len(missing)} lost, {len(faults)} faults", flush=True)
    if args.json:
        print(json.dumps({"rounds": args.rounds, "acknowledged": total, "failures": failures}))
    else:
        print(f"{args.rounds} rounds, {total} acknowledged captures, {len(failures)} failures")
        print("\n".join(failures))
    return 1 if failures or not total else 0


if __name__ == "__main__":
    sys.exit(main())
