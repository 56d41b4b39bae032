from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.handoff import Handoff
from perdure.domain.instants import parse_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import Changes, Draft, ReviewState
from perdure.domain.records import Job, JobState
from perdure.domain.retrieval import Filter, Query
from perdure.errors import Conflict, InvalidInput, ItemMissing
from tests.services.conftest import Play


async def found(app: App, me: Caller, text: str) -> set[str]:
    answer = await app.retrieval.search(Query(text=text, filter=Filter(spaces=me.spaces)))
    return {hit.memory.id for hit in answer.hits}


def note(content: str, **more: object) -> Draft:
    return Draft(content=content, **{"kind": Kind.NOTE, **more})  # type: ignore[arg-type]  # fields by name, typed in Draft


def test_a_capture_comes_back_to_the_byte_with_its_labels(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        text = "  Zeile eins\r\n\tzwei 🔥 \u202e \n\n"
        captured = await app.memories.capture(me, note(text, project="Parser", tags=("a", "b", "a"), agent="cursor"))
        memory = await app.memories.get(me, captured.id)
        assert memory.content == text
        assert (memory.project_name, memory.tags, memory.agent) == ("Parser", ("a", "b"), "cursor")
        assert (memory.client, memory.source) == ("claude-code", "claude")

    play(scenario)


def test_dl2_the_same_capture_twice_answers_the_first_id_and_keeps_one_row(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        first = await app.memories.capture(me, note("the build runs on port 8090"))
        again = await app.memories.capture(me, note("the build runs on port 8090"))
        assert (again.id, again.existing) == (first.id, True)
        assert await app.memories.count(Filter(spaces=me.spaces)) == 1
        assert (await app.memories.get(me, first.id)).reinforcements == 2

    play(scenario)


def test_du5_racing_identical_captures_end_as_one_memory(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        answers = await asyncio.gather(*(app.memories.capture(me, note("fired twice by a hook")) for _ in range(40)))
        assert len({answer.id for answer in answers}) == 1
        assert sum(not answer.existing for answer in answers) == 1

    play(scenario)


def test_a_capture_that_differs_in_kind_project_or_session_is_another_memory(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        drafts = [note("same words"), note("same words", project="p"), note("same words", session_id="s"),
                  note("same words", kind=Kind.TODO), note("same words", channel="c")]  # fmt: skip
        ids = {(await app.memories.capture(me, draft)).id for draft in drafts}
        assert len(ids) == len(drafts)

    play(scenario)


def test_se1_secrets_are_gone_before_anything_is_stored(play: Play) -> None:
    key = "sk-" + "a1B2c3D4" * 6

    async def scenario(app: App, me: Caller) -> None:
        captured = await app.memories.capture(me, note(f"Remember my key is {key}", tags=(key,), title=f"key {key}"))
        memory = await app.memories.get(me, captured.id)
        assert captured.redacted
        assert key not in f"{memory.content} {memory.title} {memory.tags}"
        assert await found(app, me, key) == set()

    play(scenario)


def test_se1_secrets_are_refused_where_the_setting_says_so(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.settings.put("secrets", "refuse")
        with pytest.raises(InvalidInput, match="secret"):
            await app.memories.capture(me, note("export TOKEN=" + "ghp_" + "a1B2" * 9))
        assert await app.memories.count(Filter(spaces=me.spaces)) == 0

    play(scenario)


@pytest.mark.parametrize(
    ("draft", "argument"),
    [
        (note("   \n"), "content"),
        (note("x", title="t" * 301), "title"),
        (note("x", tags=("t" * 101,)), "tags"),
        (note("x", agent="a" * 201), "agent"),
        (note("half \ud800 pair"), "content"),
        (note("x", kind=Kind.HANDOFF), "handoff"),
        (note("x", kind=Kind.HANDOFF, handoff=Handoff(next_action="go")), "project"),
        (note("x", handoff=Handoff(next_action="go")), "handoff"),
        (note("x", project="../../victim"), "project"),
        (note("x", expires="2001-01-01"), "expires"),
    ],
)
def test_a_draft_that_may_not_be_stored_is_refused_by_name(play: Play, draft: Draft, argument: str) -> None:
    async def scenario(app: App, me: Caller) -> None:
        with pytest.raises(InvalidInput) as refusal:
            await app.memories.capture(me, draft)
        assert refusal.value.details["argument"] == argument
        assert await app.memories.count(Filter(spaces=me.spaces)) == 0

    play(scenario)


def test_dl3_three_megabytes_come_back_whole_and_are_found_by_first_middle_and_last_words(play: Play) -> None:
    text = "alphaword " + "filler text " * 130_000 + "middleword " + "filler text " * 130_000 + "omegaword"

    async def scenario(app: App, me: Caller) -> None:
        captured = await app.memories.capture(me, note(text))
        assert (await app.memories.get(me, captured.id)).content == text
        for word in ("alphaword", "middleword", "omegaword"):
            assert await found(app, me, word) == {captured.id}

    play(scenario)


def test_dl4_a_memory_is_found_after_every_edit(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("the zebra runs"))).id
        await app.memories.update(me, item, changes=Changes(content="the zebra runs\nand a giraffe"))
        assert await found(app, me, "zebra") == await found(app, me, "giraffe") == {item}
        await app.memories.update(me, item, changes=Changes(tags=("savanna",)))
        assert await found(app, me, "zebra") == await found(app, me, "savanna") == {item}
        assert [v.version for v in await app.memories.versions(me, item)] == [1, 2, 3]

    play(scenario)


def test_sr6_an_update_leaves_no_trace_of_the_old_words_in_search(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("prefers python"))).id
        await app.memories.update(me, item, changes=Changes(content="prefers javascript"))
        assert await found(app, me, "python") == set()
        assert (await app.memories.versions(me, item))[0].content == "prefers python"

    play(scenario)


def test_an_update_of_a_version_that_is_no_longer_the_newest_names_the_newest(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("one"))).id
        await app.memories.update(me, item, changes=Changes(content="two", expected_version=1))
        with pytest.raises(Conflict, match="version 2"):
            await app.memories.update(me, item, changes=Changes(content="three", expected_version=1))

    play(scenario)


def test_sr2_an_archived_memory_is_found_no_more_until_it_is_restored(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("ephemeral okapi"))).id
        await app.memories.archive(me, item)
        assert await found(app, me, "okapi") == set()
        assert await app.memories.list(Filter(spaces=me.spaces), limit=10) == []
        await app.memories.restore(me, item)
        assert await found(app, me, "okapi") == {item}

    play(scenario)


def test_sr4_a_superseded_memory_leaves_search_and_keeps_its_history(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        old = (await app.memories.capture(me, note("prefers Python"))).id
        new = (await app.memories.capture(me, note("prefers JavaScript"))).id
        await app.memories.review(me, old, state=ReviewState.SUPERSEDED, superseded_by=new)
        assert await found(app, me, "Python") == set()
        assert await found(app, me, "prefers") == {new}
        assert (await app.memories.get(me, old)).superseded_by == new
        assert [link.kind for link in await app.memories.links(me, new)] == ["supersedes"]
        await app.memories.review(me, old, state=ReviewState.REVIEWED)
        assert await found(app, me, "Python") == {old}
        assert await app.memories.links(me, new) == []

    play(scenario)


def test_se1_a_review_note_holds_no_secret_either(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("a"))).id
        key = "ghp_" + "a1B2" * 9
        memory = await app.memories.review(me, item, state=ReviewState.DISPUTED, note=f"see {key}")
        assert key not in (memory.review_note or "")
        with pytest.raises(InvalidInput, match="note"):
            await app.memories.review(me, item, state=ReviewState.DISPUTED, note="x" * 2001)

    play(scenario)


def test_memories_cannot_supersede_each_other_in_a_circle(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        a, b = [(await app.memories.capture(me, note(text))).id for text in ("a one", "b two")]
        await app.memories.review(me, a, state=ReviewState.SUPERSEDED, superseded_by=b)
        for successor in (a, b, None):
            with pytest.raises(InvalidInput, match="superseded_by"):
                await app.memories.review(me, b, state=ReviewState.SUPERSEDED, superseded_by=successor)

    play(scenario)


def test_dl1_a_bulk_delete_touches_what_it_names_and_an_empty_one_is_refused(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.memories.capture(me, note("a", agent="alice"))
        await app.memories.capture(me, note("b", agent="bob"))
        assert await app.memories.archive_many(Filter(spaces=me.spaces, agent="alice")) == 1
        assert [m.agent for m in await app.memories.list(Filter(spaces=me.spaces), limit=10)] == ["bob"]
        with pytest.raises(InvalidInput, match="at least one condition"):
            await app.memories.archive_many(Filter(spaces=me.spaces))

    play(scenario)


def test_a_purge_asks_for_the_id_and_leaves_nothing(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("to be erased"))).id
        with pytest.raises(InvalidInput, match="confirm"):
            await app.memories.purge(me, item, confirm="yes")
        await app.memories.purge(me, item, confirm=item)
        with pytest.raises(ItemMissing):
            await app.memories.get(me, item)
        assert await found(app, me, "erased") == set()

    play(scenario)


def test_an_expired_memory_is_archived_with_that_reason(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("only this week", expires="1h"))).id
        memory = await app.memories.get(me, item)
        assert memory.expires_at is not None
        job = Job(id="j", space_id=me.space_id, kind="expire", entity_id=item, state=JobState.RUNNING,
                  due_at=memory.expires_at, created_at=memory.recorded_at)  # fmt: skip
        await app.memories.expire(job)
        assert (await app.memories.get(me, item)).archived_at is None, "not yet due"
        assert memory.expires_at - memory.recorded_at == timedelta(hours=1)

    play(scenario)


def test_du7_names_that_slug_alike_are_two_projects(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.memories.capture(me, note("a", project="A/B test"))
        await app.memories.capture(me, note("b", project="a b test"))
        assert sorted(p.name for p in await app.scopes.projects(me)) == ["A/B test", "a b test"]
        assert len({p.slug for p in await app.scopes.projects(me)}) == 2

    play(scenario)


@pytest.mark.parametrize("name", ["00000000-0000-0000-0000-000000000001", "my-proj", "main", "_", "team_a", "プロジェクト"])
def test_ft10_a_project_of_any_name_is_found_and_searched_inside(play: Play, name: str) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.memories.capture(me, note("inside it", project=name))
        await app.memories.capture(me, note("outside it"))
        project = await app.scopes.require_project(me, name)
        answer = await app.retrieval.search(Query(text="it inside", filter=Filter(spaces=me.spaces, project_id=project.id)))
        assert [hit.memory.content for hit in answer.hits] == ["inside it"]

    play(scenario)


def test_sc4_a_file_of_the_same_name_in_another_project_does_not_cross_over(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for project in ("one", "two"):
            await app.memories.capture(me, note(f"auth bug of {project}", project=project, files=("middleware/auth.ts",)))
        one = await app.scopes.require_project(me, "one")
        where = Filter(spaces=me.spaces, project_id=one.id, files=("middleware/auth.ts",))
        answer = await app.retrieval.search(Query(text="auth bug", filter=where))
        assert [hit.memory.content for hit in answer.hits] == ["auth bug of one"]

    play(scenario)


def test_sc1_only_memories_with_every_named_tag_match(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for tags in (("a",), ("b",), ("a", "b")):
            await app.memories.capture(me, note(f"tagged {'+'.join(tags)}", tags=tags))
        both = await app.memories.list(Filter(spaces=me.spaces, tags=("a", "b")), limit=10)
        assert [m.tags for m in both] == [("a", "b")]

    play(scenario)


def test_another_space_sees_nothing_of_it(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = (await app.memories.capture(me, note("mine alone"))).id
        other = Caller(kind=me.kind, token_id="t", key="k", space_id="other", spaces=("other",), user_id="other")
        with pytest.raises(ItemMissing):
            await app.memories.get(other, item)
        assert await found(app, other, "mine alone") == set()

    play(scenario)


def test_the_feed_gives_every_entry_once_in_order_under_concurrent_writers(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        seen: list[str] = []

        async def write(writer: int) -> None:
            for n in range(15):
                await app.memories.capture(me, note(f"{writer}:{n}", channel="team", agent=f"w{writer}"))

        async def read(expected: int) -> None:
            cursor: datetime | None = None
            while len(seen) < expected:
                page = await app.memories.feed(me, "team", since=cursor, limit=7, exclude_agent="w0")
                seen.extend(m.content for m in page)
                cursor = page[-1].recorded_at if page else cursor

        await asyncio.wait_for(asyncio.gather(*(write(w) for w in range(4)), read(45)), 30)
        assert len(seen) == len(set(seen)) == 45
        for writer in range(1, 4):
            mine = [s for s in seen if s.startswith(f"{writer}:")]
            assert mine == [f"{writer}:{n}" for n in range(15)]

    play(scenario)


def test_tm4_what_happened_in_a_month_is_found_by_any_day_of_it(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await app.memories.capture(me, note("moved in August", occurred=parse_period("2026-08")))
        day = datetime(2026, 8, 15, tzinfo=UTC)
        where = Filter(spaces=me.spaces, occurred_from=day, occurred_to=day + timedelta(days=1))
        assert len(await app.memories.list(where, limit=10)) == 1
        late = Filter(spaces=me.spaces, occurred_from=datetime(2026, 9, 1, tzinfo=UTC))
        assert await app.memories.list(late, limit=10) == []

    play(scenario)


def test_tz3_times_with_and_without_offset_order_rightly_in_one_vault(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for raw in ("2025-01-01", "2025-01-01T00:00:00", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00+09:00"):
            await app.memories.capture(me, note(f"at {raw}", occurred=parse_period(raw)))
        before = Filter(spaces=me.spaces, occurred_to=datetime(2024, 12, 31, 16, tzinfo=UTC))
        assert [m.content for m in await app.memories.list(before, limit=10)] == ["at 2025-01-01T00:00:00+09:00"]

    play(scenario)


def test_an_ingest_prefix_chooses_the_kind_and_an_unknown_one_stays_text(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        known = await app.memories.ingest(me, note("/decision: use HNSW"))
        memory = await app.memories.get(me, known.id)
        assert (memory.kind, memory.content) == (Kind.DECISION, "use HNSW")
        unknown = await app.memories.ingest(me, note("/nonsense: stays"))
        assert (await app.memories.get(me, unknown.id)).content == "/nonsense: stays"
        assert any("nonsense" in remark for remark in unknown.notes)
        await app.settings.put("templates", '{"standup": {"kind": "note", "tags": ["standup"]}}')
        mine = await app.memories.ingest(me, note("/standup: all well"))
        assert (await app.memories.get(me, mine.id)).tags == ("standup",)

    play(scenario)


def test_integer_ids_count_per_project_and_kind_and_are_never_given_twice(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        first = (await app.memories.capture(me, note("one", project="p"))).id
        assert (await app.memories.get(me, first)).number == 1
        await app.memories.purge(me, first, confirm=first)
        second = (await app.memories.capture(me, note("two", project="p"))).id
        assert (await app.memories.get(me, second)).number == 2
        other = (await app.memories.capture(me, note("three", project="q"))).id
        assert (await app.memories.get(me, other)).number == 1

    play(scenario)


def test_dl8_work_in_one_project_leaves_another_as_it_was_to_the_byte(play: Play) -> None:
    async def of_project(app: App, me: Caller, name: str) -> list[dict[str, object]]:
        return [r async for r in app.transfer.export(me) if r.get("project_name") == name and r["type"] == "memory"]

    async def scenario(app: App, me: Caller) -> None:
        ids = {}
        for project in ("A", "B"):
            for number in range(3):
                draft = note(f"task {number}", kind=Kind.TODO, project=project)
                ids[project, number] = (await app.memories.capture(me, draft)).id
        before = await of_project(app, me, "B")
        await app.memories.update(me, ids["A", 0], changes=Changes(content="task 0, expanded"))
        await app.memories.archive(me, ids["A", 1])
        await app.memories.purge(me, ids["A", 2], confirm=ids["A", 2])
        assert len(before) == 3
        assert await of_project(app, me, "B") == before

    play(scenario)
