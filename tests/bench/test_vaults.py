from __future__ import annotations

import asyncio
from pathlib import Path

from perdure.bench.vaults import CountingVFS, fill, open_vault
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft
from perdure.domain.retrieval import Filter, Query


def test_a_filled_vault_is_searched_like_any_other(tmp_home: Path) -> None:
    async def body() -> None:
        done: list[int] = []
        async with open_vault(tmp_home) as bench:
            await fill(bench, (f"memory of {word}" for word in ("apples", "pears")), on_progress=done.append)
            answer = await bench.app.retrieval.search(Query(text="pears", filter=Filter(spaces=bench.owner.spaces)))
            assert [hit.memory.content for hit in answer.hits] == ["memory of pears"]
        assert sum(done) == 2

    asyncio.run(body())


def test_a_plain_vault_is_readable_on_the_disk_and_an_encrypted_one_is_not(tmp_home: Path) -> None:
    async def body(encrypted: bool) -> bytes:
        folder = tmp_home / str(encrypted)
        async with open_vault(folder, encrypted=encrypted) as bench:
            await fill(bench, ["xq7marker"], on_progress=lambda count: None)
        return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())

    assert b"xq7marker" in asyncio.run(body(encrypted=False))
    assert b"xq7marker" not in asyncio.run(body(encrypted=True))


def test_waits_for_the_disk_are_counted(tmp_home: Path) -> None:
    async def body() -> int:
        vfs = CountingVFS("perdure-test-counting")
        try:
            async with open_vault(tmp_home, vfs="perdure-test-counting") as bench:
                before = vfs.syncs
                for number in range(5):
                    await bench.app.memories.capture(bench.owner, Draft(content=f"note {number}", kind=Kind.NOTE))
                return vfs.syncs - before
        finally:
            vfs.unregister()

    assert asyncio.run(body()) >= 5
