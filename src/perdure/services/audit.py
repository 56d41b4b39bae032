"""The record of calls: written with the next commit, never waited for, summed into metrics."""

from __future__ import annotations

from datetime import datetime, timedelta

from perdure.domain.records import AuditEntry, ToolMetric
from perdure.ports.store import Session, Store


class AuditService:
    def __init__(self, store: Store) -> None:
        self._store = store

    def record(self, entry: AuditEntry) -> None:
        """Keep one call's entry with the next commit, within a second at the latest; dropped while the vault is locked."""
        self._store.defer(lambda session: session.audit.add([(entry, session.instant())]))

    async def metrics(self) -> list[ToolMetric]:
        """Per tool, most called first. Read through the writer, so that entries not yet committed count too."""
        return await self._store.write(lambda session: session.audit.metrics())

    async def recent(self, limit: int) -> list[tuple[AuditEntry, datetime]]:
        """Newest first, entries not yet committed included."""
        return await self._store.write(lambda session: session.audit.recent(limit))

    async def prune(self, days: int) -> int:
        """Remove entries older than so many days; answers how many."""

        def work(session: Session) -> int:
            return session.audit.prune(session.instant() - timedelta(days=days))

        return await self._store.write(work)
