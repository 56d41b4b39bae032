"""Builds App: opens engines, picks providers, wires services."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from perdure.app import App
from perdure.bootstrap.models import embedder_of
from perdure.domain.launch import Home, Launch
from perdure.domain.version import VERSION
from perdure.engines.header.document import RECOMMENDED
from perdure.engines.header.header import FileKeyHeader
from perdure.engines.sqlite.engine import SqliteEngine
from perdure.ports.vault import KeyHeader, VaultEngine
from perdure.providers.keyring import SystemKeyring
from perdure.providers.stemming import english_stem
from perdure.services.access import AccessService
from perdure.services.audit import AuditService
from perdure.services.health import HealthService
from perdure.services.jobs import JobService
from perdure.services.memories.service import MemoryService
from perdure.services.memories.transfer import TransferService
from perdure.services.memories.writing import EXPIRE_JOB
from perdure.services.retrieval.embedding import EmbeddingService, MakeEmbedder
from perdure.services.retrieval.service import RetrievalService
from perdure.services.scopes import ScopeService
from perdure.services.settings import SettingsService
from perdure.services.vault import HEADER_FILE, VAULT_FILE, VaultService


def utc_now() -> datetime:
    return datetime.now(UTC)


def build_app(launch: Launch, engine: SqliteEngine | None = None, *, make_embedder: MakeEmbedder = embedder_of) -> App:
    """Every service over the home's vault; nothing is opened yet (App.vault.start does).

    `engine`: another one than the home's, for benchmarks. `make_embedder`: another one than the settings' words name, for tests.
    """
    home = launch.home
    store = engine or SqliteEngine(home.vault_file)
    header = header_of(home)
    stem = english_stem()
    settings = SettingsService(store, {"embedder": make_embedder})
    embedding = EmbeddingService(store, settings, make_embedder)
    scopes = ScopeService(store)
    vault = VaultService(
        store, header, prepare=scopes.prepare, settings=settings, open_copy=lambda at: _copy(home, at), monotonic=time.monotonic
    )
    memories = MemoryService(store, settings, stem)
    return App(
        access=AccessService(header),
        audit=AuditService(store),
        embedding=embedding,
        health=HealthService(store, vault, embedding=embedding, version=VERSION, monotonic=time.monotonic),
        jobs=JobService(store, {EXPIRE_JOB: memories.expire}),
        memories=memories,
        retrieval=RetrievalService(store, stem, utc_now, embedding=embedding),
        scopes=scopes,
        settings=settings,
        transfer=TransferService(store, stem),
        vault=vault,
    )


def header_of(home: Home) -> FileKeyHeader:
    return _header(home, home.header_file)


def _header(home: Home, path: Path) -> FileKeyHeader:
    return FileKeyHeader(
        path,
        key_file=home.key_file,
        token_file=home.token_file,
        profile=RECOMMENDED,
        clock=utc_now,
        keyring=SystemKeyring(),
    )


def _copy(home: Home, folder: Path) -> tuple[VaultEngine, KeyHeader]:
    return SqliteEngine(folder / VAULT_FILE), _header(home, folder / HEADER_FILE)
