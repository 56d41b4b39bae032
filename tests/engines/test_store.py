"""Writes share commits and fail alone, reads see one snapshot, and every outcome reaches the caller it belongs to."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.domain.memory import Memory
from perdure.engines.sql.clock import VaultClock
from perdure.engines.sqlite import connection as sqlite_connection
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.errors import Busy, Conflict, DiskFull, DiskReadOnly, Internal, PerdureError, VaultDamaged, VaultLocked
from perdure.ports.store import Session
from tests.conftest import WaitUntil
from tests.engines.stores import EVERYTHING, KEY, MINE, NOON, Engine, count, found, read, remember, run, write


def _sqlite(engine: Engine) -> SqliteEngine:
    assert isinstance(engine, SqliteEngine)
    return engine


def _raise(error: BaseException) -> Any:
    raise error


def test_callers_that_come_together_share_commits(engine: Engine) -> None:
    async def caller(number: int) -> list[Memory]:
        return [await engine.write(lambda s: remember(s, f"word {number} {turn}")) for turn in range(4)]  # noqa: B023 - awaited at once

    async def all_callers() -> list[list[Memory]]:
        return await asyncio.gather(*(caller(number) for number in range(64)))

    sqlite = _sqlite(engine)
    commits, writes = sqlite.commits, sqlite.writes
    memories = [memory for own in run(all_callers()) for memory in own]
    assert (sqlite.writes - writes) / (sqlite.commits - commits) > 10
    assert read(engine, lambda s: s.memories.ids(EVERYTHING)) == [m.id for m in sorted(memories, key=lambda m: m.recorded_at)]


def test_a_lone_caller_has_a_commit_of_its_own(engine: Engine) -> None:
    async def lone() -> None:
        for number in range(5):
            await engine.write(lambda s: remember(s, f"word {number}"))  # noqa: B023 - awaited at once

    commits = _sqlite(engine).commits
    run(lone())
    assert _sqlite(engine).commits - commits == 5


def test_one_failure_touches_no_other_caller(engine: Engine) -> None:
    async def caller(number: int) -> Memory:
        def work(session: Session) -> Memory:
            memory = remember(session, f"word {number}")
            return memory if number % 3 else _raise(LookupError(f"caller {number}"))

        return await engine.write(work)

    async def all_callers() -> list[Memory | BaseException]:
        return await asyncio.gather(*(caller(number) for number in range(30)), return_exceptions=True)

    outcomes = run(all_callers())
    assert [str(o) for o in outcomes if isinstance(o, LookupError)] == [f"caller {n}" for n in range(0, 30, 3)]
    assert read(engine, lambda s: set(s.memories.ids(EVERYTHING))) == {o.id for o in outcomes if isinstance(o, Memory)}
    assert read(engine, lambda s: s.documents.check()) == []


def test_nothing_of_a_failed_write_is_kept_in_full_text_either(engine: Engine) -> None:
    with pytest.raises(LookupError):
        write(engine, lambda s: (remember(s, "word"), _raise(LookupError())))
    assert read(engine, lambda s: (s.memories.count(EVERYTHING), found(s, "word"))) == (0, [])


def test_a_row_that_is_there_already_is_a_conflict_for_its_caller_alone(engine: Engine) -> None:
    memory = write(engine, lambda s: remember(s, "word"))

    async def both() -> list[Any]:
        again = engine.write(lambda s: remember(s, "other", id=memory.id))
        return list(await asyncio.gather(again, engine.write(lambda s: remember(s, "third")), return_exceptions=True))

    outcomes = run(both())
    assert isinstance(outcomes[0], Conflict)
    assert isinstance(outcomes[1], Memory)
    assert count(engine) == 2


def test_dl6_many_loops_and_threads_write_at_once_and_all_is_there(engine: Engine) -> None:
    def thread(number: int) -> list[str]:
        return [write(engine, lambda s: remember(s, f"{number} {turn}")).id for turn in range(10)]  # noqa: B023 - run at once

    with ThreadPoolExecutor(8) as pool:
        ids = [memory_id for own in pool.map(thread, range(8)) for memory_id in own]
    assert set(read(engine, lambda s: s.memories.ids(EVERYTHING))) == set(ids)
    assert engine.check(deep=True) == []


def test_a_caller_that_stops_waiting_breaks_nothing(engine: Engine) -> None:
    async def scenario() -> None:
        tasks = [asyncio.create_task(engine.write(lambda s: remember(s, "word"))) for _ in range(8)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(o, Memory) for o in outcomes] == [False, True] * 4
        await engine.write(lambda s: remember(s, "after"))

    run(scenario())
    assert 5 <= count(engine) <= 9


def test_deferred_work_goes_with_the_next_commit(engine: Engine) -> None:
    commits = _sqlite(engine).commits

    async def scenario() -> None:
        engine.defer(lambda s: s.settings.put("one", "1"))
        engine.defer(lambda s: _raise(LookupError("nobody hears this")))
        engine.defer(lambda s: s.settings.put("two", "2"))
        await engine.write(lambda s: s.settings.put("three", "3"))

    run(scenario())
    assert _sqlite(engine).commits - commits == 1
    assert read(engine, lambda s: s.settings.all()) == {"one": "1", "two": "2", "three": "3"}


def test_deferred_work_does_not_need_another_write(engine: Engine, wait_until: WaitUntil) -> None:
    engine.defer(lambda s: s.settings.put("one", "1"))
    wait_until(lambda: read(engine, lambda s: s.settings.all()) == {"one": "1"})


def test_a_locked_vault_says_so(engine: Engine) -> None:
    engine.close()
    assert not engine.is_open
    with pytest.raises(VaultLocked):
        read(engine, lambda s: s.settings.all())
    with pytest.raises(VaultLocked):
        write(engine, lambda s: s.settings.put("a", "1"))
    engine.defer(lambda s: s.settings.put("a", "1"))
    engine.close()


def test_closing_finishes_the_writes_under_way(engine: Engine) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(session: Session) -> Memory:
        started.set()
        assert go_on.wait(10)
        return remember(session, "slow")

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(write, engine, slow)
        assert started.wait(10)
        closing = pool.submit(engine.close)
        go_on.set()
        closing.result(10)
        memory = first.result(10)
    engine.open(KEY)
    assert read(engine, lambda s: s.memories.get((MINE,), memory.id)) == memory


def test_a_read_sees_one_snapshot(engine: Engine) -> None:
    inside, written = threading.Event(), threading.Event()

    def twice(session: Session) -> tuple[int, int]:
        before = session.memories.count(EVERYTHING)
        inside.set()
        assert written.wait(10)
        return before, session.memories.count(EVERYTHING)

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, engine, twice)
        assert inside.wait(10)
        write(engine, lambda s: remember(s, "word"))
        written.set()
        assert reading.result(10) == (0, 0)
    assert count(engine) == 1


def test_a_reader_cannot_write_nor_give_instants(engine: Engine) -> None:
    with pytest.raises(PerdureError):
        read(engine, lambda s: s.settings.put("a", "1"))
    with pytest.raises(Internal):
        read(engine, lambda s: s.instant())
    with pytest.raises(Internal):
        read(engine, lambda s: s.new_id())
    assert read(engine, lambda s: s.settings.all()) == {}


def test_instants_increase_across_restarts_though_the_clock_goes_back(tmp_path: Path) -> None:
    path, now = tmp_path / "vault.db", NOON
    first = SqliteEngine(path, clock=lambda: now)
    first.create(KEY)
    before = write(first, lambda s: [s.instant() for _ in range(3)])
    first.close()
    second = SqliteEngine(path, clock=lambda: now - timedelta(days=365))
    second.open(KEY)
    after = write(second, lambda s: [s.instant() for _ in range(3)])
    second.close()
    assert before[0] >= NOON
    assert [*before, *after] == sorted({*before, *after})


@settings(max_examples=50)
@given(times=st.lists(st.datetimes(datetime(2020, 1, 1), datetime(2100, 1, 1)), min_size=1, max_size=30))
def test_ids_are_uuid7_of_their_instant_and_increase_whatever_the_clock_does(times: list[datetime]) -> None:
    source = iter(times)
    clock = VaultClock(lambda: next(source).replace(tzinfo=UTC))
    ids = []
    for _ in times:
        ids.append(clock.new_id())
        parsed = UUID(ids[-1])
        assert (parsed.version, parsed.variant) == (7, "specified in RFC 4122")
        assert parsed.int >> 80 == clock.last // 1000
    assert ids == sorted(set(ids))


def test_dl7_two_processes_on_one_file_lose_no_write(engine: Engine) -> None:
    other = SqliteEngine(engine.path, clock=lambda: NOON)
    other.open(KEY)
    try:
        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(lambda e: [write(e, lambda s: remember(s, "w")) for _ in range(20)], e) for e in (engine, other)]
            memories = [memory for own in both for memory in own.result(30)]
    finally:
        other.close()
    assert count(engine) == 40
    assert len({m.number for m in memories}) == len({m.recorded_at for m in memories}) == 40
    assert read(engine, lambda s: s.documents.check()) == []


def test_lk2_what_one_process_writes_the_other_reads(engine: Engine) -> None:
    other = SqliteEngine(engine.path, clock=lambda: NOON)
    other.open(KEY)
    memory = write(other, lambda s: remember(s, "word"))
    assert read(engine, lambda s: found(s, "word")) == [memory.id]
    other.close()


def test_lk5_a_write_waits_for_another_processes_lock(engine: Engine) -> None:
    lock = _lock(engine.path)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, engine, lambda s: remember(s, "word"))
        assert count(engine) == 0
        lock.execute("COMMIT")
        lock.close()
        assert waiting.result(10).content == "word"


def test_lk5_a_lock_that_stays_is_told_as_busy_and_the_engine_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_connection, "BUSY_TIMEOUT_MS", 20)
    engine = SqliteEngine(tmp_path / "vault.db")
    engine.create(KEY)
    lock = _lock(engine.path)
    with pytest.raises(Busy):
        write(engine, lambda s: s.settings.put("a", "1"))
    lock.execute("COMMIT")
    lock.close()
    write(engine, lambda s: s.settings.put("a", "1"))
    engine.close()


def test_lk1_readers_are_not_stopped_by_a_writer(engine: Engine) -> None:
    lock = _lock(engine.path)
    assert count(engine) == 0
    lock.close()


def _lock(path: Path) -> apsw.Connection:
    profile = sqlite_connection.Profile(path=path)
    lock = sqlite_connection.keyed(path, KEY, profile=profile, flags=apsw.SQLITE_OPEN_READWRITE)
    lock.execute("BEGIN IMMEDIATE")
    return lock


COMMIT_FAILURES: list[tuple[apsw.Error, type[PerdureError]]] = [
    (apsw.FullError("full"), DiskFull),
    (apsw.ReadOnlyError("read only"), DiskReadOnly),
    (apsw.CorruptError("corrupt"), VaultDamaged),
    (apsw.NoMemError("memory"), Internal),
]


@pytest.mark.parametrize(("theirs", "ours"), COMMIT_FAILURES, ids=lambda value: type(value).__name__)
def test_a_commit_that_fails_is_told_to_everyone_in_it_and_the_next_one_works(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, theirs: apsw.Error, ours: type[PerdureError]
) -> None:
    execute = sqlite_connection.SqliteConnection.execute

    def failing(self: sqlite_connection.SqliteConnection, sql: str, params: Any = ()) -> list[tuple[Any, ...]]:
        return _raise(theirs) if sql == "COMMIT" else execute(self, sql, params)

    async def several() -> list[Any]:
        return await asyncio.gather(*(engine.write(lambda s: remember(s, "word")) for _ in range(5)), return_exceptions=True)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_connection.SqliteConnection, "execute", failing)
        assert {type(outcome) for outcome in run(several())} == {ours}
    assert count(engine) == 0
    write(engine, lambda s: remember(s, "word"))
    assert count(engine) == 1


def test_a_full_disk_refuses_the_write_keeps_all_before_and_works_again_with_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writers = _kept_writers(monkeypatch)
    engine = SqliteEngine(tmp_path / "vault.db")
    engine.create(KEY)
    write(engine, lambda s: s.settings.put("before", "1"))

    def limit(pages: int) -> None:
        write(engine, lambda s: writers[-1].raw.pragma("max_page_count", pages))

    async def several() -> list[Any]:
        large = engine.write(lambda s: s.settings.put("large", "x" * 3_000_000))
        small = engine.write(lambda s: s.settings.put("small", "1"))
        return list(await asyncio.gather(large, small, return_exceptions=True))

    limit(200)
    outcomes = run(several())
    assert isinstance(outcomes[0], DiskFull)
    limit(1_000_000)
    write(engine, lambda s: s.settings.put("after", "1"))
    kept = read(engine, lambda s: set(s.settings.all()))
    assert kept - {"small"} == {"before", "after"}
    assert ("small" in kept) == (outcomes[1] is None)
    assert engine.check(deep=True) == []
    engine.close()


def test_a_read_only_disk_refuses_writes_and_still_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers = _kept_writers(monkeypatch)
    engine = SqliteEngine(tmp_path / "vault.db")
    engine.create(KEY)
    write(engine, lambda s: s.settings.put("before", "1"))
    writers[-1].raw.pragma("query_only", True)
    with pytest.raises(DiskReadOnly):
        write(engine, lambda s: s.settings.put("after", "1"))
    assert read(engine, lambda s: s.settings.all()) == {"before": "1"}
    writers[-1].raw.pragma("query_only", False)
    write(engine, lambda s: s.settings.put("after", "1"))
    engine.close()


def test_the_writer_is_durable_and_leaves_no_plain_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writers = _kept_writers(monkeypatch)
    engine = SqliteEngine(tmp_path / "vault.db")
    engine.create(KEY)
    names = ("synchronous", "journal_mode", "temp_store", "secure_delete", "cipher")
    assert [writers[-1].raw.pragma(name) for name in names] == [2, "wal", 2, 1, "aegis"]
    engine.close()


def _kept_writers(monkeypatch: pytest.MonkeyPatch) -> list[sqlite_connection.SqliteConnection]:
    """The write connections that engines open from here on."""
    writers: list[sqlite_connection.SqliteConnection] = []

    def keeping(key: bytes, profile: sqlite_connection.Profile) -> sqlite_connection.SqliteConnection:
        writers.append(sqlite_connection.open_writer(key, profile))
        return writers[-1]

    monkeypatch.setattr("perdure.engines.sqlite.engine.open_writer", keeping)
    return writers
