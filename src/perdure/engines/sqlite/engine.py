"""The embedded engine: one encrypted SQLite file, one thread that writes, a few that read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import apsw

from perdure.engines.sql.clock import NoClock, VaultClock
from perdure.engines.sql.connection import Clock, Connection, micros
from perdure.engines.sql.session import SqlSession
from perdure.engines.sqlite import copies
from perdure.engines.sqlite.connection import (
    CIPHER,
    DIALECT,
    Profile,
    SqliteConnection,
    assert_file,
    keyed,
    open_reader,
    open_writer,
)
from perdure.engines.sqlite.documents import SqliteDocuments
from perdure.engines.sqlite.failures import failure_of, named_failures
from perdure.engines.sqlite.frequencies import Frequencies
from perdure.engines.sqlite.migrations import Migration, known_migrations, migrate
from perdure.engines.sqlite.readers import Readers
from perdure.engines.sqlite.requests import Request
from perdure.engines.sqlite.swap import Swap
from perdure.engines.sqlite.vector_builder import GraphBuilder
from perdure.engines.sqlite.vector_index import VectorIndexes
from perdure.engines.sqlite.vectors import SqliteVectors
from perdure.engines.sqlite.writer import Writer
from perdure.errors import Busy, Conflict, VaultLocked, VaultMissing
from perdure.ports.store import Session
from perdure.ports.vault import OnProgress

T = TypeVar("T")


class SqliteEngine:
    """A Store and a VaultEngine. `encrypted`, `synchronous` and `vfs` are for the benchmark; no setting reaches them."""

    def __init__(
        self,
        path: Path,
        *,
        encrypted: bool = True,
        synchronous: str = "FULL",
        readers: int = 4,
        vfs: str | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._profile = Profile(path=path, encrypted=encrypted, synchronous=synchronous, vfs=vfs)
        self._reader_count = readers
        self._clock = VaultClock(clock or (lambda: datetime.now(UTC)))
        self._frequencies = Frequencies()
        self._graphs: GraphBuilder | None = None
        self._migrations: tuple[Migration, ...] = known_migrations()
        self._changing = threading.RLock()
        self._refusal: Busy | VaultLocked = VaultLocked()
        self._key: bytes | None = None
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._counted = [0, 0]
        self._swap = Swap(path)

    @property
    def path(self) -> Path:
        return self._profile.path

    @property
    def is_open(self) -> bool:
        return self._key is not None

    @property
    def cipher(self) -> str:
        return CIPHER if self._profile.encrypted else "none"

    @property
    def commits(self) -> int:
        """Transactions committed since this object was made."""
        return self._counted[0] + (self._writer.commits if self._writer else 0)

    @property
    def writes(self) -> int:
        """Pieces of work in those transactions."""
        return self._counted[1] + (self._writer.writes if self._writer else 0)

    async def read(self, work: Callable[[Session], T]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._readers is None:
            raise self._refusal
        self._readers.submit(Request(work, future))
        return await future

    async def write(self, work: Callable[[Session], T]) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        if self._writer is None:
            raise self._refusal
        self._writer.submit(Request(work, future))
        return await future

    def defer(self, work: Callable[[Session], None]) -> None:
        if self._writer is not None:
            self._writer.defer(Request(work))

    def exists(self) -> bool:
        return self.path.exists()

    def create(self, key: bytes) -> None:
        """As the port says. The file appears complete, so that a crash leaves none or one that opens; a failure leaves none."""
        with self._changing, named_failures():
            with copies.new_file(self.path) as partial:
                profile = replace(self._profile, path=partial)
                flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
                connection = SqliteConnection(keyed(partial, key, profile=profile, flags=flags))
                try:
                    migrate(connection, self._migrations, now_us=micros(self._clock.instant()))
                finally:
                    connection.close()
                assert_file(profile)
            try:
                self.open(key)
            except BaseException:
                copies.remove_file(self.path)
                raise

    def open(self, key: bytes) -> None:
        """As the port says. Raises Conflict when it is open already, and for a vault of a newer perdure."""
        with self._changing:
            if self.is_open:
                raise Conflict("The vault is open already.")
            with named_failures():
                self._start(key)

    def close(self) -> None:
        with self._changing:
            self._stop(VaultLocked())

    def rekey(self, new_key: bytes) -> None:
        """The file under a new key: a whole copy takes the place of the old file in one rename, so that after a crash either the
        old key opens or the new one. Meanwhile calls get Busy."""
        with self._changing, named_failures():
            key = self._open_key()
            self._stop(Busy("The vault's key is being changed; try again in a moment."))
            try:
                with copies.new_file(self.path, replace=True) as partial:
                    self._copy(partial, key, new_key=new_key)
                    self._assert_alone()
                key = new_key
            finally:
                self._start(key)

    def backup(self, target: Path, on_progress: OnProgress | None = None) -> None:
        key = self._open_key()
        with named_failures(), copies.new_file(target) as partial:
            self._copy(partial, key, new_key=key, on_progress=on_progress)

    def export_sqlcipher(self, target: Path, passphrase: str) -> None:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with named_failures(), copies.new_file(target) as partial:
            connection = SqliteConnection(keyed(self.path, self._open_key(), profile=self._profile, flags=flags))
            with closing(connection):
                copies.export_sqlcipher(connection, partial, passphrase=passphrase)

    def stage(self, source: Path) -> Path:
        with named_failures():
            if not source.exists():
                raise VaultMissing(f"There is no {source.name} in {source.parent}; nothing was changed.")
            assert_file(replace(self._profile, path=source))
            return self._swap.stage(source)

    def discard_staged(self) -> None:
        self._swap.discard()

    def swap(self) -> Path:
        with self._changing:
            self._stop(Busy("A backup is taking the vault's place; try again in a moment."))
            return self._swap.run()

    def resume_swap(self) -> None:
        self._swap.resume()

    def check(self, *, deep: bool) -> list[str]:
        key = self._open_key()
        try:
            with closing(open_reader(key, self._profile)) as connection:
                connection.execute("BEGIN")
                findings = self._documents(connection).check()
                if deep:
                    rows = connection.execute("PRAGMA integrity_check")
                    findings += [str(row[0]) for row in rows if row[0] != "ok"]
            return findings
        except apsw.Error as error:
            return [failure_of(error).message]

    def _start(self, key: bytes) -> None:
        with ExitStack() as opened:
            main = opened.enter_context(closing(open_writer(key, self._profile)))
            migrate(main, self._migrations, now_us=micros(self._clock.instant()))
            self._clock.load(main.execute("SELECT last FROM clock")[0][0])
            graphs = GraphBuilder(lambda: open_reader(key, self._profile), lambda work: self._write_plain(main, work))
            indexes = VectorIndexes(graphs.request)
            pairs = []
            for _ in range(self._reader_count):
                connection = opened.enter_context(closing(open_reader(key, self._profile)))
                pairs.append((connection, self._session(connection, clock=NoClock(), indexes=indexes)))
            opened.pop_all()
        self._frequencies.forget()
        self._writer = Writer(main, self._session(main, clock=self._clock, indexes=None), self._clock)
        self._readers = Readers(pairs)
        self._writer.start()
        self._readers.start()
        self._graphs = graphs
        self._key = key

    def _stop(self, refusal: Busy | VaultLocked) -> None:
        """Readers first: the last connection to close is then the writer's, which empties the log into the file."""
        self._refusal = refusal
        self._key = None
        readers, self._readers = self._readers, None
        writer, self._writer = self._writer, None
        graphs, self._graphs = self._graphs, None
        if readers:
            readers.stop()
        if graphs:
            graphs.stop()
        if writer:
            writer.stop()
            self._counted = [self._counted[0] + writer.commits, self._counted[1] + writer.writes]

    def _write_plain(self, main: SqliteConnection, work: Callable[[Connection], None]) -> None:
        """Work of the engine's own with the next commit; none when the vault is being closed."""
        if self._writer is not None:
            self._writer.submit(Request(lambda _: work(main)))

    def _copy(self, partial: Path, key: bytes, *, new_key: bytes, on_progress: OnProgress | None = None) -> None:
        with closing(open_reader(key, self._profile)) as source:
            copies.copy_pages(source, partial, key=new_key, profile=self._profile, on_progress=on_progress)
        assert_file(replace(self._profile, path=partial))

    def _assert_alone(self) -> None:
        """A log left by the last of our connections is another process's: renaming under it would lose its writes."""
        log = self.path.with_name(self.path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise Conflict("Another process has the vault open; close it first. Nothing was changed.")

    def _open_key(self) -> bytes:
        if self._key is None:
            raise VaultLocked()
        return self._key

    def _session(self, connection: SqliteConnection, *, clock: Clock, indexes: VectorIndexes | None) -> SqlSession:
        return SqlSession(
            connection,
            DIALECT,
            clock=clock,
            documents=self._documents,
            vectors=lambda connection: SqliteVectors(connection, DIALECT, indexes),
        )

    def _documents(self, connection: Connection) -> SqliteDocuments:
        return SqliteDocuments(connection, DIALECT, self._frequencies)
