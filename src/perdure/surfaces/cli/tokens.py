"""Tokens: what clients show to be let in."""

from __future__ import annotations

import click

from perdure.domain.access import TokenKind
from perdure.surfaces.cli.client import part, token_of, whole_id
from perdure.surfaces.cli.command import command, group
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.terminal import remark, write_json, write_table


@group("token", "perdure token show primary", "perdure token create --kind integration --name ci")
def token() -> None:
    """Show, create, list and revoke the tokens that let clients in."""


@command(
    "show",
    "perdure token show primary",
    'curl -H "Authorization: Bearer $(perdure token show primary)" localhost:3001/api/projects',
)
@click.argument("kind", type=click.Choice([TokenKind.PRIMARY.value]))
def show_token(invocation: Invocation, kind: str) -> None:
    """Print the owner's own token. Every other token is shown once, when it is created."""
    secret = token_of(invocation.launch)
    invocation.tell({"kind": kind, "secret": secret}, secret)


@command(
    "create",
    "perdure token create --kind integration --name ci",
    "perdure token create --kind integration --name review-bot --json",
)
@click.option(
    "--kind", type=click.Choice([TokenKind.INTEGRATION.value, TokenKind.PRIMARY.value]), required=True, help="What it may do."
)
@click.option("--name", required=True, metavar="TEXT", help="Who it is for; memories say so.")
def create_token(invocation: Invocation, kind: str, name: str) -> None:
    """Create a token and print its secret, which is shown this once.

    \b
    integration  an agent: captures and searches, without the tools of the primary token
    primary      another machine of the owner's: may do everything
    """
    answer = invocation.daemon.post("/api/tokens", {"kind": kind, "name": name})
    invocation.tell(answer, answer["secret"])
    if not invocation.as_json:
        remark(f"Token {answer['id']}, shown this once. Revoke it with: perdure token revoke {answer['id']}")


@command("list", "perdure token list", "perdure token list --json")
def list_tokens(invocation: Invocation) -> None:
    """List the tokens, revoked ones too; secrets are not kept."""
    answer = invocation.daemon.get("/api/tokens")
    if invocation.as_json:
        write_json(answer)
        return
    rows = [
        [
            t["kind"],
            t["name"],
            t["created_at"][:10],
            f"revoked {t['revoked_at'][:10]}" if t["revoked_at"] else "valid",
            t["id"],
        ]
        for t in answer["items"]
    ]
    write_table(["kind", "name", "since", "state", "id"], rows, none="No tokens.")


@command("revoke", "perdure token revoke ID")
@click.argument("token_id", metavar="ID")
def revoke_token(invocation: Invocation, token_id: str) -> None:
    """Shut a token out, at once and for ever. The beginning of its ID is enough."""
    found = whole_id(invocation.daemon.get("/api/tokens")["items"], token_id, "token")
    invocation.tell(invocation.daemon.delete(f"/api/tokens/{part(found)}"), "Revoked.")


token.adopt("Tokens", show_token, create_token, list_tokens, revoke_token)
