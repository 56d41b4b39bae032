"""Memories over REST: captured, found, changed, gone, and scoped as asked."""

from __future__ import annotations

import json

import pytest

from perdure.domain.access import TokenKind
from perdure.domain.kinds import Kind
from perdure.domain.memory import ReviewState
from tests.surfaces.rest.conftest import Play, Wire, problem_of


def test_a_capture_comes_back_with_everything_that_was_said(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        given = {
            "title": "Prices", "kind": "decision", "project": "shop", "agent": "ada", "session_id": "s1", "language": "python",
            "tags": ["a", "b"], "files": ["src/x.py"], "occurred_at": "2026-08", "channel": "team",
        }  # fmt: skip
        memory = await wire.call("GET", f"/api/memories/{await wire.capture('cents, not floats', confidence='high', **given)}")
        assert {name: memory[name] for name in given if name != "project"} == {n: v for n, v in given.items() if n != "project"}
        assert (memory["project_slug"], memory["confidence"], memory["content"]) == ("shop", 0.9, "cents, not floats")
        assert memory["recorded_at"].endswith("Z")

    play(scenario)


def test_a_handoff_needs_its_fields_and_comes_back_as_it_was(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        handoff = {"completed": ["a"], "verification": [{"check": "t", "status": "passed"}], "blockers": [], "next_action": "b"}
        fields = {"kind": "handoff", "project": "shop", "session_id": "s1"}
        memory = await wire.call("GET", f"/api/memories/{await wire.capture('stand', handoff=handoff, **fields)}")
        assert memory["handoff"] == handoff
        wrong = {"content": "stand", "handoff": {"next_action": ""}, **fields}
        problem = await wire.refused("POST", "/api/memories", wrong, status=422, code="invalid_input")
        assert problem["argument"] == "handoff.next_action"

    play(scenario)


def test_the_same_capture_within_a_minute_answers_the_first_id(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        first, second = [await wire.call("POST", "/api/memories", {"content": "once"}, status=201) for _ in range(2)]
        assert (first["existing"], second["existing"], first["id"]) == (False, True, second["id"])

    play(scenario)


def test_a_list_is_cut_and_counted_and_a_memory_alone_is_whole(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        ids = [await wire.capture(f"{n} " + "x" * 5000) for n in range(5)]
        page = await wire.call("GET", "/api/memories?limit=2&offset=1&max_chars=10")
        assert (page["total"], page["limit"], page["offset"]) == (5, 2, 1)
        assert [item["id"] for item in page["items"]] == [ids[3], ids[2]]
        assert [(len(item["content"]), item["content_chars"]) for item in page["items"]] == [(10, 5002)] * 2
        assert len((await wire.call("GET", f"/api/memories/{ids[0]}"))["content"]) == 5002

    play(scenario)


def test_sc1_all_tags_that_are_asked_for_must_be_there(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for tags in (["a"], ["b"]):
            await wire.capture(f"pelican {tags}", tags=tags)
        both = await wire.capture("pelican both", tags=["a", "b"])
        assert [m["id"] for m in (await wire.call("GET", "/api/memories?tag=a&tag=b"))["items"]] == [both]
        response = await wire.client.get("/api/search", params=[("query", "pelican"), ("tag", "a"), ("tag", "b")])
        assert [hit["memory"]["id"] for hit in response.json()["hits"]] == [both]

    play(scenario)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("kind=decision", 1), ("kind=decision&kind=debug", 2), ("agent=ada", 2), ("channel=team", 1), ("session_id=s1", 1),
        ("file=src/x.py", 1), ("project=shop", 2), ("from=2026-08-02", 2), ("to=2026-08-14", 1),
        ("from=2026-08-15&to=2026-08-15", 1), ("review=reviewed", 0), ("source=mcp", 3), ("agent=nobody", 0),
    ],
)  # fmt: skip
def test_each_filter_keeps_what_it_names(play: Play, query: str, expected: int) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("pelican one", kind="decision", agent="ada", project="shop", occurred_at="2026-08-15")
        await wire.capture("pelican two", kind="debug", agent="ada", project="shop", session_id="s1", files=["src/x.py"])
        await wire.capture("pelican three", channel="team", occurred_at="2026-08-01")
        assert (await wire.call("GET", f"/api/memories?{query}"))["total"] == expected
        assert len((await wire.call("GET", f"/api/search?query=pelican&{query}"))["hits"]) == expected

    play(scenario)


def test_a_search_says_why_each_hit_came_and_how_its_score_is_made(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("the backend listens on 8090")
        answer = await wire.call("GET", "/api/search?query=backend")
        (hit,) = answer["hits"]
        assert hit["memory"]["id"] == memory_id
        assert "keyword" in hit["why"]
        assert hit["parts"]["score"] == hit["score"] > 0
        assert answer["signals"] == ["embedding_unavailable"]

    play(scenario)


def test_sr2_an_archived_memory_is_found_nowhere_until_it_is_restored(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican")
        await wire.call("DELETE", f"/api/memories/{memory_id}")
        assert await wire.found("pelican") == []
        assert (await wire.call("GET", "/api/memories"))["total"] == 0
        assert (await wire.call("GET", "/api/memories?archived=true"))["total"] == 1
        await wire.call("POST", f"/api/memories/{memory_id}/restore")
        assert await wire.found("pelican") == [memory_id]

    play(scenario)


def test_sr3_a_bulk_archive_leaves_no_ghost_in_the_search(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for n in range(5):
            await wire.capture(f"pelican {n}", tags=["old"])
        assert await wire.call("POST", "/api/memories/archive", {"tag": ["old"]}) == {"archived": 5}
        assert await wire.found("pelican") == []

    play(scenario)


def test_dl1_a_bulk_archive_hits_what_matches_and_nothing_else(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        kept = [await wire.capture("pelican b", tags=["b"]), await wire.capture("pelican", project="other", tags=["b"])]
        await wire.capture("pelican a", tags=["a", "b"], project="shop")
        assert await wire.call("POST", "/api/memories/archive", {"tag": ["a"], "project": "shop"}) == {"archived": 1}
        assert sorted(await wire.found("pelican")) == sorted(kept)

    play(scenario)


@pytest.mark.parametrize("body", [{}, None, {"tag": []}, {"project": None}, {"tags": ["a"]}, {"kind": []}, {"agent": ""}])
def test_dl1_a_bulk_archive_that_names_nothing_is_refused(play: Play, body: object) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("a pelican", tags=["a"])
        await wire.refused("POST", "/api/memories/archive", body, status=422, code="invalid_input")
        assert (await wire.call("GET", "/api/memories"))["total"] == 1

    play(scenario)


def test_dl1_a_bulk_archive_of_an_unknown_project_is_refused_rather_than_widened(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("a pelican")
        await wire.refused("POST", "/api/memories/archive", {"project": "no"}, status=404, code="project_missing")
        assert (await wire.call("GET", "/api/memories"))["total"] == 1

    play(scenario)


def test_dl4_a_purge_needs_the_id_twice_and_leaves_nothing(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican")
        path = f"/api/memories/{memory_id}/purge"
        for body in ({}, {"confirm": ""}, {"confirm": "yes"}, {"confirm": memory_id[:-1]}):
            await wire.refused("POST", path, body, status=422, code="invalid_input")
        assert await wire.call("POST", path, {"confirm": memory_id}) == {"purged": memory_id}
        for address in (f"/api/memories/{memory_id}", f"/api/memories/{memory_id}/versions"):
            await wire.refused("GET", address, status=404, code="item_missing")
        assert await wire.found("pelican") == []
        assert (await wire.call("GET", "/api/memories?archived=true"))["total"] == 0

    play(scenario)


def test_sr4_a_superseded_memory_stays_in_the_history_only(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        old, new = await wire.capture("prefers Python"), await wire.capture("prefers JavaScript")
        body = {"state": "superseded", "superseded_by": new, "note": "changed"}
        reviewed = await wire.call("POST", f"/api/memories/{old}/review", body)
        assert (reviewed["review"], reviewed["superseded_by"], reviewed["review_note"]) == ("superseded", new, "changed")
        assert await wire.found("Python") == []
        assert old in [m["id"] for m in (await wire.call("GET", "/api/memories?archived=true"))["items"]]

    play(scenario)


def test_sr6_an_update_is_found_by_its_new_words_only_and_keeps_the_old_version(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        memory_id = await wire.capture("a pelican", tags=["bird"])
        changed = await wire.call("PATCH", f"/api/memories/{memory_id}", {"content": "a heron", "expected_version": 1})
        assert (changed["version"], changed["content"], changed["tags"]) == (2, "a heron", ["bird"])
        assert (await wire.found("pelican"), await wire.found("heron")) == ([], [memory_id])
        versions = (await wire.call("GET", f"/api/memories/{memory_id}/versions"))["items"]
        assert [(v["version"], v["content"]) for v in versions] == [(1, "a pelican"), (2, "a heron")]
        assert versions[0]["valid_to"] == versions[1]["valid_from"]
        problem = await wire.refused(
            "PATCH", f"/api/memories/{memory_id}", {"content": "x", "expected_version": 1}, status=409, code="conflict"
        )
        assert problem["version"] == 2

    play(scenario)


def test_an_integration_token_may_capture_find_and_change(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        async with wire.carrying(TokenKind.INTEGRATION) as client:
            created = await client.post("/api/memories", json={"content": "a pelican"})
            assert created.status_code == 201
            memory = (await client.get(f"/api/memories/{created.json()['id']}")).json()
            assert memory["client"] == "agent"
            assert (await client.delete(f"/api/memories/{memory['id']}")).status_code == 200

    play(scenario)


def test_projects_are_listed_with_their_counts(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        for n in range(2):
            await wire.capture(f"pelican {n}", project="The Shop")
        (project,) = (await wire.call("GET", "/api/projects"))["items"]
        assert (project["name"], project["slug"], project["memories"]) == ("The Shop", "the-shop", 2)

    play(scenario)


def test_se1_a_secret_is_replaced_and_the_answer_says_so(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        answer = await wire.call("POST", "/api/memories", {"content": "token ghp_" + "a1B2" * 9}, status=201)
        assert answer["redacted"]
        assert "ghp_" not in (await wire.call("GET", f"/api/memories/{answer['id']}"))["content"]

    play(scenario)


@pytest.mark.parametrize(
    ("name", "most", "value"),
    [("tag", 50, "a"), ("file", 100, "a"), ("kind", len(Kind), "note"), ("review", len(ReviewState), "captured")],
)
def test_a_filter_takes_so_many_values_and_no_more(play: Play, name: str, most: int, value: str) -> None:
    async def scenario(wire: Wire) -> None:
        def values(count: int) -> list[str]:
            return [value if name in ("kind", "review") else f"{value}{number}" for number in range(count)]

        assert await wire.call("POST", "/api/memories/archive", {name: values(most)}) == {"archived": 0}
        assert (await wire.client.get("/api/memories", params={name: values(most)})).status_code == 200
        assert (await wire.client.get("/api/search", params={"query": "x", name: values(most)})).status_code == 200
        for count in (most + 1, 2000):
            wrong = await wire.refused("POST", "/api/memories/archive", {name: values(count)}, status=422, code="invalid_input")
            assert wrong["argument"] == name
            assert f"up to {most} entries" in wrong["detail"]
        for path in ("/api/memories", "/api/search"):
            response = await wire.client.get(path, params={"query": "x", name: values(most + 1)})
            problem_of(response, 422, "invalid_input")

    play(scenario)


PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx7Gq8Zt9\n" * 9 + "-----END RSA PRIVATE KEY-----"


def test_se3_a_secret_that_was_stored_is_masked_on_every_road_but_an_export(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(wire: Wire) -> None:
        text = "deploy " + "x" * 30 + f" {PEM}"
        with monkeypatch.context() as patch:
            patch.setattr("perdure.services.memories.checking.redact", lambda text: (text, ()))
            memory_id = await wire.capture(
                text,
                title=PEM,
                tags=["ghp_" + "a1B2" * 9],
                project="shop",
                session_id="s",
                kind="handoff",
                handoff={"completed": [], "blockers": [PEM], "next_action": "go on"},
            )
        path = f"/api/memories/{memory_id}"
        for method, address, body in (
            ("GET", path, None),
            ("GET", f"{path}/versions", None),
            ("GET", "/api/memories", None),
            ("GET", "/api/memories?max_chars=80", None),
            ("GET", "/api/search?query=deploy&max_chars=80", None),
            ("PATCH", path, {"tags": ["b"]}),
            ("POST", f"{path}/review", {"state": "reviewed"}),
            ("DELETE", path, None),
            ("POST", f"{path}/restore", None),
        ):
            told = json.dumps(await wire.call(method, address, body))
            assert "[redacted:private-key]" in told, address
            assert "MIIEow" not in told, address
            assert "ghp_" not in told, address
        whole = await wire.call("GET", path)
        assert len(whole["content"]) == whole["content_chars"] < len(text)
        exported = (await wire.client.get("/api/export")).content
        assert exported.count(b"MIIEow") >= 50
        imported = await wire.client.post("/api/import", content=exported)
        assert (imported.json()["existing"], imported.json()["with_secrets"]) == (2, 1)

    play(scenario)


def test_the_length_of_a_long_text_is_told_where_it_is_cut(play: Play) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("word " * 3000)
        (item,) = (await wire.call("GET", "/api/memories?max_chars=10"))["items"]
        assert (item["content"], item["content_chars"]) == ("word word ", 15_000)

    play(scenario)
