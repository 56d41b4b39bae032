"""The vault: status, lock, unlock, backup, restore, rekey, check, export for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from perdure.surfaces.cli.command import command, group
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.failure import ERROR, OK
from perdure.surfaces.cli.secrets import ask_new, with_secret
from perdure.surfaces.cli.terminal import remark, waiting, write_fields, write_json, write_text

FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


@group("vault", "perdure vault status", "perdure vault backup ~/backups/2026-08-14", "perdure vault key add passphrase")
def vault() -> None:
    """Lock, unlock, back up, restore and check the encrypted vault."""


@command("status", "perdure vault status", "perdure vault status --json")
def status(invocation: Invocation) -> None:
    """Tell where the vault lies, whether it is open, and what opens it."""
    document = invocation.daemon.get("/api/vault")
    if invocation.as_json:
        write_json(document)
        return
    write_fields(
        [
            ("state", document["state"]),
            ("file", document["path"]),
            ("size", f"{document['size_bytes']:,} bytes"),
            ("cipher", document["cipher"]),
            ("vault id", document.get("vault_id")),
            ("opens with", ", ".join(slot["kind"] for slot in document["slots"])),
            ("locks itself", _locks_itself(document)),
        ]
    )


def _locks_itself(document: dict[str, Any]) -> str:
    minutes = document["auto_lock_minutes"]
    if minutes and not document["auto_locks"]:
        return f"never: auto_lock_minutes is {minutes}, but that takes a passphrase and no key that opens it by itself"
    return f"after {minutes} idle minutes" if minutes else "never"


@command("lock", "perdure vault lock")
def lock(invocation: Invocation) -> None:
    """Close the vault and forget its key; nothing is read or captured until it is unlocked.

    Needs a passphrase or recovery key, or nothing could open it again.
    """
    invocation.tell(invocation.daemon.post("/api/vault/lock"), "Locked.")


@command("unlock", "perdure vault unlock", "pass perdure | perdure vault unlock")
def unlock(invocation: Invocation) -> None:
    """Open the vault. The passphrase or recovery key is asked for, or read from standard input."""

    def call(secret: str | None) -> Any:
        return invocation.daemon.post("/api/vault/unlock", {"secret": secret} if secret else {})

    invocation.tell(with_secret(invocation, call), "Open.")


@command("backup", "perdure vault backup ~/backups/2026-08-14")
@click.argument("folder", type=FOLDER)
def backup(invocation: Invocation, folder: Path) -> None:
    """Copy the vault into FOLDER, which must be new or empty, while work goes on.

    The copy is encrypted and opens with the same keys. The key file is not in it: keep a passphrase or recovery key as well.
    """
    target = _absolute(folder)
    with waiting("Copying the vault"):
        answer = invocation.daemon.post("/api/vault/backup", {"folder": str(target)})
    invocation.tell(answer, f"Backed up to {target}.")


@command("restore", "perdure vault restore ~/backups/2026-08-14", "perdure vault restore FOLDER --yes")
@click.argument("folder", type=FOLDER)
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(invocation: Invocation, folder: Path, yes: bool) -> None:
    """Take a backup instead of the present vault. It is tried first, and the present one stays beside it."""
    source = _absolute(folder)
    if not yes:
        click.confirm(f"Replace the present vault by the backup in {source}?", abort=True, err=True)

    def call(secret: str | None) -> Any:
        with waiting("Trying the backup"):
            body = {"folder": str(source), **({"secret": secret} if secret else {})}
            return invocation.daemon.post("/api/vault/restore", body)

    answer = with_secret(invocation, call)
    invocation.tell(answer, f"Restored; the vault that was there is kept in {answer['kept']}.")


@command("rekey", "perdure vault rekey")
def rekey(invocation: Invocation) -> None:
    """Encrypt everything under a new key. What opened the vault still opens it; a backup keeps the old key."""

    def call(secret: str | None) -> Any:
        with waiting("Encrypting anew"):
            return invocation.daemon.post("/api/vault/rekey", {"secret": secret} if secret else {})

    invocation.tell(with_secret(invocation, call), "Everything is encrypted under a new key.")


@command("check", "perdure vault check", "perdure vault check --quick")
@click.option("--deep/--quick", default=True, help="Read every page, which is the default, or look at the index alone.")
def check(invocation: Invocation, deep: bool) -> int:
    """Look for damage in the vault's file. Exits with 1 when there is some."""
    with waiting("Checking the vault"):
        answer = invocation.daemon.post("/api/vault/check", {"deep": deep})
    faults = answer["faults"]
    if invocation.as_json:
        write_json(answer)
    elif faults:
        write_text("\n".join(str(fault) for fault in faults))
        remark("Restore a backup: perdure vault restore FOLDER")
    else:
        write_text("The vault is whole.")
    return ERROR if faults else OK


@command("export-sqlcipher", "perdure vault export-sqlcipher memories.sqlcipher")
@click.argument("file", type=FILE)
def export_sqlcipher(invocation: Invocation, file: Path) -> None:
    """Write a copy in SQLCipher 4 format, which other tools open with a passphrase of its own (asked for)."""
    target = _absolute(file)
    body = {"target": str(target), "passphrase": ask_new("Passphrase for the copy")}
    with waiting("Writing the copy"):
        answer = invocation.daemon.post("/api/vault/export-sqlcipher", body)
    invocation.tell(answer, f"Written to {target}.")


def _absolute(path: Path) -> Path:
    """As this process means it: the daemon works in another folder."""
    return path.expanduser().absolute()


vault.adopt("Vault", status, lock, unlock, backup, restore, rekey, check, export_sqlcipher)
