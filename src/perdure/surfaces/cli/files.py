"""The files of an export: written whole or not at all, readable by the owner alone, never outside the folder named."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from perdure.domain.markdown import from_markdown, markdown_path, to_markdown
from perdure.errors import InvalidInput
from perdure.surfaces.cli.failure import Failure

Write = Callable[[dict[str, Any]], None]
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
STDIO = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One record to import, as a line of JSON; `place` names where it stands, `fault` says why it cannot be read."""

    place: str
    line: bytes = b""
    fault: str | None = None


class JsonLines:
    """One record a line into a file, which appears when it is complete, or into standard output."""

    def __init__(self, target: Path, *, force: bool) -> None:
        self._target = target
        self._force = force

    def __enter__(self) -> Write:
        if self._target == STDIO:
            self._file: IO[bytes] = sys.stdout.buffer
        else:
            if self._target.exists() and not self._force:
                raise Failure("conflict", f"{self._target} is there already; name another file, or replace it with --force.")
            self._partial = self._target.with_name(f"{self._target.name}.{os.getpid()}.partial")
            self._file = open(os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb")
        return self._write

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._target == STDIO:
            self._file.flush()
            return
        self._file.close()
        if kind is None:
            self._partial.replace(self._target)
        else:
            self._partial.unlink()


class MarkdownFolder:
    """One file a memory into a new or empty folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Write:
        if self._folder.exists() and (not self._folder.is_dir() or any(self._folder.iterdir())):
            raise Failure("conflict", f"{self._folder} is there already and not empty; name a new folder.")
        self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        return self._write

    def _write(self, record: dict[str, Any]) -> None:
        folder_name, file_name = markdown_path(record)
        folder = self._folder / folder_name
        folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        with open(_new_file(folder / file_name), "wb") as file:
            file.write(to_markdown(record).encode())

    def __exit__(self, *_: object) -> None:
        """What was written until an error stays: each file is whole."""


def read_sources(source: Path) -> Iterator[Source]:
    """Every record of a JSONL file, standard input, a Markdown file, or a folder of those, projects first."""
    if source == STDIO:
        yield from _lines(sys.stdin.buffer)
    elif source.is_dir():
        for path in _markdown_files(source):
            yield _markdown(path, path.relative_to(source).as_posix())
    elif source.suffix.lower() == ".md":
        yield _markdown(source, source.name)
    else:
        with open(source, "rb") as file:
            yield from _lines(file)


def count_sources(source: Path) -> int | None:
    """How many records there are at most; None where that is not known before they were read."""
    if source == STDIO:
        return None
    if source.is_dir():
        return len(_markdown_files(source))
    with open(source, "rb") as file:
        return 1 if source.suffix.lower() == ".md" else sum(1 for _ in file)


def _lines(file: Iterable[bytes]) -> Iterator[Source]:
    for number, line in enumerate(file, start=1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if text:
            yield Source(place=f"line {number}", line=text)


def _markdown_files(folder: Path) -> list[Path]:
    """Without symbolic links: they could lead outside (FAULTS PT4)."""
    found = [
        Path(parent) / name
        for parent, _, names in os.walk(folder, followlinks=False)
        for name in names
        if name.lower().endswith(".md") and not (Path(parent) / name).is_symlink()
    ]
    return sorted(found, key=lambda path: (not path.name.startswith("project-"), path))


def _markdown(path: Path, place: str) -> Source:
    try:
        record = from_markdown(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        return Source(place=place, fault=f"is not UTF-8 (byte {error.start})")
    except InvalidInput as error:
        return Source(place=place, fault=error.message)
    return Source(place=place, line=json.dumps(record).encode())


def _new_file(path: Path) -> int:
    """A file that was not there before, under that name or, where it is taken, with a number."""
    for number in range(1, 1000):
        candidate = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        with contextlib.suppress(FileExistsError):
            return os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    raise Failure("conflict", f"{path} is there already.")
