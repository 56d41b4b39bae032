"""App: the frozen bundle of services that every surface is given."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.services.access import AccessService
from perdure.services.audit import AuditService
from perdure.services.health import HealthService
from perdure.services.jobs import JobService
from perdure.services.memories.service import MemoryService
from perdure.services.memories.transfer import TransferService
from perdure.services.retrieval.embedding import EmbeddingService
from perdure.services.retrieval.service import RetrievalService
from perdure.services.scopes import ScopeService
from perdure.services.settings import SettingsService
from perdure.services.vault import VaultService


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    access: AccessService
    audit: AuditService
    embedding: EmbeddingService
    health: HealthService
    jobs: JobService
    memories: MemoryService
    retrieval: RetrievalService
    scopes: ScopeService
    settings: SettingsService
    transfer: TransferService
    vault: VaultService
