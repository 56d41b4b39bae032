"""The graph over many vectors is a cache: it speeds answers up, and whatever happens to it, they stay right."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from perdure.domain.retrieval import Filter
from perdure.engines.sqlite import vector_builder, vector_graph_rows, vector_index
from perdure.engines.sqlite.vector_graph import Graph, format_name
from perdure.engines.sqlite.vector_graph_rows import Step
from perdure.engines.sqlite.vector_index import VectorIndex
from perdure.engines.sqlite.vector_rows import Shelf
from perdure.ports.store import Session
from tests.conftest import WaitUntil
from tests.engines.embeddings import MODEL, archive, assert_nearest, embed, execute, nearest, scattered, turned
from tests.engines.stores import EVERYTHING, KEY, MINE, Engine, read, remember, write

COUNT = 200
QUERIES = scattered(20, seed=7)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph from a hundred vectors on, and more of it soon."""
    monkeypatch.setattr(vector_index, "GRAPH_FROM", 100)
    monkeypatch.setattr(vector_index, "EXTEND_AT", 10)


def test_a_graph_is_made_and_answers_as_comparing_all_would(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine)
    index = graphed(engine, wait_until, COUNT)
    assert_right(engine, windows)
    assert index.graph is not None
    assert index.graph.last == max(row << 16 for (row,) in execute_in(engine, "SELECT row FROM vectors"))


def test_what_lies_beyond_the_graph_is_found_at_once_and_covered_later(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine)
    graphed(engine, wait_until, COUNT)
    windows |= fill(engine, 9, seed=2)
    assert_right(engine, windows)
    assert graphed(engine, wait_until, COUNT).graph is not None
    windows |= fill(engine, 11, seed=3)
    assert_right(engine, windows)
    graphed(engine, wait_until, COUNT + 20)
    assert_right(engine, windows)


def test_what_is_in_the_graph_but_gone_never_answers_and_a_worn_graph_is_made_anew(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine)
    graphed(engine, wait_until, COUNT)
    for memory_id in list(windows)[::5]:
        write(engine, partial(archive, memory_id=memory_id))
        del windows[memory_id]
        assert memory_id not in read(engine, lambda s: nearest(s, QUERIES[0], limit=COUNT))
    assert_right(engine, windows)
    for memory_id in list(windows)[: COUNT // 5]:
        write(engine, partial(archive, memory_id=memory_id))
        del windows[memory_id]
    assert_right(engine, windows)
    graphed(engine, wait_until, len(windows))
    assert_right(engine, windows)


def test_a_graph_that_another_thread_is_in_is_not_waited_for(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine)
    graph = graphed(engine, wait_until, COUNT).graph
    assert graph is not None
    with graph._lock:
        assert_right(engine, windows)


def test_a_broad_filter_is_answered_through_the_graph_and_a_narrow_one_beside_it(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine, session_id="broad")
    narrow = fill(engine, 3, seed=2, session_id="narrow")
    graphed(engine, wait_until, COUNT)
    assert_right(engine, windows, Filter(spaces=(MINE,), session_id="broad"))
    assert_right(engine, narrow, Filter(spaces=(MINE,), session_id="narrow"))


def test_a_kept_graph_is_taken_up_again_and_covers_what_came_after_it(
    engine: Engine, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = fill(engine)
    graphed(engine, wait_until, COUNT)
    kept(engine, wait_until)
    windows |= fill(engine, 30, seed=2)
    reopen(engine)
    added: list[int] = []
    add = Graph.add

    def noted(graph: Graph, keys: Any, vectors: Any) -> None:
        added.append(len(keys))
        add(graph, keys, vectors)

    monkeypatch.setattr(Graph, "add", noted)
    assert_right(engine, windows)
    graphed(engine, wait_until, COUNT + 30)
    assert_right(engine, windows)
    assert sum(added) == 30


def test_rows_that_went_after_the_graph_was_kept_do_not_come_back_with_it(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine)
    graphed(engine, wait_until, COUNT)
    kept(engine, wait_until)
    for memory_id in list(windows)[::7]:
        write(engine, partial(archive, memory_id=memory_id))
        del windows[memory_id]
    reopen(engine)
    assert_right(engine, windows)
    graphed(engine, wait_until, COUNT)
    assert_right(engine, windows)


def test_a_kept_graph_of_vectors_that_are_mostly_gone_is_made_anew(engine: Engine, wait_until: WaitUntil) -> None:
    windows = fill(engine)
    graphed(engine, wait_until, COUNT)
    kept(engine, wait_until)
    for memory_id in list(windows)[: COUNT - 20]:
        write(engine, partial(archive, memory_id=memory_id))
        del windows[memory_id]
    windows |= fill(engine, 100, seed=3)
    reopen(engine)
    assert_right(engine, windows)
    graphed(engine, wait_until, 120)
    assert_right(engine, windows)


HARMS = {
    "truncated": "UPDATE vector_graph_parts SET bytes = substr(bytes, 1, length(bytes) - 1)",
    "a_byte_changed": "UPDATE vector_graph_parts SET bytes = CAST(substr(bytes, 1, 9) || 'x' || substr(bytes, 11) AS BLOB)",
    "a_part_missing": "DELETE FROM vector_graph_parts",
    "a_part_too_many": "INSERT INTO vector_graph_parts SELECT space_id, model, part + 1, x'00' FROM vector_graph_parts",
    "of_another_library": "UPDATE vector_graphs SET format = 'another'",
    "not_finished": "DELETE FROM vector_graphs",
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_kept_graph_that_is_not_whole_is_dropped_and_made_again(engine: Engine, wait_until: WaitUntil, harm: str) -> None:
    windows = fill(engine)
    graphed(engine, wait_until, COUNT)
    kept(engine, wait_until)
    execute_in(engine, harm)
    assert loaded(engine) is None
    reopen(engine)
    assert_right(engine, windows)
    graphed(engine, wait_until, COUNT)
    assert_right(engine, windows)
    kept(engine, wait_until)


def test_a_graph_of_another_space_or_model_is_not_taken_for_ones_own(engine: Engine, wait_until: WaitUntil) -> None:
    fill(engine)
    graphed(engine, wait_until, COUNT)
    kept(engine, wait_until)
    for table in ("vector_graphs", "vector_graph_parts"):
        execute_in(engine, f"UPDATE {table} SET space_id = 'another'")
    shelf = shared(engine).shelf
    other = Shelf(space_id="another", model=shelf.model, dimension=shelf.dimension)
    assert read(engine, lambda s: vector_graph_rows.load(connection(s), other, format_name=format_name())) is None


def test_a_kept_graph_whose_vectors_are_gone_or_of_another_size_is_not_believed(engine: Engine, wait_until: WaitUntil) -> None:
    fill(engine)
    index = graphed(engine, wait_until, COUNT)
    assert index.graph is not None
    bytes_kept, whole = index.graph.kept(), index.whole()
    assert bytes_kept is not None
    assert Graph.restored(bytes_kept, whole.keys, matrix=whole.matrix) is not None
    assert Graph.restored(bytes_kept, whole.keys[:0], matrix=whole.matrix[:0]) is None
    assert Graph.restored(bytes_kept, whole.keys, matrix=whole.matrix[:, :2].copy()) is None


def test_a_save_that_was_cut_off_anywhere_leaves_no_graph(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_graph_rows, "PART_BYTES", 10)
    fill(engine, 1)
    read(engine, lambda s: nearest(s, turned(0)))
    shelf = shared(engine).shelf
    for text in (bytes(range(45)), bytes(range(100, 125))):
        *steps, last = vector_graph_rows.steps(shelf, text, format_name=format_name())
        for step in steps:
            write(engine, partial(take, step=step))
            assert loaded(engine) is None
        write(engine, partial(take, step=last))
        assert loaded(engine) == text


def test_closing_in_the_middle_of_a_graph_ends_at_once_and_keeps_none(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(vector_builder, "PAUSE_S", 600)
        windows = fill(engine)
        assert_right(engine, windows)
        reopen(engine)
    assert execute_in(engine, "SELECT COUNT(*) FROM vector_graphs") == [(0,)]
    assert_right(engine, windows)
    graphed(engine, wait_until, COUNT)


def test_a_graph_that_cannot_be_made_is_not_tried_again_and_all_are_compared(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, wait_until: WaitUntil
) -> None:
    tried: list[int] = []

    def fail(*_: Any) -> None:
        tried.append(1)
        raise RuntimeError

    monkeypatch.setattr(Graph, "add", fail)
    windows = fill(engine)
    assert_right(engine, windows)
    wait_until(lambda: shared(engine).gives_up_graph)
    assert_right(engine, windows)
    assert len(tried) == 1


def test_nothing_of_a_vector_is_in_a_kept_graph(engine: Engine, wait_until: WaitUntil) -> None:
    fill(engine)
    graphed(engine, wait_until, COUNT)
    kept(engine, wait_until)
    whole = loaded(engine)
    assert whole is not None
    for (windows,) in execute_in(engine, "SELECT windows FROM vectors"):
        assert windows not in whole


def test_lk9_writers_and_readers_beside_a_growing_graph_never_crash_nor_lose_a_vector(
    engine: Engine, wait_until: WaitUntil
) -> None:
    windows = fill(engine)

    async def add(number: int) -> None:
        vector = scattered(1, seed=1000 + number)[0]
        memory = await engine.write(lambda s: embed(s, vector))
        windows[memory.id] = vector
        assert memory.id in await engine.read(lambda s: nearest(s, vector, limit=3))

    async def body() -> None:
        await asyncio.gather(*(add(number) for number in range(300)))

    asyncio.run(body())
    assert_right(engine, windows)
    graphed(engine, wait_until, COUNT + 291)
    assert_right(engine, windows)


def test_lk10_vectors_one_by_one_take_no_more_than_thrice_their_bytes(engine: Engine, wait_until: WaitUntil) -> None:
    wide = replace(MODEL, dimension=256)
    vectors = scattered(600, seed=5, dimension=256)
    memories = write(engine, lambda s: [remember(s, "word") for _ in vectors])
    before = size(engine)
    for memory, vector in zip(memories, vectors, strict=True):
        write(engine, partial(put, memory_id=memory.id, model=wide, vector=vector))
        read(engine, lambda s: s.vectors.search(vectors[0], wide, EVERYTHING, 5))
    kept(engine, wait_until)
    assert size(engine) - before <= 3 * sum(map(len, vectors))


def test_a_vault_whose_vectors_are_not_compared_loads_no_array_library(engine: Engine) -> None:
    write(engine, lambda s: remember(s, "word"))
    engine.close()
    code = f"""
import asyncio, sys
from pathlib import Path
from perdure.domain.retrieval import Filter
from perdure.engines.sqlite.engine import SqliteEngine
engine = SqliteEngine(Path({str(engine.path)!r}))
engine.open(bytes.fromhex({KEY.hex()!r}))
found = asyncio.run(engine.read(lambda s: s.documents.search(["word"], Filter(spaces=({MINE!r},)), 5)))
engine.close()
print(len(found), [name for name in ("numpy", "usearch") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n")[0] == "1 []"


def fill(engine: Engine, count: int = COUNT, *, seed: int = 1, **values: Any) -> dict[str, bytes]:
    """So many memories with a vector each, by their ids."""
    vectors = scattered(count, seed)
    return dict(write(engine, lambda s: [(embed(s, vector, **values).id, vector) for vector in vectors]))


def assert_right(engine: Engine, windows: dict[str, bytes], where: Filter = EVERYTHING) -> None:
    for query in QUERIES:
        found = read(engine, partial(nearest, query=query, where=where))
        assert_nearest(found, query, windows={memory_id: [vector] for memory_id, vector in windows.items()}, limit=10)


def graphed(engine: Engine, wait_until: WaitUntil, count: int) -> VectorIndex:
    """The index, when its graph holds so many vectors, or a few more."""

    def is_there() -> bool:
        read(engine, lambda s: nearest(s, turned(0)))
        graph = shared(engine).graph
        return graph is not None and count <= graph.count < count + vector_index.EXTEND_AT

    wait_until(is_there)
    return shared(engine)


def kept(engine: Engine, wait_until: WaitUntil) -> None:
    wait_until(lambda: execute_in(engine, "SELECT COUNT(*) FROM vector_graphs") == [(1,)])


def loaded(engine: Engine) -> bytes | None:
    shelf = shared(engine).shelf
    return read(engine, lambda s: vector_graph_rows.load(connection(s), shelf, format_name=format_name()))


def shared(engine: Engine) -> VectorIndex:
    """The index of the space that the readers share."""
    found: VectorIndex = read(engine, lambda s: s.vectors._indexes._indexes[MINE])  # type: ignore[attr-defined]  # white box
    return found


def connection(session: Any) -> Any:
    return session.vectors._connection


def take(session: Session, step: Step) -> None:
    step(connection(session))


def put(session: Session, *, memory_id: str, model: Any, vector: bytes) -> None:
    session.vectors.put(MINE, memory_id, model, [vector])


def execute_in(engine: Engine, sql: str) -> Any:
    return write(engine, partial(execute, sql=sql))


def reopen(engine: Engine) -> None:
    engine.close()
    engine.open(KEY)


def size(engine: Engine) -> int:
    return int(execute_in(engine, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")[0][0])
