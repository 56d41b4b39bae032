"""What is looked at in a home as it stands, without changing it or starting its daemon."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import shutil
import socket
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from perdure.domain.launch import DEFAULT_PORT, Home, Launch
from perdure.domain.vault import AUTOMATIC_SLOTS, SlotKind, VaultState, VaultStatus
from perdure.surfaces.bridge.state import DaemonState
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.processes import running

WELL, NOTE, FAULT = "ok", "note", "wrong"
LITTLE_BYTES, ALMOST_NONE_BYTES = 2_000_000_000, 200_000_000
PLAIN_SQLITE = b"SQLite format 3\0"
UNPROTECTED = {
    SlotKind.KEY_FILE: "the key lies beside the vault: whoever can read this home, or a copy of all of it, can open it",
    SlotKind.KEYRING: "any program that runs as you while you are logged in can ask the keyring for the key",
    SlotKind.PASSPHRASE: "a passphrase that can be guessed, and a vault that is left unlocked, protect nothing",
    SlotKind.RECOVERY: "whoever finds the written recovery key can open every copy of the vault",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`state` is ok, note (worth knowing) or wrong; `mend` says what to do."""

    part: str
    state: str
    what: str
    mend: str | None = None


def examine(invocation: Invocation) -> list[Finding]:
    import asyncio  # noqa: PLC0415 - costs 20 ms, which every other command would pay too

    launch = invocation.launch
    state = running(launch)
    status = asyncio.run(invocation.context.build_app(launch).vault.status())
    return [
        *_place(launch.home.folder),
        *_permissions(launch),
        *_writable(launch.home),
        _token(launch, status),
        *_driver(),
        *_vault(launch, status),
        *_keys(launch.home, status),
        _port(launch, state),
        _disk(launch.home.folder),
    ]


def _place(folder: Path) -> list[Finding]:
    """FAULTS DL11: a reinstalled program must never take the data with it."""
    installed = [Path(sys.prefix), Path(__file__).resolve().parents[2]]
    if any(folder.resolve().is_relative_to(place) for place in installed):
        mend = "move it elsewhere and name it with --home or PERDURE_HOME"
        return [Finding(part="Home", state=FAULT, what=f"{folder} lies inside the installed program", mend=mend)]
    there = "" if folder.is_dir() else " (not made yet: `perdure serve` makes it)"
    return [Finding(part="Home", state=WELL, what=f"everything lies in {folder}{there}")]


def _permissions(launch: Launch) -> list[Finding]:
    if os.name == "nt":
        return [Finding(part="Home", state=NOTE, what="file permissions are not examined on Windows")]
    home = launch.home
    private = [home.folder, home.vault_folder, home.vault_file, home.header_file, home.key_file, home.token_file, home.run_folder]
    findings = [
        Finding(
            part="Home",
            state=FAULT,
            what=f"{path} can be read by others",
            mend=f"chmod go= {path}",
        )
        for path in private
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    return findings or [Finding(part="Home", state=WELL, what="its files can be read by you alone")]


def _writable(home: Home) -> list[Finding]:
    """What perdure writes to; a folder that is not there yet is made."""
    written = [home.folder, home.vault_folder, home.run_folder, home.log_folder, home.vault_file, home.header_file]
    return [
        Finding(part="Home", state=FAULT, what=f"{path} cannot be written", mend=f"chmod u+rwX {path}, or chown it to yourself")
        for path in written
        if path.exists() and not os.access(path, os.W_OK | (os.X_OK if path.is_dir() else 0))
    ]


def _driver() -> list[Finding]:
    """Plain `apsw` installs the same module, would win, and would write a plain vault."""
    names = {(dist.metadata["Name"] or "").lower().replace("_", "-") for dist in importlib.metadata.distributions()}
    if "apsw" in names:
        mend = "pip uninstall apsw apsw-sqlite3mc; pip install apsw-sqlite3mc"
        return [Finding(part="Vault", state=FAULT, what="the plain apsw is installed beside the encrypting one", mend=mend)]
    if "apsw-sqlite3mc" not in names:
        mend = "pip install apsw-sqlite3mc"
        return [Finding(part="Vault", state=FAULT, what="the encrypting SQLite driver is not installed", mend=mend)]
    version = importlib.metadata.version("apsw-sqlite3mc")
    return [Finding(part="Vault", state=WELL, what=f"the encrypting SQLite driver is installed (apsw-sqlite3mc {version})")]


def _vault(launch: Launch, status: VaultStatus) -> list[Finding]:
    home = launch.home
    if status.state is VaultState.MISSING and not home.header_file.exists():
        return [Finding(part="Vault", state=NOTE, what="there is none yet; `perdure serve` makes it")]
    for path in (home.vault_file, home.header_file):
        if not path.exists():
            mend = f"put {path.name} back, or `perdure vault restore FOLDER`"
            return [Finding(part="Vault", state=FAULT, what=f"{path} is missing; nothing is made in its place", mend=mend)]
    try:
        with open(home.vault_file, "rb") as file:
            head = file.read(len(PLAIN_SQLITE))
    except OSError as error:
        return [
            Finding(
                part="Vault", state=FAULT, what=f"{home.vault_file} cannot be read ({error.strerror})", mend="chown or chmod it"
            )
        ]
    if head == PLAIN_SQLITE:
        mend = "stop perdure and restore an encrypted backup: `perdure vault restore FOLDER`"
        return [Finding(part="Vault", state=FAULT, what=f"{home.vault_file} is not encrypted", mend=mend)]
    return [Finding(part="Vault", state=WELL, what=f"{home.vault_file}: {status.size_bytes:,} bytes, cipher {status.cipher}")]


def _keys(home: Home, status: VaultStatus) -> list[Finding]:
    missing = any(slot.kind is SlotKind.KEY_FILE for slot in status.slots) and not home.key_file.exists()
    mend = "put it back from a copy of this home, or open the vault with `perdure vault unlock`, then remove and add the key file"
    findings = [Finding(part="Keys", state=FAULT, what=f"{home.key_file} is missing", mend=mend)] if missing else []
    findings += [
        Finding(part="Keys", state=NOTE, what=f"{slot.kind} since {slot.created_at:%Y-%m-%d}: {UNPROTECTED[slot.kind]}")
        for slot in status.slots
    ]
    if status.slots and all(slot.kind in AUTOMATIC_SLOTS for slot in status.slots):
        mend = "perdure vault key add recovery"
        what = "only this machine can open the vault: a backup elsewhere would be lost with it"
        findings.append(Finding(part="Keys", state=NOTE, what=what, mend=mend))
    return findings


def _token(launch: Launch, status: VaultStatus) -> Finding:
    path = launch.home.token_file
    if status.slots and not path.exists():
        mend = "`perdure stop` and then `perdure serve` make a new one"
        return Finding(part="Home", state=FAULT, what=f"{path} is missing, so commands are not let in", mend=mend)
    there = "" if path.exists() else " once there is a vault"
    return Finding(part="Home", state=WELL, what=f"the primary token lies in {path}{there}")


def _port(launch: Launch, state: DaemonState | None) -> Finding:
    if state is not None:
        return Finding(part="Daemon", state=WELL, what=f"process {state.pid} listens on {', '.join(state.urls)}")
    port = launch.port or DEFAULT_PORT
    if _is_free(port):
        return Finding(part="Daemon", state=WELL, what=f"does not run; port {port} is free")
    mend = "end what holds it, or start with another: `perdure serve --port N`"
    return Finding(part="Daemon", state=NOTE, what=f"does not run; another program holds port {port}", mend=mend)


def _is_free(port: int) -> bool:
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
    return True


def _disk(folder: Path) -> Finding:
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free
    what = f"{free / 1e9:.1f} GB free"
    if free < ALMOST_NONE_BYTES:
        return Finding(part="Disk", state=FAULT, what=what, mend="free some space: a full disk stores nothing more")
    return Finding(part="Disk", state=NOTE if free < LITTLE_BYTES else WELL, what=what)
