"""`perdure`: the commands, and how each way to end becomes an exit code."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Sequence

import click

from perdure.domain.version import VERSION
from perdure.errors import PerdureError
from perdure.surfaces.cli import changes, doctor, keys, memories, processes, settings, tokens, transfer, vault
from perdure.surfaces.cli.command import Group
from perdure.surfaces.cli.context import CliContext, Invocation
from perdure.surfaces.cli.failure import ERROR, EXIT_CODES, INTERRUPTED, OK, USAGE, Failure
from perdure.surfaces.cli.terminal import make_safe
from perdure.surfaces.cli.wording import in_cli_words


@click.group(cls=Group, epilog="\b\nExit codes:\n" + "\n".join(f"  {code:<4} {what}" for code, what in EXIT_CODES.items()))
@click.version_option(VERSION, prog_name="perdure", message="%(prog)s %(version)s")
def root() -> None:
    """One encrypted memory for AI agents, on your own machine.

    What agents capture over MCP is kept in one vault; these commands read it, change it and look after it. A command that
    needs the daemon starts it. `perdure COMMAND --help` shows examples.
    """


root.adopt("Run", processes.serve, processes.stop, processes.mcp, processes.status, doctor.doctor, processes.bench)
root.adopt("Remember", memories.capture, memories.ingest)
root.adopt("Find", memories.search, memories.context, memories.show, memories.recent, memories.projects, memories.versions)
root.adopt("Change", changes.edit, changes.review, changes.archive, changes.restore, changes.purge)
root.adopt("Move", transfer.export_memories, transfer.import_memories)
root.adopt("Look after", vault.vault, tokens.token, settings.settings)
vault.vault.adopt("Keys", keys.key)


def run(argv: Sequence[str], context: CliContext) -> int:
    """Run one command line; answers the exit code (see failure.py)."""
    make_safe()
    options = argv[: argv.index("--")] if "--" in argv else argv
    invocation = Invocation(context, as_json="--json" in options)  # said before parsing, for errors in parsing too
    try:
        result = root.main(args=list(argv), prog_name="perdure", obj=invocation, standalone_mode=False)
        return result if isinstance(result, int) else OK
    except click.Abort:
        return _tell(invocation, "interrupted", "Stopped.", INTERRUPTED)
    except KeyboardInterrupt:
        return _tell(invocation, "interrupted", "Stopped.", INTERRUPTED)
    except click.ClickException as error:
        if not invocation.as_json:
            error.show()
            return error.exit_code
        return _tell(invocation, "usage", error.format_message(), USAGE)
    except (Failure, PerdureError) as error:
        return _tell(invocation, error.code, in_cli_words(error.message), Failure(error.code, "").exit_code)
    except OSError as error:
        return _tell(invocation, *_told(error), ERROR)


def _told(error: OSError) -> tuple[str, str]:
    """Code and message, naming the file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = error.filename or "standard output"
        return "disk_full", f"{place}: the disk is full. Free some space, or name another place, and try again."
    return "io", f"{error.filename or 'input'}: {error.strerror or type(error).__name__}"


def _tell(invocation: Invocation, code: str, message: str, exit_code: int) -> int:
    if invocation.as_json:
        print(json.dumps({"error": {"code": code, "message": message}}), file=sys.stderr)
    else:
        click.secho(f"perdure: {message}", err=True, fg="red" if exit_code != INTERRUPTED else None)
    return exit_code
