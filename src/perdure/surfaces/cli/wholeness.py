"""Whether the vault of this home opens and every page of it is sound, asked of its daemon."""

from __future__ import annotations

from perdure.domain.vault import AUTOMATIC_SLOTS
from perdure.surfaces.bridge.start import ask_to_stop
from perdure.surfaces.cli.client import Daemon
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.diagnosis import FAULT, NOTE, WELL, Finding
from perdure.surfaces.cli.failure import LOCKED, Failure
from perdure.surfaces.cli.processes import running

PART = "Vault, every page"


def read_through(invocation: Invocation) -> list[Finding]:
    """Nothing where there is no vault. A daemon that must be started for it is stopped again."""
    home = invocation.launch.home
    if not (home.vault_file.exists() and home.header_file.exists()):
        return []
    try:
        was_running = running(invocation.launch) is not None
        daemon = invocation.daemon
    except Failure as failure:
        return [Finding(part=PART, state=FAULT, what=f"was not read: {failure.message}", mend="see above, or `perdure serve`")]
    try:
        return _read(daemon)
    finally:
        if not was_running:
            ask_to_stop(daemon.state)


def _read(daemon: Daemon) -> list[Finding]:
    try:
        slots = {slot["kind"] for slot in daemon.get("/api/vault")["slots"]}
        try:
            daemon.post("/api/vault/unlock", {})
        except Failure as failure:
            if failure.exit_code != LOCKED:
                raise
            return [_locked(failure, opens_by_itself=bool(slots & set(AUTOMATIC_SLOTS)))]
        faults = daemon.post("/api/vault/check", {"deep": True})["faults"]
    except Failure as failure:
        return [Finding(part=PART, state=FAULT, what=failure.message, mend="`perdure vault restore FOLDER`")]
    if faults:
        what = f"is damaged: {faults[0]}" + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else "")
        return [Finding(part=PART, state=FAULT, what=what, mend="restore a backup: `perdure vault restore FOLDER`")]
    return [Finding(part=PART, state=WELL, what="was read and is sound")]


def _locked(failure: Failure, *, opens_by_itself: bool) -> Finding:
    if opens_by_itself:
        what = f"its own key does not open it: {failure.message}"
        mend = "put the right vault.key back, or open it with a passphrase or recovery key: `perdure vault unlock`"
        return Finding(part=PART, state=FAULT, what=what, mend=mend)
    return Finding(part=PART, state=NOTE, what="was not read, because it is locked", mend="perdure vault unlock")
