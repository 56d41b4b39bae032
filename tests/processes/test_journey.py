"""The main job on real processes, with the official client: what one agent captured, another gets back after a crash."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.processes.living import Household

pytestmark = pytest.mark.slow

THOUGHTS = {
    "decision": "Use HNSW for the index\n\t— because brute force was O(n) \U0001f50e\r\n",
    "architecture": "The bridge is a byte pump into one gate.",
    "debug": "Flaky test: the fixture closed the vault twice.",
}
HEADINGS = {"decision": "## Decisions", "architecture": "## Architecture", "debug": "## Debug"}


@asynccontextmanager
async def over_http(household: Household) -> AsyncIterator[Client]:
    household.wait_until(household.home.token_file.exists, timeout_s=60)
    token = household.home.token_file.read_text().strip()
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    url = f"{household.daemon().urls[0]}/mcp"
    async with http, Client(streamable_http_client(url, http_client=http)) as client:
        yield client


@asynccontextmanager
async def over_stdio(household: Household) -> AsyncIterator[Client]:
    command = str(Path(sys.executable).with_name("cortexa-mcp"))
    async with Client(StdioServerParameters(command=command, args=["--home", str(household.folder)])) as client:
        yield client


@pytest.mark.parametrize("connect", [over_http, over_stdio])
def test_three_thoughts_are_under_their_headings_after_kill_9_and_whole_to_the_byte(
    household: Household, connect: object
) -> None:
    assert callable(connect)

    async def capture() -> dict[str, str]:
        async with connect(household) as client:
            ids = {}
            for kind, content in THOUGHTS.items():
                arguments = {"content": content, "thought_type": kind, "project": "Parser", "agent": "cursor"}
                result = await client.call_tool("cortexa_capture", arguments)
                ids[kind] = result.content[0].text.removeprefix("Captured. Item id: ")
            return ids

    async def recall(ids: dict[str, str]) -> None:
        async with connect(household) as client:
            brief = await client.call_tool("cortexa_context", {"context": "continue the parser", "project": "Parser"})
            text = brief.content[0].text
            places = [text.index(heading) for heading in HEADINGS.values()]
            assert places == sorted(places)
            for kind, heading in HEADINGS.items():
                section = text[text.index(heading) :].split("\n## ")[0]
                assert ids[kind] in section
            for kind, item in ids.items():
                answer = await client.call_tool("cortexa_get_item", {"item_id": item})
                assert answer.structured_content["content"] == THOUGHTS[kind]

    if connect is over_http:
        household.serve()
    ids = asyncio.run(capture())
    household.kill_daemon()
    if connect is over_http:
        household.serve()
    asyncio.run(recall(ids))
