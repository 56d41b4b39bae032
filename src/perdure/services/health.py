"""Is perdure well? Version, uptime and what the vault holds; answers while the vault is locked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perdure.domain.retrieval import Filter
from perdure.domain.vault import VaultState, VaultStatus
from perdure.ports.store import Session, Store
from perdure.services.access import OWNER_ID
from perdure.services.retrieval.embedding import EmbeddingService
from perdure.services.vault import VaultService


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """`uptime_s` in seconds; the counts are None while the vault is locked. `embedding` tells of the vector leg."""

    version: str
    uptime_s: float
    vault: VaultStatus
    memories: int | None
    projects: int | None
    jobs: dict[str, int] | None
    embedding: str


class HealthService:
    def __init__(
        self,
        store: Store,
        vault: VaultService,
        *,
        embedding: EmbeddingService,
        version: str,
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._vault = vault
        self._embedding = embedding
        self._version = version
        self._monotonic = monotonic
        self._started = monotonic()

    @property
    def version(self) -> str:
        return self._version

    async def health(self) -> Health:
        status = await self._vault.status()
        counts = await self._store.read(_counts) if status.state is VaultState.OPEN else (None, None, None)
        return Health(
            version=self._version,
            uptime_s=self._monotonic() - self._started,
            vault=status,
            memories=counts[0],
            projects=counts[1],
            jobs=counts[2],
            embedding=await self._vectors() if status.state is VaultState.OPEN else "unavailable",
        )

    async def _vectors(self) -> str:
        """`off`, `ready`, `N of M`, or `unavailable: why`."""
        coverage = await self._embedding.coverage()
        if self._embedding.trouble is not None:
            return f"unavailable: {self._embedding.trouble}"
        if coverage is None:
            return "off"
        done = coverage.embedded >= coverage.documents
        return "ready" if done else f"{coverage.embedded} of {coverage.documents}"


def _counts(session: Session) -> tuple[int, int, dict[str, int]]:
    spaces = tuple(space.id for space in session.spaces.all()) or (OWNER_ID,)
    jobs = {f"{kind}.{state}": count for (kind, state), count in session.jobs.counts().items()}
    return session.memories.count(Filter(spaces=spaces)), len(session.projects.list(spaces)), jobs
