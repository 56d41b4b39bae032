"""cortexa_get_item, cortexa_confidence_history, cortexa_review: one memory, whole and judged."""

from __future__ import annotations

import json

import pytest
from mcp import Client

from tests.surfaces.conftest import Converse
from tests.surfaces.transports import World, call, fail, texts

MISSING = "01a22edb-fb6d-7641-82d8-d85990a1fb18"
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx7Gq8Zt9\n" * 20 + "-----END RSA PRIVATE KEY-----"


async def capture(client: Client, content: str, **arguments: object) -> str:
    result = await call(client, "cortexa_capture", content=content, **{"thought_type": "note", **arguments})
    item_id: str = result.structured_content["id"]
    return item_id


def test_an_item_is_told_whole_as_json_and_an_unknown_one_is_missing(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        item_id = await capture(client, "The plan.", project="Cortexa")
        result = await call(client, "cortexa_get_item", item_id=item_id)
        assert json.loads(texts(result)[0]) == result.structured_content
        assert {"content", "summary", "thesis", "tags", "metadata", "confidence"} <= set(result.structured_content)
        assert (await fail(client, "cortexa_get_item", item_id=MISSING))["code"] == "item_missing"

    connect(body)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("x" * 800, id="hc1 beyond 200 characters"),
        pytest.param("x" * 2_100 + "END", id="dl13 beyond 2,000 characters"),
        pytest.param("word " * 1_868 + "e", id="hc4 an episode of 9,341 characters"),
        pytest.param("line\r\nwith\ttabs \n\n and trailing blanks  \n", id="white space"),
        pytest.param("\u202eright to left\u202c \x00\x1b[31m \u200b\ufeff \U000e0041 \\u202e \\\\", id="hidden characters"),
        pytest.param("用户身份验证失败 🔥 e\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467", id="scripts and emoji"),
    ],
)
def test_hc1_hc4_dl13_content_comes_back_to_the_character(connect: Converse, content: str) -> None:
    async def body(client: Client, world: World) -> None:
        result = await call(client, "cortexa_get_item", item_id=await capture(client, content))
        assert result.structured_content["content"] == content
        assert json.loads(texts(result)[0])["content"] == content
        assert not set(texts(result)[0]) & set("\u202e\u202c\x00\x1b\u200b\ufeff\U000e0041")

    connect(body)


LONG = "".join(f"Line {number} of a long document.\n" for number in range(100_000))


def test_dl3_an_item_of_three_megabytes_comes_back_whole(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        result = await call(client, "cortexa_get_item", item_id=await capture(client, LONG))
        assert result.structured_content["content"] == LONG

    converse(body)


def test_beginning_middle_and_end_of_a_long_item_come_in_slices(connect: Converse) -> None:
    """The SDK's client takes no server-sent event beyond 1 MiB, so over such a stream a long item is read in slices."""

    async def body(client: Client, world: World) -> None:
        content = LONG[:300_000]
        item_id = await capture(client, content)
        for offset in (0, 150_000, 299_000):
            part = (await call(client, "cortexa_get_item", item_id=item_id, offset=offset, max_chars=1_000)).structured_content
            assert part["content"] == content[offset : offset + 1_000]
            assert part["content_chars"] == 300_000

    connect(body)


def test_slices_of_an_item_make_the_whole_and_say_what_is_left(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        content = "".join(chr(0x4E00 + n) for n in range(1_000))
        item_id, offset, parts = await capture(client, content), 0, []
        while offset is not None:
            part = (await call(client, "cortexa_get_item", item_id=item_id, max_chars=300, offset=offset)).structured_content
            assert (part["content_chars"], part["offset"]) == (1_000, offset)
            parts.append(part["content"])
            offset = part["next_offset"]
        assert [len(part) for part in parts] == [300, 300, 300, 100]
        assert "".join(parts) == content
        beyond = (await call(client, "cortexa_get_item", item_id=item_id, offset=5_000)).structured_content
        assert (beyond["content"], beyond["next_offset"]) == ("", None)
        told = await fail(client, "cortexa_get_item", item_id=item_id, max_chars=0)
        assert told["message"] == "max_chars: must be a whole number (at least 1), got the number 0"

    converse(body)


def test_se3_a_secret_stored_before_masking_is_masked_wherever_it_is_read(
    connect: Converse, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(client: Client, world: World) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("perdure.services.memories.checking.redact", lambda text: (text, ()))
            item_id = await capture(client, f"deploy with {PEM}", channel="ops", tags=["ghp_" + "a1B2" * 9])
        for name, arguments in (
            ("cortexa_get_item", {"item_id": item_id}),
            ("cortexa_search", {"query": "deploy"}),
            ("cortexa_recent", {}),
            ("cortexa_context", {"context": "deploy"}),
            ("cortexa_feed", {"channel": "ops"}),
        ):
            result = await call(client, name, **arguments)
            told = "\n".join(texts(result)) + json.dumps(result.structured_content)
            assert "[redacted:private-key]" in told, name
            assert "MIIEow" not in told, name
            assert "ghp_" not in told, name

    connect(body)


def test_the_confidence_history_of_an_item_is_a_json_array(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        item_id = await capture(client, "sure", confidence="high")
        result = await call(client, "cortexa_confidence_history", item_id=item_id)
        (change,) = json.loads(texts(result)[0])
        assert (change["old_score"], change["new_score"], change["reason"]) == (None, 0.9, "initial")
        assert set(change) == {"old_score", "new_score", "reason", "source", "created_at"}
        assert result.structured_content == {"history": [change]}
        assert (await fail(client, "cortexa_confidence_history", item_id=MISSING))["code"] == "item_missing"

    connect(body)


def test_sr4_a_superseded_item_is_found_no_more_and_still_read_by_id(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        old = await capture(client, "The user prefers Python")
        new = await capture(client, "The user prefers JavaScript")
        result = await call(client, "cortexa_review", item_id=old, state="superseded", superseded_by=new, note="changed")
        assert texts(result) == [f"{old} is now superseded by {new}."]
        found = (await call(client, "cortexa_search", query="prefers Python")).structured_content["results"]
        assert [hit["id"] for hit in found] == [new]
        assert old not in json.dumps((await call(client, "cortexa_context", context="prefers Python")).structured_content)
        assert old not in json.dumps((await call(client, "cortexa_recent")).structured_content)
        kept = (await call(client, "cortexa_get_item", item_id=old)).structured_content
        assert (kept["review"], kept["superseded_by"], kept["content"]) == ("superseded", new, "The user prefers Python")

    connect(body)


def test_a_review_that_cannot_be_is_refused(connect: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        item_id = await capture(client, "x")
        assert (await fail(client, "cortexa_review", item_id=item_id, state="superseded"))["code"] == "invalid_input"
        assert (await fail(client, "cortexa_review", item_id=item_id, state="great"))["message"].startswith(
            "state: must be one of captured, reviewed, disputed, superseded"
        )
        assert (await fail(client, "cortexa_review", item_id=MISSING, state="reviewed"))["code"] == "item_missing"

    connect(body)


def test_sr2_an_archived_item_is_found_no_more(converse: Converse) -> None:
    async def body(client: Client, world: World) -> None:
        item_id = await capture(client, "ephemeral thing")
        caller = world.app.access.local_owner()
        await world.app.memories.archive(caller, item_id)
        assert (await call(client, "cortexa_search", query="ephemeral")).structured_content["results"] == []
        await world.app.memories.restore(caller, item_id)
        assert len((await call(client, "cortexa_search", query="ephemeral")).structured_content["results"]) == 1

    converse(body)
