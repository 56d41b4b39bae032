"""Jobs as rows: written in the caller's transaction, claimed oldest first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from perdure.domain.records import Job, JobState
from perdure.engines.sql.connection import Connection, instant_at, instant_or_none, marks, micros

_COLUMNS = "id, space_id, kind, entity_id, state, due_at, created_at, attempts, error, payload"


class SqlJobs:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, job: Job) -> None:
        self._connection.execute(
            f"INSERT INTO jobs ({_COLUMNS}, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                job.id,
                job.space_id,
                job.kind,
                job.entity_id,
                job.state.value,
                micros(job.due_at),
                micros(job.created_at),
                job.attempts,
                job.error,
                json.dumps(job.payload, ensure_ascii=False),
                micros(job.created_at),
            ),
        )

    def claim(self, kinds: Sequence[str], now: datetime) -> Job | None:
        rows = self._connection.execute(
            f"""
            SELECT {_COLUMNS} FROM jobs WHERE state = 'queued' AND due_at <= ? AND kind IN ({marks(kinds)})
            ORDER BY due_at, id LIMIT 1
            """,
            (micros(now), *kinds),
        )
        if not rows:
            return None
        job = replace(_job(rows[0]), state=JobState.RUNNING)
        self.finish(job, now)
        return job

    def finish(self, job: Job, now: datetime) -> None:
        self._connection.execute(
            "UPDATE jobs SET state = ?, attempts = ?, error = ?, due_at = ?, updated_at = ? WHERE space_id = ? AND id = ?",
            (job.state.value, job.attempts, job.error, micros(job.due_at), micros(now), job.space_id, job.id),
        )

    def discard(self, space_id: str, kind: str, entity_ids: Sequence[str]) -> None:
        self._connection.execute(
            f"DELETE FROM jobs WHERE space_id = ? AND kind = ? AND entity_id IN ({marks(entity_ids)})",
            (space_id, kind, *entity_ids),
        )

    def next_due(self, kinds: Sequence[str]) -> datetime | None:
        rows = self._connection.execute(
            f"SELECT MIN(due_at) FROM jobs WHERE state = 'queued' AND kind IN ({marks(kinds)})", tuple(kinds)
        )
        return instant_or_none(rows[0][0])

    def counts(self) -> dict[tuple[str, str], int]:
        rows = self._connection.execute("SELECT kind, state, COUNT(*) FROM jobs GROUP BY kind, state")
        return {(kind, state): count for kind, state, count in rows}

    def requeue_running(self) -> int:
        rows = self._connection.execute("UPDATE jobs SET state = 'queued' WHERE state = 'running' RETURNING id")
        return len(rows)


def _job(row: tuple[Any, ...]) -> Job:
    return Job(
        id=row[0],
        space_id=row[1],
        kind=row[2],
        entity_id=row[3],
        state=JobState(row[4]),
        due_at=instant_at(row[5]),
        created_at=instant_at(row[6]),
        attempts=row[7],
        error=row[8],
        payload=json.loads(row[9]),
    )
