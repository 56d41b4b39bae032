"""/api/export and /api/import: one JSON record a line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import StreamingResponse

from perdure.domain.secrets import holds_secret
from perdure.surfaces.rest.endpoint import NDJSON, NO_STORE, Call, endpoint, parse_json
from perdure.surfaces.rest.problems import NotJson
from perdure.surfaces.rest.shapes import Shape

BATCH = 200
"""So many lines are read before they are stored, so that a large import never stands in memory as records."""


class RefusedLine(Shape):
    line: int
    why: str


class ImportAnswer(Shape):
    """`refused`: lines by their number, from 1; they stopped no other. `with_secrets`: how many others hold what looks like a
    secret; they are kept as they are, for their hashes to hold, and masked wherever they are read."""

    added: int
    existing: int
    with_secrets: int
    refused: list[RefusedLine]


@endpoint("GET", "/api/export", primary=True, gives=NDJSON)
async def export_memories(call: Call) -> StreamingResponse:
    """Every project and memory with its versions, oldest first, archived ones too."""
    records = call.app.transfer.export(call.caller)
    first = await anext(records, None)  # before the answer begins, so that a locked vault is still told as such
    return StreamingResponse(_lines(first, records), media_type=NDJSON, headers=NO_STORE)


async def _lines(first: dict[str, Any] | None, records: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    if first is None:
        return
    yield _line(first)
    async for record in records:
        yield _line(record)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@endpoint("POST", "/api/import", primary=True, takes=NDJSON)
async def import_memories(call: Call) -> ImportAnswer:
    """Add exported records; what is there already stays as it is, and a bad line stops no other."""
    answer = ImportAnswer(added=0, existing=0, with_secrets=0, refused=[])
    lines = [(number, line) for number, line in enumerate((await call.request.body()).split(b"\n"), 1) if line.strip()]
    for start in range(0, len(lines), BATCH):
        await _import(call, lines[start : start + BATCH], answer)
    answer.refused.sort(key=lambda refused: refused.line)
    return answer


async def _import(call: Call, lines: list[tuple[int, bytes]], answer: ImportAnswer) -> None:
    numbers, records = [], []
    for number, line in lines:
        try:
            records.append(parse_json(line))
            numbers.append(number)
        except NotJson:
            answer.refused.append(RefusedLine(line=number, why="is no JSON"))
    report = await call.app.transfer.import_records(call.caller, records)
    answer.added += report.added
    answer.existing += report.existing
    bad = {position for position, _ in report.refused}
    good = [record for position, record in enumerate(records) if position not in bad]
    answer.with_secrets += await asyncio.to_thread(lambda: sum(holds_secret(record) for record in good))
    answer.refused += [RefusedLine(line=numbers[position], why=why) for position, why in report.refused]


ENDPOINTS = (export_memories, import_memories)
