"""One transaction's view of the vault (ports.store.Session), over any engine's connection."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from perdure.engines.sql.audit import SqlAudit
from perdure.engines.sql.confidence import SqlConfidence
from perdure.engines.sql.connection import Clock, Connection, Dialect
from perdure.engines.sql.events import SqlEvents
from perdure.engines.sql.jobs import SqlJobs
from perdure.engines.sql.links import SqlLinks
from perdure.engines.sql.memories import SqlMemories
from perdure.engines.sql.projects import SqlProjects
from perdure.engines.sql.settings import SqlSettings
from perdure.engines.sql.spaces import SqlSpaces
from perdure.engines.sql.standings import SqlStandings
from perdure.ports.store import Documents, Vectors


class SqlSession:
    """Repositories over one connection; `documents` and `vectors` are the engine's own, for so are full text and neighbours."""

    def __init__(
        self,
        connection: Connection,
        dialect: Dialect,
        *,
        clock: Clock,
        documents: Callable[[Connection], Documents],
        vectors: Callable[[Connection], Vectors],
    ) -> None:
        self._clock = clock
        self._spaces = SqlSpaces(connection)
        self._projects = SqlProjects(connection)
        self._memories = SqlMemories(connection, dialect)
        self._standings = SqlStandings(connection, dialect)
        self._documents = documents(connection)
        self._vectors = vectors(connection)
        self._jobs = SqlJobs(connection)
        self._events = SqlEvents(connection)
        self._audit = SqlAudit(connection)
        self._confidence = SqlConfidence(connection)
        self._links = SqlLinks(connection)
        self._settings = SqlSettings(connection)

    @property
    def spaces(self) -> SqlSpaces:
        return self._spaces

    @property
    def projects(self) -> SqlProjects:
        return self._projects

    @property
    def memories(self) -> SqlMemories:
        return self._memories

    @property
    def standings(self) -> SqlStandings:
        return self._standings

    @property
    def documents(self) -> Documents:
        return self._documents

    @property
    def vectors(self) -> Vectors:
        return self._vectors

    @property
    def jobs(self) -> SqlJobs:
        return self._jobs

    @property
    def events(self) -> SqlEvents:
        return self._events

    @property
    def audit(self) -> SqlAudit:
        return self._audit

    @property
    def confidence(self) -> SqlConfidence:
        return self._confidence

    @property
    def links(self) -> SqlLinks:
        return self._links

    @property
    def settings(self) -> SqlSettings:
        return self._settings

    def instant(self) -> datetime:
        return self._clock.instant()

    def new_id(self) -> str:
        return self._clock.new_id()
