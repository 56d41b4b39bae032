"""Asking for passphrases: never echoed, never an argument, read from standard input in a pipe."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable
from typing import TypeVar

from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.failure import LOCKED, Failure

Answer = TypeVar("Answer")


def ask(question: str) -> str:
    """One line, without its end. Raises Failure for an empty one."""
    secret = getpass.getpass(f"{question}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise Failure("invalid_input", f"{question}: must not be empty; type it, or pipe it in.")
    return secret


def ask_new(question: str) -> str:
    """A new one; typed twice on a terminal."""
    secret = ask(question)
    if sys.stdin.isatty() and ask("The same again") != secret:
        raise Failure("invalid_input", "The two passphrases differ; nothing was changed.")
    return secret


def with_secret(invocation: Invocation, call: Callable[[str | None], Answer]) -> Answer:
    """What the call answers; where the vault does not open by itself, again with a passphrase or recovery key.

    PERDURE_PASSPHRASE is taken before anybody is asked.
    """
    try:
        return call(invocation.launch.passphrase)
    except Failure as failure:
        if failure.exit_code != LOCKED or invocation.launch.passphrase:
            raise
    return call(ask("Passphrase or recovery key"))
