"""`perdure doctor`: is this home well, and does the whole loop work on this machine?"""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

import click

from perdure.surfaces.cli.command import command
from perdure.surfaces.cli.context import Invocation
from perdure.surfaces.cli.diagnosis import FAULT, Finding, examine
from perdure.surfaces.cli.failure import ERROR, OK
from perdure.surfaces.cli.proof import prove
from perdure.surfaces.cli.terminal import waiting, write_json, write_text
from perdure.surfaces.cli.wholeness import read_through


@command("doctor", "perdure doctor", "perdure doctor --quick", "perdure doctor --json")
@click.option("--quick", is_flag=True, help="Look at this home's files only; read no vault and run no daemon.")
def doctor(invocation: Invocation, quick: bool) -> int:
    """Look for what is wrong and say how to mend it.

    Looks at the home's files, keys, port and disk, without changing anything, and reads every page of the vault. Then, in a
    temporary home with a daemon of its own: start, capture, search, kill, restart, read back, back up, check. Exits with 1
    when something is wrong.
    """
    findings = examine(invocation)
    if not quick:
        with waiting("Reading the vault"):
            findings += read_through(invocation)
        with waiting("Proving the whole loop in a temporary home"):
            findings += prove(invocation.context)
    is_well = all(finding.state != FAULT for finding in findings)
    if invocation.as_json:
        home = str(invocation.launch.home.folder)
        write_json({"well": is_well, "home": home, "findings": [asdict(finding) for finding in findings]})
    else:
        write_text(_report(findings, is_well))
    return OK if is_well else ERROR


def _report(findings: list[Finding], is_well: bool) -> str:
    lines: list[str] = []
    for part, group in groupby(findings, key=lambda finding: finding.part):
        lines += ["", part]
        for finding in group:
            lines.append(f"  {finding.state:<6} {finding.what}")
            lines += [f"         mend: {finding.mend}"] if finding.mend else []
    lines += ["", "All is well." if is_well else "Something is wrong: see `mend` above."]
    return "\n".join(lines[1:])
