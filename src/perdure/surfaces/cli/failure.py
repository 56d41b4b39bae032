"""How a command fails: a code for programs, a message for people, an exit code for shells."""

from __future__ import annotations

OK, ERROR, USAGE, LOCKED, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 4, 130
EXIT_CODES: dict[int, str] = {
    OK: "done",
    ERROR: "an error; the message says what was wrong and what to do",
    USAGE: "the command line was not understood; nothing was done",
    LOCKED: "the vault is locked, or the key was wrong",
    UNREACHABLE: "the daemon does not run, or does not answer",
    INTERRUPTED: "stopped with Ctrl-C",
}
_BY_CODE = {"vault_locked": LOCKED, "daemon_unreachable": UNREACHABLE, "usage": USAGE}


class Failure(Exception):
    """`code` is the daemon's own, or `daemon_unreachable`, `usage` or `refused` (not agreed to, or some records were refused)."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)

    @property
    def exit_code(self) -> int:
        return _BY_CODE.get(self.code, ERROR)
