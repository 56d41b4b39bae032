"""Vaults to measure: over temporary files, with the engine arguments that no setting reaches."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import apsw

from perdure.app import App
from perdure.bootstrap.build import build_app
from perdure.bootstrap.settings import read_launch
from perdure.domain.access import Caller
from perdure.domain.documents import analyse
from perdure.domain.kinds import Kind
from perdure.domain.memory import Draft, Privacy
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.ports.store import Session
from perdure.providers.stemming import english_stem
from perdure.services.memories.writing import Prepared, insert

FILL_BATCH = 500


@dataclass(frozen=True, slots=True)
class Bench:
    """An open vault under measurement."""

    app: App
    engine: SqliteEngine
    owner: Caller


@asynccontextmanager
async def open_vault(
    folder: Path, *, encrypted: bool = True, synchronous: str = "FULL", vfs: str | None = None
) -> AsyncIterator[Bench]:
    """A new vault in the folder, closed at the end; the caller erases the folder."""
    engine = SqliteEngine(folder / "vault.db", encrypted=encrypted, synchronous=synchronous, vfs=vfs)
    app = build_app(read_launch(home=folder, environ={}), engine)
    await asyncio.to_thread(engine.create, secrets.token_bytes(32))
    await app.scopes.prepare()
    try:
        yield Bench(app, engine, app.access.local_owner())
    finally:
        await asyncio.to_thread(engine.close)


async def fill(bench: Bench, texts: Iterable[str], *, on_progress: Callable[[int], None]) -> None:
    """Store the texts as notes, many to a commit: rows, versions and documents as a capture writes them."""
    stem = english_stem()
    remaining = iter(texts)
    while group := list(islice(remaining, FILL_BATCH)):
        prepared = [_prepared(text, stem) for text in group]

        def work(session: Session, ready: list[Prepared] = prepared) -> None:
            for one in ready:
                insert(session, bench.owner, one, stem=stem)

        await bench.engine.write(work)
        on_progress(len(group))


def _prepared(text: str, stem: Callable[[str], str]) -> Prepared:
    draft = Draft(content=text, kind=Kind.NOTE)
    return Prepared(
        draft=draft, privacy=Privacy.PRIVATE, fingerprint=secrets.token_hex(16), analysis=analyse(draft, None, stem=stem)
    )


class CountingVFS(apsw.VFS):
    """The file system as it is, with the calls that wait for the disk counted."""

    def __init__(self, name: str) -> None:
        self.syncs = 0
        super().__init__(name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _CountingFile(self, name, flags)


class _CountingFile(apsw.VFSFile):
    def __init__(self, vfs: CountingVFS, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._vfs = vfs
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:
        self._vfs.syncs += 1
        super().xSync(flags)
