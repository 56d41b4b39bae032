"""The vault's behaviour settings."""

from __future__ import annotations

import json
from typing import Any

import click

from perdure.domain.settings import SETTINGS
from perdure.surfaces.cli.client import part
from perdure.surfaces.cli.command import command, group
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.terminal import remark, write_json, write_table


@group("settings", "perdure settings list", "perdure settings set secrets refuse")
def settings() -> None:
    """Read and change how the vault behaves. Where it lies and what is listened on are options of `perdure serve`."""


@command("list", "perdure settings list", "perdure settings list --json")
def list_settings(invocation: Invocation) -> None:
    """List every setting with its value and what it does."""
    answer = invocation.daemon.get("/api/settings")
    if invocation.as_json:
        write_json(answer)
        return
    rows = [[item["name"], _text(item["value"]), item["help"]] for item in answer["items"]]
    write_table(["name", "value", "what it does"], rows, none="No settings.")


@command("get", "perdure settings get secrets")
@click.argument("name", metavar="NAME")
def get_setting(invocation: Invocation, name: str) -> None:
    """Print a setting's value in force."""
    answer = invocation.daemon.get(_address(name))
    invocation.tell(answer, _text(answer["value"]))


@command(
    "set",
    "perdure settings set secrets refuse",
    "perdure settings set auto_lock_minutes 30",
    """perdure settings set templates '{"standup": {"kind": "note", "tags": ["standup"]}}'""",
)
@click.argument("name", metavar="NAME")
@click.argument("value", metavar="VALUE")
def set_setting(invocation: Invocation, name: str, value: str) -> None:
    """Change a setting; it holds from the next call on."""
    answer = invocation.daemon.put(_address(name), {"value": value})
    invocation.tell(answer, f"{name} = {_text(answer['value'])}")
    for note in () if invocation.as_json else answer["notes"]:
        remark(note)


@command("reset", "perdure settings reset secrets")
@click.argument("name", metavar="NAME")
def reset_setting(invocation: Invocation, name: str) -> None:
    """Put a setting back to its default."""
    answer = invocation.daemon.delete(_address(name))
    invocation.tell(answer, f"{name} = {_text(SETTINGS[name].default)}")


def _address(name: str) -> str:
    return f"/api/settings/{part(name)}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


settings.adopt("Settings", list_settings, get_setting, set_setting, reset_setting)
