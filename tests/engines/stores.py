"""A small vault for the engine's tests: two spaces, memories of any shape, a clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw

from perdure.domain.documents import Document
from perdure.domain.instants import instant_period
from perdure.domain.kinds import Kind
from perdure.domain.memory import Memory, MemoryVersion
from perdure.domain.retrieval import Filter
from perdure.domain.scopes import Project, Space, SpaceKind
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.ports.store import Session, Store
from perdure.ports.vault import VaultEngine

T = TypeVar("T")

KEY = bytes(range(32))
OTHER_KEY = bytes(range(1, 33))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINE = "space-mine"
THEIRS = "space-theirs"
NUMBERS = {MINE: 1, THEIRS: 2}
EVERYTHING = Filter(spaces=(MINE,))


class Engine(Store, VaultEngine, Protocol):
    """What every embedded engine is."""


OpenEngine = Callable[[Path], Engine]


def sqlite_engine(folder: Path) -> Engine:
    return SqliteEngine(folder / "vault.db", readers=2, clock=lambda: NOON)


ENGINES: dict[str, OpenEngine] = {"sqlite": sqlite_engine}
"""The engines that the suite runs over."""


@contextmanager
def opened(engine: Engine) -> Iterator[Engine]:
    """A new vault with two spaces, closed at the end."""
    engine.create(KEY)
    try:
        write(engine, _add_spaces)
        yield engine
    finally:
        engine.close()


def run(body: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(body)


def write(engine: Engine, work: Callable[[Session], T]) -> T:
    return asyncio.run(engine.write(work))


def read(engine: Engine, work: Callable[[Session], T]) -> T:
    return asyncio.run(engine.read(work))


def remember(session: Session, content: str, **values: Any) -> Memory:
    """A memory with its first version and its document; the words of the texts are their terms."""
    at = session.instant()
    space_id, kind = values.pop("space_id", MINE), values.pop("kind", Kind.NOTE)
    number = session.memories.next_number(space_id, values.get("project_id"), kind)
    memory = replace(
        Memory(
            id=session.new_id(),
            space_id=space_id,
            kind=kind,
            number=number,
            version=1,
            title="",
            content=content,
            revision=f"revision of {number}",
            recorded_at=at,
            updated_at=at,
            occurred=instant_period(at),
        ),
        **values,
    )
    session.memories.add(memory, version_of(memory))
    if memory.is_live:
        session.documents.put(document_of(memory))
    return memory


def version_of(memory: Memory) -> MemoryVersion:
    return MemoryVersion(
        memory_id=memory.id,
        version=memory.version,
        kind=memory.kind,
        title=memory.title,
        content=memory.content,
        tags=memory.tags,
        files=memory.files,
        project_id=memory.project_id,
        handoff=memory.handoff,
        revision=memory.revision,
        valid_from=memory.updated_at,
    )


def document_of(memory: Memory) -> Document:
    return Document(
        memory_id=memory.id,
        space_id=memory.space_id,
        space_number=NUMBERS[memory.space_id],
        project_id=memory.project_id,
        kind=memory.kind.value,
        title=memory.title,
        body=memory.content,
        labels=" ".join(memory.tags),
    )


def project(session: Session, name: str, **values: Any) -> Project:
    at = session.instant()
    made = Project(id=session.new_id(), space_id=MINE, slug=name.lower(), name=name, folder=None, created_at=at)
    made = replace(made, **values)
    session.projects.add(made)
    return made


def found(session: Session, text: str, where: Filter = EVERYTHING) -> list[str]:
    """The ids that a search for these terms answers, best first."""
    return [candidate.memory_id for candidate in session.documents.search(text.split(), where, 100)]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def again(engine: Engine, key: bytes = KEY) -> SqliteEngine:
    """Another engine over the same file, opened."""
    other = SqliteEngine(engine.path)
    other.open(key)
    return other


def count(engine: Engine) -> int:
    return read(engine, lambda s: s.memories.count(EVERYTHING))


def fail(*_: object, **__: object) -> None:
    raise apsw.CantOpenError("no")


def _add_spaces(session: Session) -> None:
    for space_id, number in NUMBERS.items():
        session.spaces.add(
            Space(
                id=space_id,
                kind=SpaceKind.PERSONAL,
                name=space_id,
                owner_id="owner",
                number=number,
                created_at=session.instant(),
            )
        )
