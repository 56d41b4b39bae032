"""Vectors are found by nearness alone, under every filter, of one model at a time, and never after their text is gone."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from functools import partial

import pytest

from perdure.domain.memory import Memory
from perdure.domain.retrieval import Filter
from perdure.domain.vectors import Coverage
from perdure.errors import Internal
from perdure.ports.store import Session
from tests.engines.embeddings import (
    MODEL,
    OTHER_MODEL,
    WIDE_MODEL,
    archive,
    embed,
    execute,
    nearest,
    turned,
    vector,
)
from tests.engines.stores import (
    EVERYTHING,
    KEY,
    MINE,
    NOON,
    THEIRS,
    Engine,
    again,
    document_of,
    read,
    remember,
    write,
)


def test_the_nearest_come_first_with_their_cosines(engine: Engine) -> None:
    ids = write(engine, lambda s: [embed(s, turned(angle)).id for angle in (90, 10, 60, 0)])
    found = read(engine, lambda s: s.vectors.search(turned(0), MODEL, EVERYTHING, 3))
    assert [candidate.memory_id for candidate in found] == [ids[3], ids[1], ids[2]]
    assert [candidate.score for candidate in found] == pytest.approx([1, 0.9848, 0.5], abs=5e-4)
    assert {candidate.space_id for candidate in found} == {MINE}


def test_a_memory_counts_once_by_its_best_window(engine: Engine) -> None:
    long = write(engine, lambda s: embed(s, turned(80), turned(5), turned(6), turned(7)))
    short = write(engine, lambda s: embed(s, turned(10)))
    assert read(engine, lambda s: nearest(s, turned(0), limit=2)) == [long.id, short.id]


def test_a_text_without_words_is_embedded_and_never_found(engine: Engine) -> None:
    write(engine, lambda s: embed(s))
    assert read(engine, lambda s: nearest(s, turned(0))) == []
    assert read(engine, lambda s: s.vectors.missing(MODEL, 10)) == []


def test_an_empty_vault_and_a_limit_of_nothing_answer_nothing(engine: Engine) -> None:
    assert read(engine, lambda s: nearest(s, turned(0))) == []
    write(engine, lambda s: embed(s, turned(0)))
    assert read(engine, lambda s: nearest(s, turned(0), limit=0)) == []


def test_sc4_a_search_by_vector_stays_in_its_spaces(engine: Engine) -> None:
    mine = write(engine, lambda s: embed(s, turned(10)))
    theirs = write(engine, lambda s: embed(s, turned(0), space_id=THEIRS))
    both = Filter(spaces=(MINE, THEIRS))
    assert read(engine, lambda s: nearest(s, turned(0))) == [mine.id]
    assert read(engine, lambda s: nearest(s, turned(0), both)) == [theirs.id, mine.id]
    assert read(engine, lambda s: nearest(s, turned(0), Filter(spaces=("nowhere",)))) == []
    ids = [mine.id, theirs.id]
    assert set(read(engine, lambda s: s.vectors.cosines(turned(0), MODEL, (MINE,), ids))) == {mine.id}


def test_sr6_an_update_leaves_no_vector_of_the_old_text(engine: Engine) -> None:
    memory = write(engine, lambda s: embed(s, turned(0)))
    assert read(engine, lambda s: nearest(s, turned(0))) == [memory.id]
    revised = replace(memory, content="another", revision="another")
    write(engine, lambda s: _store(s, revised))
    assert read(engine, lambda s: nearest(s, turned(0))) == []
    assert read(engine, lambda s: s.vectors.missing(MODEL, 10)) == [(MINE, memory.id)]
    write(engine, lambda s: s.vectors.put(MINE, memory.id, MODEL, [turned(90)]))
    assert read(engine, lambda s: s.vectors.search(turned(0), MODEL, EVERYTHING, 10))[0].score == pytest.approx(0, abs=1e-3)


def test_a_document_put_again_unchanged_keeps_its_vectors(engine: Engine) -> None:
    memory = write(engine, lambda s: embed(s, turned(0)))
    write(engine, lambda s: s.documents.put(document_of(memory)))
    assert read(engine, lambda s: nearest(s, turned(0))) == [memory.id]


def test_what_is_archived_has_no_vector_and_returns_without_one(engine: Engine) -> None:
    memory = write(engine, lambda s: embed(s, turned(0)))
    write(engine, lambda s: archive(s, memory.id))
    assert read(engine, lambda s: nearest(s, turned(0))) == []
    assert _stored(engine) == 0
    write(engine, lambda s: _store(s, memory))
    assert read(engine, lambda s: (nearest(s, turned(0)), s.vectors.missing(MODEL, 10))) == ([], [(MINE, memory.id)])


def test_a_purge_leaves_no_vector_though_the_row_number_is_given_again(engine: Engine) -> None:
    memory = write(engine, lambda s: embed(s, turned(0)))
    write(engine, lambda s: s.memories.purge(MINE, memory.id, NOON))
    assert _stored(engine) == 0
    write(engine, lambda s: s.documents.remove(MINE, memory.id))
    write(engine, lambda s: remember(s, "word"))
    assert read(engine, lambda s: nearest(s, turned(0))) == []
    assert engine.check(deep=True) == []


@pytest.mark.parametrize("absent", [True, False])
def test_nothing_is_stored_for_a_memory_that_is_not_live(engine: Engine, absent: bool) -> None:
    memory = write(engine, lambda s: remember(s, "word", archived_at=NOON))
    write(engine, lambda s: s.vectors.put(MINE, "absent" if absent else memory.id, MODEL, [turned(0)]))
    assert _stored(engine) == 0


def test_a_rebuild_keeps_the_vectors_of_live_memories_only(engine: Engine) -> None:
    memory, gone = write(engine, lambda s: [embed(s, turned(0)), embed(s, turned(1))])
    write(engine, lambda s: s.memories.save(replace(gone, archived_at=NOON)))
    assert write(engine, lambda s: s.documents.rebuild(document_of)) == 1
    assert read(engine, lambda s: nearest(s, turned(0))) == [memory.id]
    assert _stored(engine) == 1
    assert read(engine, lambda s: s.vectors.missing(MODEL, 10)) == []


def test_a_check_tells_of_vectors_without_a_document(engine: Engine) -> None:
    memory = write(engine, lambda s: embed(s, turned(0)))
    assert engine.check(deep=False) == []
    write(engine, lambda s: execute(s, "UPDATE documents SET model = NULL WHERE memory_id = ?", memory.id))
    assert any("vectors belong to no document" in finding for finding in engine.check(deep=False))


def test_em3_vectors_of_two_models_are_never_mixed(engine: Engine) -> None:
    one = write(engine, lambda s: embed(s, turned(0)))
    other = write(engine, lambda s: embed(s, turned(0), model=OTHER_MODEL))
    ids = [one.id, other.id]
    mine = (lambda s: nearest(s, turned(0)), lambda s: set(s.vectors.cosines(turned(0), MODEL, (MINE,), ids)))
    theirs = (
        lambda s: nearest(s, turned(0), model=OTHER_MODEL),
        lambda s: set(s.vectors.cosines(turned(0), OTHER_MODEL, (MINE,), ids)),
    )
    for ask, memory in ((mine, one), (theirs, other), (mine, one)):
        assert read(engine, ask[0]) == [memory.id]
        assert read(engine, ask[1]) == {memory.id}
    assert read(engine, lambda s: nearest(s, turned(0), model=replace(MODEL, revision="2"))) == []


@pytest.mark.parametrize(
    "wrong", [vector(*range(1, 9)), b"", bytes(16), b"\x00\x00\xc0\x7f" * 4, b"\x00\x00\x80\x7f" * 4], ids=ascii
)
def test_em1_a_vector_of_another_dimension_or_length_is_refused(engine: Engine, wrong: bytes) -> None:
    memory = write(engine, lambda s: embed(s, turned(0)))
    with pytest.raises(Internal, match="4 numbers of length 1"):
        write(engine, lambda s: s.vectors.put(MINE, memory.id, MODEL, [wrong]))
    with pytest.raises(Internal):
        read(engine, lambda s: nearest(s, wrong))
    assert read(engine, lambda s: nearest(s, turned(0))) == [memory.id]


def test_em2_each_dimension_is_a_model_of_its_own_also_after_a_restart(engine: Engine) -> None:
    narrow = write(engine, lambda s: embed(s, turned(0)))
    wide = write(engine, lambda s: embed(s, vector(*range(1, 9)), model=WIDE_MODEL))
    for _ in range(2):
        assert read(engine, lambda s: nearest(s, turned(0))) == [narrow.id]
        assert read(engine, lambda s: nearest(s, vector(*range(1, 9)), model=WIDE_MODEL)) == [wide.id]
        engine.close()
        engine.open(KEY)


def test_em5_another_model_takes_the_place_of_the_first_one_memory_by_memory(engine: Engine) -> None:
    ids = write(engine, lambda s: [embed(s, turned(0)).id for _ in range(3)])
    assert read(engine, lambda s: s.vectors.coverage(OTHER_MODEL)) == Coverage(documents=3, embedded=0, foreign=3)
    assert read(engine, lambda s: s.vectors.missing(OTHER_MODEL, 10)) == [(MINE, memory_id) for memory_id in reversed(ids)]
    write(engine, lambda s: s.vectors.put(MINE, ids[0], OTHER_MODEL, [turned(0)]))
    assert read(engine, lambda s: s.vectors.coverage(OTHER_MODEL)) == Coverage(documents=3, embedded=1, foreign=2)
    assert read(engine, lambda s: s.vectors.missing(MODEL, 10)) == [(MINE, ids[0])]
    assert _stored(engine) == 3


def test_the_newest_that_lack_vectors_are_named_first(engine: Engine) -> None:
    def fill(session: Session) -> list[tuple[str, str]]:
        return [(space, remember(session, "word", space_id=space).id) for space in (MINE, THEIRS, MINE, THEIRS)]

    made = write(engine, fill)
    assert read(engine, lambda s: s.vectors.missing(MODEL, 3)) == made[:0:-1]
    write(engine, lambda s: s.vectors.put(*made[3], MODEL, [turned(0)]))
    assert read(engine, lambda s: s.vectors.missing(MODEL, 2)) == [made[2], made[1]]
    assert read(engine, lambda s: s.vectors.coverage(MODEL)) == Coverage(documents=4, embedded=1, foreign=0)


def test_cosines_are_those_of_the_best_windows_of_the_memories_that_have_any(engine: Engine) -> None:
    one = write(engine, lambda s: embed(s, turned(90), turned(60)))
    bare = write(engine, lambda s: remember(s, "word"))
    empty = write(engine, lambda s: embed(s))
    found = read(engine, lambda s: s.vectors.cosines(turned(0), MODEL, (MINE, THEIRS), [one.id, bare.id, empty.id, "absent"]))
    assert found == {one.id: pytest.approx(0.5, abs=5e-4)}
    assert read(engine, lambda s: s.vectors.cosines(turned(0), MODEL, (MINE,), [])) == {}


def test_a_search_in_a_write_sees_what_the_write_did_and_leaves_no_trace_when_it_fails(engine: Engine) -> None:
    def fail_after(session: Session) -> None:
        memory = embed(session, turned(0))
        assert nearest(session, turned(0)) == [memory.id]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(engine, fail_after)
    assert read(engine, lambda s: nearest(s, turned(0))) == []
    memory = write(engine, lambda s: embed(s, turned(90)))
    assert read(engine, lambda s: s.vectors.search(turned(90), MODEL, EVERYTHING, 10))[0].score == pytest.approx(1)
    assert read(engine, lambda s: nearest(s, turned(0))) == [memory.id]


def test_another_process_adds_and_removes_and_a_reader_here_follows(engine: Engine) -> None:
    first = write(engine, lambda s: embed(s, turned(0)))
    assert read(engine, lambda s: nearest(s, turned(0))) == [first.id]
    other = again(engine)
    second = write(other, lambda s: embed(s, turned(1)))
    write(other, lambda s: archive(s, first.id))
    assert read(engine, lambda s: nearest(s, turned(0))) == [second.id]
    other.close()


def test_many_removals_leave_the_rest_in_order(engine: Engine) -> None:
    memories = write(engine, lambda s: [embed(s, turned(angle)) for angle in range(60)])
    assert len(read(engine, lambda s: nearest(s, turned(0), limit=100))) == 60
    kept = memories
    while len(kept) > 3:
        for memory in kept[::2]:
            write(engine, partial(archive, memory_id=memory.id))
        kept = kept[1::2]
        assert read(engine, lambda s: nearest(s, turned(0), limit=2)) == [memory.id for memory in kept[:2]]
    added = write(engine, lambda s: embed(s, turned(0)))
    assert read(engine, lambda s: nearest(s, turned(0), limit=1)) == [added.id]


def test_a_reader_of_an_older_snapshot_sees_nothing_newer_and_may_miss_what_was_removed_since(engine: Engine) -> None:
    memories = write(engine, lambda s: [embed(s, turned(angle)) for angle in range(10)])
    before = [memory.id for memory in memories]
    started, go = threading.Event(), threading.Event()

    def old(session: Session) -> list[str]:
        session.documents.count((MINE,))
        started.set()
        assert go.wait(30)
        return nearest(session, turned(0))

    def change(session: Session) -> None:
        embed(session, turned(0))
        for memory in memories[:8]:
            archive(session, memory.id)

    async def body() -> tuple[list[str], list[str]]:
        waiting = asyncio.ensure_future(engine.read(old))
        await asyncio.to_thread(started.wait, 30)
        await engine.write(change)
        new = await engine.read(lambda s: nearest(s, turned(0)))
        go.set()
        return await waiting, new

    seen, now = asyncio.run(body())
    assert set(before[8:]) <= set(seen) <= set(before)
    assert len(now) == 3
    assert now[1:] == before[8:]


def test_writers_and_readers_at_once_never_see_a_ghost(engine: Engine) -> None:
    async def body() -> None:
        live: list[Memory] = []

        async def turn(number: int) -> None:
            memory = await engine.write(lambda s: embed(s, turned(number)))
            assert memory.id in await engine.read(lambda s: nearest(s, turned(number), limit=100))
            if number % 2:
                await engine.write(lambda s: archive(s, memory.id))
                assert memory.id not in await engine.read(lambda s: nearest(s, turned(number), limit=100))
            else:
                live.append(memory)

        await asyncio.gather(*(turn(number) for number in range(40)))
        assert set(await engine.read(lambda s: nearest(s, turned(0), limit=100))) == {memory.id for memory in live}

    asyncio.run(body())


def test_mg1_a_vault_from_before_vectors_keeps_its_memories_and_names_them_all_as_missing(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))
    for statement in BEFORE_VECTORS:
        write(engine, partial(execute, sql=statement))
    engine.close()
    engine.open(KEY)
    assert engine.check(deep=True) == []
    assert read(engine, lambda s: s.memories.get((MINE,), memory.id)) == memory
    assert read(engine, lambda s: s.vectors.missing(MODEL, 10)) == [(MINE, memory.id)]
    write(engine, lambda s: s.vectors.put(MINE, memory.id, MODEL, [turned(0)]))
    assert read(engine, lambda s: nearest(s, turned(0))) == [memory.id]


BEFORE_VECTORS = (
    "DROP TRIGGER memories_erased",
    "DROP TABLE vectors",
    "DROP TABLE vector_models",
    "DROP TABLE vector_states",
    "DROP TABLE vector_graphs",
    "DROP TABLE vector_graph_parts",
    "DROP INDEX documents_model",
    "ALTER TABLE documents DROP COLUMN model",
    "DELETE FROM migrations WHERE number > 1",
)


def _store(session: Session, memory: Memory) -> None:
    session.memories.save(memory)
    session.documents.put(document_of(memory))


def _stored(engine: Engine) -> int:
    return int(read(engine, lambda s: execute(s, "SELECT COUNT(*) FROM vectors"))[0][0])
