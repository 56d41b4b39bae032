"""The daemon's log: what happened, never what was said. Content, tokens and keys have no way into it."""

from __future__ import annotations

import logging
import os
import traceback
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any

MAX_BYTES = 1_000_000
KEPT_FILES = 3
OURS = "perdure"


class QuietFormatter(logging.Formatter):
    """Other packages' lines lose their arguments, and every exception its text: either could quote what a caller sent."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        ours = record.name.split(".")[0] == OURS
        quiet = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None, "stack_info": None})
        if not ours:
            # Without arguments the message may be a sentence with a value in it already; the web server's never are.
            plain = record.args or record.name == "uvicorn.error"
            quiet.msg, quiet.args = (str(record.msg).rstrip() if plain else "(message left out)"), ()
        line = super().format(quiet)
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is None:
            return line
        frames = [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)]
        return "\n".join([line, *frames, f"  {type(error).__qualname__}"])


class PrivateFileHandler(RotatingFileHandler):
    """Files that only the owner can read."""

    def _open(self) -> IO[Any]:  # type: ignore[override]  # the base class promises a TextIOWrapper, which this is
        return open(self.baseFilename, self.mode, encoding=self.encoding, opener=_private)


def write_log_to(folder: Path, level: str) -> None:
    _use(PrivateFileHandler(folder / "daemon.log", maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8"), level)


def write_log_to_stderr(level: str) -> None:
    """For a person at a terminal, who is told of trouble only unless they asked for more."""
    _use(logging.StreamHandler(), "warning" if level == "info" else level)


def _use(handler: logging.Handler, level: str) -> None:
    handler.setFormatter(QuietFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    known = logging.getLevelNamesMapping()
    logging.getLogger(OURS).setLevel(known.get(level.upper(), logging.INFO))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
