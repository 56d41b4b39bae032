"""cortexa_ingest and cortexa_capture: the exact answer, what is kept, what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from mcp import Client

from perdure.domain.access import TokenKind
from perdure.domain.kinds import THOUGHT_TYPES
from tests.surfaces.conftest import Converse
from tests.surfaces.transports import World, call, fail, texts

EXACT = re.compile(r"Captured\. Item id: [0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
HANDOFF: dict[str, Any] = {
    "completed": ["Implemented the parser"],
    "verification": [
        {"check": "Parser tests", "status": "failed", "details": "One test failed because a fixture is missing"},
        {"check": "Lint", "status": "not_run"},
    ],
    "blockers": ["Missing fixture"],
    "next_action": "Restore the fixture and rerun parser tests",
}
SEED_HANDOFF: dict[str, Any] = {
    "content": "Parser implementation is complete; one fixture still needs restoration.",
    "thought_type": "handoff",
    "project": "Example project",
    "agent": "coding-agent",
    "session_id": "unique-session-id",
    "handoff": HANDOFF,
}


async def item(client: Client, item_id: str, **arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await call(client, "cortexa_get_item", item_id=item_id, **arguments)).structured_content
    return found


def test_ingest_answers_exactly_the_sentence_of_the_contract(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        result = await call(client, "cortexa_ingest", content="/idea: Use HNSW for semantic search")
        assert EXACT.fullmatch(texts(result)[0])
        assert len(texts(result)) == 1
        told = result.structured_content
        assert told == {
            "id": texts(result)[0].removeprefix("Captured. Item id: "),
            "existing": False,
            "redacted": [],
            "notes": [],
        }
        kept = await item(client, told["id"])
        assert (kept["content"], kept["tags"], kept["thought_type"]) == ("Use HNSW for semantic search", ["idea"], "note")
        assert (await fail(client, "cortexa_ingest", content=" \n"))["code"] == "invalid_input"

    connect(body)


def test_capture_keeps_every_argument(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        arguments = {
            "content": "Switched from brute-force cosine to HNSW index for O(log N) search",
            "thought_type": "decision",
            "agent": "claude-code",
            "project": "Cortexa",
            "file_context": "src/index.py, ./src\\search.py",
            "language": "python",
            "session_id": "s-1",
            "confidence": "high",
            "tags": ["performance", "hnsw"],
            "channel": "team",
            "privacy": "team",
            "occurred_at": "2026-08",
            "expires": "2999-01-01",
        }
        result = await call(client, "cortexa_capture", **arguments)
        assert EXACT.fullmatch(texts(result)[0])
        kept = await item(client, result.structured_content["id"])
        about = kept["metadata"]
        assert (kept["content"], kept["thought_type"], kept["confidence"]) == (arguments["content"], "decision", 0.9)
        assert kept["tags"] == ["performance", "hnsw"]
        assert about["files"] == ["src/index.py", "src/search.py"]
        assert (about["agent"], about["project"], about["language"]) == ("claude-code", "Cortexa", "python")
        assert (about["session_id"], about["channel"], about["privacy"]) == ("s-1", "team", "team")
        assert (about["occurred_at"], about["expires_at"]) == ("2026-08", "2999-01-02T00:00:00.000000Z")
        assert about["client"] == "agent", "the verified client is the token's name, whatever the agent claims"
        refused = await fail(client, "cortexa_capture", content="x", thought_type="idea")
        assert refused["message"].startswith("thought_type: must be one of decision, discovery, architecture")

    connect(body, kind=TokenKind.INTEGRATION)


@pytest.mark.parametrize(("word", "score"), [("high", 0.9), ("medium", 0.7), ("low", 0.5), (None, 0.7)])
def test_a_confidence_in_words_is_kept_as_its_number(converse: Converse, word: str | None, score: float) -> None:
    async def body(client: Client, world: World) -> None:
        captured = await call(client, "cortexa_capture", content="x", thought_type="note", confidence=word)
        assert (await item(client, captured.structured_content["id"]))["confidence"] == score

    converse(body)


def test_every_thought_type_is_captured_and_shown_as_it_was_said(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        for thought_type in THOUGHT_TYPES:
            rest = SEED_HANDOFF if thought_type == "handoff" else {"content": "x"}
            captured = await call(client, "cortexa_capture", **{**rest, "thought_type": thought_type})
            assert (await item(client, captured.structured_content["id"]))["thought_type"] == thought_type

    converse(body)


def test_a_handoff_comes_back_as_it_was_given(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        captured = await call(client, "cortexa_capture", **SEED_HANDOFF)
        kept = await item(client, captured.structured_content["id"])
        assert kept["handoff"] == HANDOFF
        found = (await call(client, "cortexa_search", query="restore fixture")).structured_content["results"]
        assert found[0]["excerpt"].startswith("Next action: Restore the fixture and rerun parser tests")

    connect(body)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"project": None}, "project: is required when thought_type is handoff"),
        ({"session_id": " "}, "session_id: is required when thought_type is handoff"),
        ({"handoff": None}, "handoff: is required when thought_type is handoff"),
        ({"handoff": None, "session_id": None}, "handoff, session_id: are required when thought_type is handoff"),
        ({"thought_type": "note"}, "handoff: goes with thought_type handoff only"),
        ({"handoff": {**HANDOFF, "next_action": "  "}}, "handoff.next_action: must be text that is not blank"),
        ({"handoff": {**HANDOFF, "mood": "good"}}, "handoff: unknown field 'mood'"),
        ({"handoff": {**HANDOFF, "blockers": ["b"] * 13}}, "handoff.blockers: may have 12 entries, has 13"),
        ({"handoff": {**HANDOFF, "completed": ["c" * 501]}}, "handoff.completed[0]: may have 500 characters, has 501"),
        (
            {"handoff": {**HANDOFF, "verification": [{"check": "c", "status": "skipped"}]}},
            "handoff.verification[0].status: must be one of passed, failed, not_run",
        ),
    ],
)
def test_a_handoff_that_is_none_is_refused_with_the_field_named(converse: Converse, change: dict[str, object], told: str) -> None:
    async def body(client: Client, world: World) -> None:
        refused = await fail(client, "cortexa_capture", **{**SEED_HANDOFF, **change})
        assert refused["code"] == "invalid_input"
        assert refused["message"].startswith(told)

    converse(body)


def test_se1_a_secret_is_masked_and_the_second_block_says_so(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        result = await call(client, "cortexa_ingest", content="the password is hunter2hunter2")
        assert EXACT.fullmatch(texts(result)[0])
        assert texts(result)[1:] == ["Secrets were masked before storing: password."]
        assert result.structured_content["redacted"] == ["password"]
        assert "hunter2" not in (await item(client, result.structured_content["id"]))["content"]

    connect(body)


def test_du5_the_same_capture_again_answers_the_first_id_and_says_so(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        first = await call(client, "cortexa_capture", content="same", thought_type="note")
        second = await call(client, "cortexa_capture", content="same", thought_type="note")
        assert texts(second) == [texts(first)[0], "The same capture was stored a moment ago; this is its id."]
        assert second.structured_content["existing"] is True

    connect(body)


def test_an_unknown_template_stays_text_and_the_second_block_says_so(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        result = await call(client, "cortexa_ingest", content="/fly: to the moon")
        assert (await item(client, result.structured_content["id"]))["content"] == "/fly: to the moon"
        assert texts(result)[1].startswith("/fly: is no template")

    converse(body)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("2025-01-01", "2025-01-01"),
        ("2025-01-01T00:00:00", "2025-01-01T00:00:00.000000Z"),
        ("2025-01-01T00:00:00Z", "2025-01-01T00:00:00.000000Z"),
        ("2025-01-01T00:00:00+09:00", "2024-12-31T15:00:00.000000Z"),
    ],
)
def test_tz3_times_of_every_form_live_in_one_vault(converse: Converse, text: str, start: str) -> None:
    async def body(client: Client, world: World) -> None:
        captured = await call(client, "cortexa_ingest", content="x", occurred_at=text)
        assert (await item(client, captured.structured_content["id"]))["metadata"]["occurred_at"] == start
        told = await fail(client, "cortexa_ingest", content="x", occurred_at="yesterday")
        assert told["message"].startswith("occurred_at: must be an RFC 3339 time")

    converse(body)


def test_tz4_every_time_in_an_answer_has_its_offset(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        captured = await call(client, "cortexa_ingest", content="x")
        about = (await item(client, captured.structured_content["id"]))["metadata"]
        for name in ("recorded_at", "updated_at", "occurred_at"):
            moment = datetime.fromisoformat(about[name])
            assert moment.tzinfo is not None
            assert moment.utcoffset() == UTC.utcoffset(None)

    converse(body)
