from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.access import Caller
from perdure.domain.handoff import Handoff, Verification
from perdure.domain.instants import parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import Changes, Draft, ReviewState
from perdure.domain.retrieval import Filter, Query
from tests.services.conftest import Play


async def exported(app: App, me: Caller) -> list[dict[str, Any]]:
    return [record async for record in app.transfer.export(me)]


async def fill(app: App, me: Caller) -> None:
    """One of everything: projects, versions, a handoff, an archived, a superseded and an expiring memory."""
    capture = app.memories.capture
    first = await capture(me, Draft(content="first\r\n---\n", kind=Kind.DECISION, project="P", tags=("t",), files=("a.py",)))
    await app.memories.update(me, first.id, changes=Changes(content="second", title="A title"))
    handoff = Handoff(completed=("x",), verification=(Verification(check="c", status="failed"),), next_action="go on")
    await capture(me, Draft(content="h", kind=Kind.HANDOFF, project="Q", session_id="s", handoff=handoff, confidence=0.9))
    gone = await capture(me, Draft(content="gone", kind=Kind.NOTE, occurred=parse_period("2026-08"), channel="c"))
    await app.memories.archive(me, gone.id)
    old = await capture(me, Draft(content="old truth", kind=Kind.NOTE, expires="2y"))
    await app.memories.review(me, old.id, state=ReviewState.SUPERSEDED, superseded_by=first.id, note="changed")


def test_ie1_export_wipe_import_export_is_identical(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await fill(app, me)
        before = await exported(app, me)
        other = build_app(read_launch(home=tmp_home / "other", environ={}))
        await other.vault.start()
        report = await other.transfer.import_records(me, json.loads(json.dumps(before)))
        assert (report.added, report.refused) == (len(before), ())
        assert await exported(other, me) == before
        again = await other.transfer.import_records(me, before)
        assert (again.added, again.existing) == (0, len(before))
        answer = await other.retrieval.search(Query(text="second", filter=Filter(spaces=me.spaces)))
        assert [hit.memory.content for hit in answer.hits] == ["second"]
        await other.vault.close()

    play(scenario)


def test_a_bad_record_is_named_by_its_position_and_stops_no_other(play: Play, tmp_home: Path) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await fill(app, me)
        records: list[Any] = await exported(app, me)
        tampered = {**records[-1], "content": "not what the hash says"}
        tampered["versions"] = [{**records[-1]["versions"][0], "content": "not what the hash says"}]
        bad = [{"perdure": 9}, 7, {"perdure": 1, "type": "memory"}, {**tampered, "id": "x"}, {"perdure": 1, "type": "cat"}]
        other = build_app(read_launch(home=tmp_home / "other", environ={}))
        await other.vault.start()
        report = await other.transfer.import_records(me, [*bad, *records])
        assert [position for position, _ in report.refused] == [0, 1, 2, 3, 4]
        assert report.added == len(records)
        await other.vault.close()

    play(scenario)


def test_what_was_erased_for_ever_is_not_brought_back_by_an_import(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, Draft(content="erase me", kind=Kind.NOTE))).id
        records = await exported(app, me)
        await app.memories.purge(me, item, confirm=item)
        report = await app.transfer.import_records(me, records)
        assert report.added == 0
        assert "erased" in report.refused[0][1]

    play(scenario)
