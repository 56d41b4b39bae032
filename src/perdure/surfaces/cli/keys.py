"""The ways to open the vault: `perdure vault key …`."""

from __future__ import annotations

from typing import Any

import click

from perdure.domain.vault import SlotKind
from perdure.surfaces.cli.client import part, whole_id
from perdure.surfaces.cli.command import command, group
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.secrets import ask_new, with_secret
from perdure.surfaces.cli.terminal import remark, write_json, write_table


@group("key", "perdure vault key list", "perdure vault key add recovery", "perdure vault key remove ID")
def key() -> None:
    """List, add and remove the ways to open the vault."""


@command("list", "perdure vault key list", "perdure vault key list --json")
def list_keys(invocation: Invocation) -> None:
    """List the ways to open the vault."""
    answer = invocation.daemon.get("/api/vault/keys")
    if invocation.as_json:
        write_json(answer)
        return
    rows = [[slot["kind"], slot["created_at"][:10], slot["id"]] for slot in answer["items"]]
    write_table(["kind", "since", "id"], rows, none="No keys.")


@command("add", "perdure vault key add passphrase", "perdure vault key add recovery", "perdure vault key add keyring")
@click.argument("kind", type=click.Choice([kind.value for kind in SlotKind]))
def add_key(invocation: Invocation, kind: str) -> None:
    """Add a way to open the vault.

    \b
    passphrase  asked for; a person must type it
    recovery    a long key that is shown once: write it down
    keyring     kept by the operating system's keyring; opens by itself
    key_file    a file in the home folder, readable by you alone; opens by itself
    """
    secret = ask_new("New passphrase") if kind == SlotKind.PASSPHRASE else None

    def call(unlock: str | None) -> Any:
        given = {"kind": kind, "secret": secret, "unlock": unlock}
        return invocation.daemon.post("/api/vault/keys", {name: value for name, value in given.items() if value})

    answer = with_secret(invocation, call)
    recovery = (answer or {}).get("recovery_key")
    invocation.tell(answer, recovery or f"Added {kind}.")
    if recovery:
        remark("This recovery key opens the vault and is shown this once: write it down and keep it away from this machine.")


@command("remove", "perdure vault key remove 3f2a")
@click.argument("slot_id", metavar="ID")
def remove_key(invocation: Invocation, slot_id: str) -> None:
    """Remove a way to open the vault; the last one stays. The beginning of its ID is enough."""
    found = whole_id(invocation.daemon.get("/api/vault/keys")["items"], slot_id, "key")
    invocation.tell(invocation.daemon.delete(f"/api/vault/keys/{part(found)}"), "Removed.")


key.adopt("Keys", list_keys, add_key, remove_key)
