from __future__ import annotations

import pytest

from perdure.app import App
from perdure.domain.access import Caller
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.retrieval import Answer, Filter, Query
from tests.services.conftest import Play


async def ask(app: App, me: Caller, text: str, **more: object) -> Answer:
    return await app.retrieval.search(Query(text=text, filter=Filter(spaces=me.spaces), **more))  # type: ignore[arg-type]  # fields by name, typed in Query


async def tell(app: App, me: Caller, content: str, **more: object) -> str:
    draft = Draft(content=content, **{"kind": Kind.NOTE, **more})  # type: ignore[arg-type]  # fields by name, typed in Draft
    return (await app.memories.capture(me, draft)).id


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("用户身份验证失败", "身份验证"),
        ("修改API配置", "配置"),
        ("修改API配置", "API"),
        ("清理C盘", "盘"),
        ("今日は成語しりとりをした", "しりとり"),
        ("오늘 끝말잇기 게임을 했다", "끝말잇기"),
        ("fixed in src/auth.js today", "src/auth.js"),
        ("uses std::vector heavily", "std::vector"),
        ("the gen-itgc control", "gen-itgc"),
        ("40 GB/s link", "GB/s"),
        ("written in C++", "C++"),
        ("Müşteri notları", "musteri"),
        ("we decided on caching", "cached decisions"),
    ],
)
def test_ft1_every_script_and_symbol_is_found_by_keyword(play: Play, stored: str, query: str) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await tell(app, me, stored)
        await tell(app, me, "something else entirely")
        answer = await ask(app, me, query)
        assert [hit.memory.id for hit in answer.hits] == [item]
        assert "keyword" in answer.hits[0].why
        assert answer.hits[0].parts["relevance"] > 0

    play(scenario)


def test_ft8_a_slash_is_not_lost_between_index_and_query(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await tell(app, me, "40 GB/s link")
        assert (await ask(app, me, "GBs")).hits == ()

    play(scenario)


@pytest.mark.parametrize(
    "query",
    ['"', "'", "*", "(", ")", "^", "NEAR", "AND", "OR", "NOT", "-", "--", ":", "{", "", "x" * 8000, "🔥🔥", "\u0000",
     "tier1-test AND unicode", "don't use agents", "Downloads/transcripts", "a NEAR/3 b", 'title:"x"', "\ud800"],
)  # fmt: skip
def test_ft11_any_query_gives_a_result_and_never_an_error(play: Play, query: str) -> None:
    async def scenario(app: App, me: Caller) -> None:
        await tell(app, me, "plain words")
        assert (await ask(app, me, query)).hits == ()

    play(scenario)


def test_a_project_lifts_its_own_and_a_matching_file_lifts_more(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        other = await tell(app, me, "parser cache rule", project="other")
        mine = await tell(app, me, "parser cache rule", project="mine", agent="a")
        filed = await tell(app, me, "parser cache rule", project="mine", files=("src/parser.py",))
        answer, project = await app.retrieval.brief(me, "parser cache", project="mine", files=["parser.py"], limit=10)
        assert project is not None
        assert [hit.memory.id for hit in answer.hits] == [filed, mine, other]
        assert {"project", "file"} <= set(answer.hits[0].why)

    play(scenario)


def test_a_brief_of_a_project_shows_its_newest_though_no_word_matches(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        item = await tell(app, me, "chose HNSW", project="mine", kind=Kind.DECISION)
        answer, _ = await app.retrieval.brief(me, "zzz qqq", project="mine", files=[], limit=10)
        assert [hit.memory.id for hit in answer.hits] == [item]

    play(scenario)


def test_a_limit_is_kept_and_what_was_found_beyond_it_is_told(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for n in range(12):
            await tell(app, me, f"apple number {n}")
        answer = await ask(app, me, "apple", limit=3)
        assert (len(answer.hits), answer.found) == (3, 12)

    play(scenario)


def test_a_unique_identifier_outranks_common_words(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        for n in range(30):
            await tell(app, me, f"the error in the login flow appears again {n} error login")
        item = await tell(app, me, "ERR_7741 was a stale socket")
        assert (await ask(app, me, "login error ERR_7741")).hits[0].memory.id == item

    play(scenario)


def test_what_stands_beside_a_hit_in_its_session_is_lifted_and_other_sessions_are_not(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        texts = ("where do we deploy", "to the harbour cluster", "fine")
        ids = [await tell(app, me, text, session_id="one") for text in texts]
        await tell(app, me, "to the airport cluster", session_id="two")
        answer = await ask(app, me, "deploy where")
        assert answer.hits[0].memory.id == ids[0]
        assert {hit.memory.id for hit in answer.hits} == set(ids)
        assert [hit.why[0] for hit in answer.hits] == ["keyword", "session", "session"]

    play(scenario)


def test_a_neighbour_outside_the_filter_is_not_lifted_into_the_answer(play: Play) -> None:
    async def scenario(app: App, me: Caller) -> None:
        hit = await tell(app, me, "where do we deploy", session_id="one", project="p")
        await tell(app, me, "elsewhere", session_id="one", project="q")
        project = await app.scopes.require_project(me, "p")
        where = Filter(spaces=me.spaces, project_id=project.id)
        answer = await app.retrieval.search(Query(text="deploy", filter=where))
        assert [h.memory.id for h in answer.hits] == [hit]

    play(scenario)
