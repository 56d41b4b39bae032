"""Export and import over REST: nothing lost on the way, bad lines named, nothing brought in twice (FAULTS IE1, IE2)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from perdure.surfaces.rest.guards import MIB
from perdure.surfaces.rest.transfer import BATCH
from tests.surfaces.rest.conftest import Play, Wire, problem_of


async def _export(wire: Wire) -> list[dict[str, Any]]:
    response = await wire.client.get("/api/export")
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.split("\n") if line]


async def _import(wire: Wire, body: str | bytes) -> dict[str, Any]:
    response = await wire.client.post("/api/import", content=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_ie1_export_purge_import_export_gives_the_same_records(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        first = await wire.capture("a pelican\nmit Füßen 🦆", project="aviary", tags=["a"], occurred_at="2026-08")
        await wire.call("PATCH", f"/api/memories/{first}", {"content": "a heron"})
        second = await wire.capture("archived one", kind="decision", confidence="high", expires="30d")
        await wire.call("DELETE", f"/api/memories/{second}")
        before = await _export(wire)
        lines = "\n".join(json.dumps(record) for record in before)
        assert await _import(wire, lines) == {"added": 0, "existing": 3, "with_secrets": 0, "refused": []}
        assert await _export(wire) == before

    play(scenario)


def test_ie1_an_import_into_an_empty_vault_exports_the_same_again(play: Play, tmp_home: Path) -> None:
    kept: list[dict[str, Any]] = []

    async def source(wire: Wire) -> None:
        for n in range(BATCH + 5):
            await wire.capture(f"pelican {n}", project=f"aviary {n % 3}", tags=["a"] if n % 2 else [])
        archived = await wire.capture("a heron", kind="decision", occurred_at="2026-08")
        await wire.call("PATCH", f"/api/memories/{archived}", {"content": "a grey heron"})
        await wire.call("DELETE", f"/api/memories/{archived}")
        kept.extend(await _export(wire))

    async def target(wire: Wire) -> None:
        assert await _export(wire) == []
        lines = "\r\n".join(json.dumps(record) for record in kept)
        assert await _import(wire, lines) == {"added": len(kept), "existing": 0, "with_secrets": 0, "refused": []}
        assert await _export(wire) == kept
        assert len(await wire.found("pelican", limit="100")) == 100

    play(source)
    shutil.rmtree(tmp_home / "home")
    play(target)


def test_a_bad_line_is_named_by_its_number_and_stops_no_other(play: Play, tmp_home: Path) -> None:
    kept: list[dict[str, Any]] = []

    async def source(wire: Wire) -> None:
        for n in range(3):
            await wire.capture(f"pelican {n}")
        kept.extend(await _export(wire))

    async def target(wire: Wire) -> None:
        good = [json.dumps(record) for record in kept]
        lines = ["", good[0], "{not json", "[]", good[1], json.dumps({**kept[2], "content": "changed"}), "\ud800", good[2]]
        answer = await _import(wire, "\n".join(lines).encode("utf-8", "surrogatepass"))
        assert (answer["added"], answer["existing"]) == (3, 0)
        assert [refused["line"] for refused in answer["refused"]] == [3, 4, 6, 7]
        assert all(refused["why"] for refused in answer["refused"])

    play(source)
    shutil.rmtree(tmp_home / "home")
    play(target)


def test_ie2_what_a_filter_counts_is_there_again_after_an_import(play: Play, tmp_home: Path) -> None:
    kept: list[dict[str, Any]] = []
    filters = ("tag=a", "from=2026-08-01&to=2026-08-31", "tag=a&from=2026-08", "project=shop", "archived=true")
    counts: list[int] = []

    async def count(wire: Wire) -> list[int]:
        return [(await wire.call("GET", f"/api/memories?{filter}"))["total"] for filter in filters]

    async def source(wire: Wire) -> None:
        for n in range(6):
            fields = {"project": "shop"} if n == 1 else {}
            await wire.capture(f"pelican {n}", tags=["a"] if n % 2 else ["b"], occurred_at=f"2026-0{7 + n % 3}", **fields)
        counts.extend(await count(wire))
        kept.extend(await _export(wire))

    async def target(wire: Wire) -> None:
        await _import(wire, "\n".join(json.dumps(record) for record in kept))
        assert await count(wire) == counts
        assert all(counts)

    play(source)
    shutil.rmtree(tmp_home / "home")
    play(target)


def test_an_erased_memory_is_not_brought_back(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican")
        kept = await _export(wire)
        await wire.call("POST", f"/api/memories/{memory_id}/purge", {"confirm": memory_id})
        answer = await _import(wire, "\n".join(json.dumps(record) for record in kept))
        assert (answer["added"], [refused["line"] for refused in answer["refused"]]) == (0, [1])

    play(scenario)


def test_an_import_may_be_larger_than_other_bodies_and_an_empty_one_adds_nothing(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        answer = await _import(wire, b'{"padding": "' + b"x" * (5 * MIB) + b'"}')
        assert [refused["line"] for refused in answer["refused"]] == [1]
        assert await _import(wire, b"") == {"added": 0, "existing": 0, "with_secrets": 0, "refused": []}
        too_large = await wire.client.post("/api/import", headers={"content-length": str(65 * MIB)}, content=b"")
        assert "64 MiB" in problem_of(too_large, 413, "too_large")["detail"]

    play(scenario)
