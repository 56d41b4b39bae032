"""Changing what is remembered: edit, review, archive, restore, purge."""

from __future__ import annotations

from typing import Any

import click

from perdure.domain.memory import ReviewState
from perdure.surfaces.cli.client import part
from perdure.surfaces.cli.command import command
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.failure import Failure
from perdure.surfaces.cli.memories import read_content


@command(
    "edit",
    "perdure edit ID --title 'Tokens are RS256'",
    "perdure show ID | sed s/HS256/RS256/ | perdure edit ID --content -",
    "perdure edit ID --tag auth --tag jwt --expected-version 3",
)
@click.argument("memory_id", metavar="ID")
@click.option("--content", metavar="TEXT", help="The new text; - reads standard input.")
@click.option("--title", metavar="TEXT", help="The new heading.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="The new tags, in place of the old ones; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="The new files, in place of the old ones; may be repeated.")
@click.option("--expected-version", type=click.IntRange(min=1), metavar="N", help="Refuse when it has another version by now.")
def edit(invocation: Invocation, memory_id: str, content: str | None, **fields: Any) -> None:
    """Revise a memory in place; every version is kept."""
    changes = {name: value for name, value in fields.items() if value not in (None, ())}
    if content is not None:
        changes["content"] = read_content(content)
    if not changes.keys() - {"expected_version"}:
        raise click.UsageError("Name what to change: --content, --title, --tag or --file.")
    memory = invocation.daemon.patch(_address(memory_id), changes)
    invocation.tell(memory, f"Version {memory['version']}.")


@command(
    "review",
    "perdure review ID reviewed",
    "perdure review ID disputed --note 'measured otherwise'",
    "perdure review OLD superseded --superseded-by NEW",
)
@click.argument("memory_id", metavar="ID")
@click.argument("state", type=click.Choice([state.value for state in ReviewState]))
@click.option("--superseded-by", metavar="ID", help="The memory that takes its place.")
@click.option("--note", metavar="TEXT", help="Why.")
def review(invocation: Invocation, memory_id: str, **fields: Any) -> None:
    """Set how far a memory can be trusted.

    captured, reviewed, disputed, or superseded by another, which then takes its place.
    """
    body = {name: value for name, value in fields.items() if value is not None}
    invocation.tell(invocation.daemon.post(f"{_address(memory_id)}/review", body), f"{body['state'].capitalize()}.")


@command("archive", "perdure archive ID")
@click.argument("memory_id", metavar="ID")
def archive(invocation: Invocation, memory_id: str) -> None:
    """Take a memory out of searches and lists.

    It is kept, and `perdure restore` brings it back.
    """
    invocation.tell(invocation.daemon.delete(_address(memory_id)), "Archived; `perdure restore` brings it back.")


@command("restore", "perdure restore ID")
@click.argument("memory_id", metavar="ID")
def restore(invocation: Invocation, memory_id: str) -> None:
    """Bring an archived memory back. (For a backup of the vault: `perdure vault restore`.)"""
    invocation.tell(invocation.daemon.post(f"{_address(memory_id)}/restore"), "Restored.")


@command("purge", "perdure purge ID", "perdure purge ID --confirm ID")
@click.argument("memory_id", metavar="ID")
@click.option("--confirm", metavar="ID", help="The same id again, in place of the two questions.")
def purge(invocation: Invocation, memory_id: str, confirm: str | None) -> None:
    """Erase a memory with all its versions for ever. Asks twice; backups and exports that hold it keep it."""
    if confirm is None:
        memory = invocation.daemon.get(_address(memory_id))
        count = memory["version"]
        versions = "its one version" if count == 1 else f"its {count} versions"
        click.confirm(f"Erase this {memory['kind']} and {versions} for ever?", abort=True, err=True)
        confirm = click.prompt("Type its id again", err=True)
    if confirm != memory_id:
        raise Failure("refused", "The two ids are not the same; nothing was erased.")
    invocation.tell(invocation.daemon.post(f"{_address(memory_id)}/purge", {"confirm": confirm}), "Erased.")


def _address(memory_id: str) -> str:
    return f"/api/memories/{part(memory_id)}"
