"""Errors look the same everywhere: RFC 9457, one code each, no inner text; and odd bodies end no process."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from starlette.requests import Request

from perdure.errors import Conflict, Internal, InvalidInput, PerdureError
from perdure.surfaces.rest.problems import problem, respond
from tests.surfaces.rest.conftest import Play, Wire, problem_of
from tests.surfaces.rest.test_routes import NOWHERE

SECRET = "correct-horse-battery"


def _every_error(kind: type[PerdureError] = PerdureError) -> Iterator[type[PerdureError]]:
    if kind.__module__ == "perdure.errors":
        yield kind
    for child in kind.__subclasses__():
        yield from _every_error(child)


@pytest.mark.parametrize("kind", [*_every_error()], ids=lambda kind: str(kind.__name__))
def test_every_error_is_a_problem_with_its_own_status_and_code(kind: type[PerdureError]) -> None:
    response = respond(_request("/api/memories"), kind())
    document = json.loads(bytes(response.body))
    assert response.status_code == document["status"] == kind.status
    assert document["code"] == kind.code
    assert document["type"] == "about:blank"
    assert document["detail"] == kind().message
    assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("kind", [*_every_error()], ids=lambda kind: str(kind.__name__))
def test_on_a_door_every_error_is_also_what_an_mcp_client_reads(kind: type[PerdureError]) -> None:
    response = respond(_request("/mcp/cortexa"), kind())
    document = json.loads(bytes(response.body))
    assert response.headers["content-type"] == "application/json"
    assert (document["jsonrpc"], document["id"], document["error"]["message"]) == ("2.0", None, kind().message)
    assert document["error"]["data"] == {"code": kind.code}


def test_a_problem_names_the_argument_and_the_newest_version_where_they_are_known() -> None:
    assert problem(InvalidInput("tags: …", argument="tags"))["argument"] == "tags"
    assert problem(Conflict("…", version=3))["version"] == 3
    assert problem(Internal("…", id="abc"))["log_id"] == "abc"
    assert problem(InvalidInput("…", status="x", detail="y", code="z"))["code"] == "invalid_input"


def test_a_bug_is_told_by_its_log_entry_and_quotes_nothing(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(wire: Wire) -> None:
        async def broken(*_: object, **__: object) -> None:
            raise ZeroDivisionError(SECRET)

        monkeypatch.setattr(type(wire.world.app.memories), "get", broken)
        document = await wire.refused("GET", "/api/memories/x", status=500, code="internal")
        assert SECRET not in json.dumps(document)
        assert document["log_id"] in caplog.text
        assert "ZeroDivisionError" in caplog.text
        assert SECRET not in caplog.text
        assert await wire.capture("still there")

    with caplog.at_level(logging.ERROR):
        play(scenario)


def test_a_failure_without_a_name_is_told_by_its_log_entry_on_every_road(
    play: Play, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(wire: Wire) -> None:
        async def broken(*_: object, **__: object) -> None:
            raise Internal from ZeroDivisionError(SECRET)

        monkeypatch.setattr(type(wire.world.app.memories), "get", broken)
        answers = [
            await wire.refused("GET", "/api/memories/x", status=500, code="internal"),
            await wire.refused("POST", "/api/tools/cortexa_get_item", {"item_id": NOWHERE}, status=500, code="internal"),
        ]
        for document in answers:
            assert document["log_id"] in document["detail"]
            assert document["log_id"] in caplog.text
        assert caplog.text.count(": ZeroDivisionError\n") == len(answers)
        assert SECRET not in caplog.text

    with caplog.at_level(logging.ERROR):
        play(scenario)


NOT_JSON = {
    "nothing of JSON": b"{content:",
    "a lone surrogate": b'{"content": "\\ud800"}',
    "a raw NUL": b'{"content": "\x00"}',
    "bytes that are no text": b'{"content": "\xff"}',
    "deep nesting": b"[" * 100_000 + b"]" * 100_000,
    "NaN": b'{"limit": NaN}',
    "half a document": b'{"content": "abc',
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_ft11_a_body_that_is_no_json_is_named_and_the_process_lives(play: Play, body: bytes) -> None:
    async def scenario(wire: Wire) -> None:
        for path in ("/api/memories", "/api/tools/cortexa_capture"):
            problem_of(await wire.client.post(path, content=body), 400, "invalid_input")
        for headers in ({"mcp-protocol-version": "2026-07-28"}, {"mcp-protocol-version": "2025-11-25"}, {}):
            response = await wire.client.post("/mcp", content=body, headers={**headers, "content-type": "application/json"})
            problem_of(response, 400, "invalid_input")
            assert response.json()["error"]["code"] == -32700
        assert await wire.capture("still there")

    play(scenario)


@pytest.mark.parametrize(
    "query", ['"', "'", "*", "(", "NEAR", "AND", "--", ":", "{", "", "x" * 8000, "🔥🔥", "\u0000", "a\u0000b"]
)
def test_ft11_any_text_is_a_query(play: Play, query: str) -> None:
    async def scenario(wire: Wire) -> None:
        await wire.capture("a pelican")
        assert isinstance(await wire.found(query), list)

    play(scenario)


MISSHAPEN = [
    [], "text", 7, None, {"content": 7}, {"content": "x", "contents": "y"}, {"content": {"a": 1}},
    {"content": "x", "kind": "thing"},
]  # fmt: skip


@pytest.mark.parametrize("body", MISSHAPEN)
def test_a_body_of_the_wrong_shape_names_the_argument_and_quotes_nothing(play: Play, body: object) -> None:
    async def scenario(wire: Wire) -> None:
        response = await wire.client.post("/api/memories", content=json.dumps(body))
        assert problem_of(response, 422, "invalid_input")["argument"]

    play(scenario)


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "a/../../b", "..\\..\\victim"])
def test_pt3_a_project_name_is_never_a_path(play: Play, name: str) -> None:
    async def scenario(wire: Wire) -> None:
        body = {"content": "x", "project": name}
        assert (await wire.refused("POST", "/api/memories", body, status=422, code="invalid_input"))["argument"] == "project"
        for path in ("/api/memories", "/api/search"):
            query = {"query": "x"} if path == "/api/search" else {}
            response = await wire.client.get(path, params={"project": name, **query})
            assert response.status_code in (404, 422)

    play(scenario)


@pytest.mark.parametrize("path", ["../backup", "backup", "/tmp/../etc/x", "", "/tmp/a\u0000b", "~/backup"])
def test_pt4_copies_go_to_absolute_paths_without_a_way_upwards(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        for route, body in (
            ("backup", {"folder": path}),
            ("restore", {"folder": path}),
            ("export-sqlcipher", {"target": path, "passphrase": "p"}),
        ):
            await wire.refused("POST", f"/api/vault/{route}", body, status=422, code="invalid_input")

    play(scenario)


WAYS_OUT = [
    "/api/memories/..%2f..%2fetc%2fpasswd",
    "/api/tools/..%2f..",
    "/mcp/..%2f..",
    "/api/settings/..",
    "/%2e%2e/etc/passwd",
]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_pt1_no_address_leads_out_of_the_routes(play: Play, path: str) -> None:
    async def scenario(wire: Wire) -> None:
        assert (await wire.client.get(path)).status_code in (404, 405)

    play(scenario)


def _request(path: str) -> Request:
    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"", "scheme": "http"}
    return Request({**scope, "server": ("127.0.0.1", 3001)})
