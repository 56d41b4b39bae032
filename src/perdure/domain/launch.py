"""Where perdure lives on this machine and how it is started: decided by bootstrap, before any vault is open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_PORT = 3001


@dataclass(frozen=True, slots=True)
class Home:
    """One folder holds everything; deleting it deletes perdure's data and nothing else."""

    folder: Path

    @property
    def vault_folder(self) -> Path:
        return self.folder / "vault"

    @property
    def vault_file(self) -> Path:
        return self.vault_folder / "vault.db"

    @property
    def header_file(self) -> Path:
        return self.vault_folder / "header.json"

    @property
    def key_file(self) -> Path:
        """Opens the vault without a question; 0600. Outside the vault's folder, so that copying that folder copies no key."""
        return self.folder / "vault.key"

    @property
    def token_file(self) -> Path:
        """The primary token's secret, 0600, for the owner's own clients."""
        return self.folder / "token"

    @property
    def run_folder(self) -> Path:
        """0700: the local socket, the daemon's state and its lock."""
        return self.folder / "run"

    @property
    def state_file(self) -> Path:
        """What the running daemon tells: pid, version, addresses, socket."""
        return self.run_folder / "daemon.json"

    @property
    def lock_file(self) -> Path:
        """Held by the one daemon as long as it lives."""
        return self.run_folder / "daemon.lock"

    @property
    def tools_cache(self) -> Path:
        """Discovery and tools/list answers, for a bridge whose daemon is still starting; no stored text."""
        return self.run_folder / "tools.json"

    @property
    def log_folder(self) -> Path:
        return self.folder / "logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How this process was asked to run. `host` None: loopback, both 127.0.0.1 and ::1. `port` None: 3001, or a free one."""

    home: Home
    host: str | None = None
    port: int | None = None
    token: str | None = None
    passphrase: str | None = None
    log_level: str = "info"
