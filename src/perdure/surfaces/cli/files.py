"""The files of an export: written whole or not at all, readable by the owner alone, never outside the folder named."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
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


@contextlib.contextmanager
def json_lines(target: Path, *, force: bool) -> Iterator[Write]:
    """One record a line into a file, which appears when it is complete, or into standard output."""
    if target == STDIO:
        yield lambda record: _write_line(sys.stdout.buffer, record)
        sys.stdout.buffer.flush()
        return
    if target.exists() and not force:
        raise Failure("conflict", f"{target} is there already; name another file, or replace it with --force.")
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    with _gone_unless_whole(partial, target), _new_file(partial) as file:
        yield lambda record: _write_line(file, record)
        file.flush()
        os.fsync(file.fileno())
        partial.replace(target)


def _write_line(file: IO[bytes], record: dict[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


@contextlib.contextmanager
def markdown_folder(folder: Path) -> Iterator[Write]:
    """One file a memory into a new or empty folder. What was written until an error stays: each file is whole."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure("conflict", f"{folder} is there already and not empty; name a new folder.")
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)

    def write(record: dict[str, Any]) -> None:
        folder_name, file_name = markdown_path(record)
        inner = folder / folder_name
        inner.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        path = _free_name(inner / file_name)
        with _gone_unless_whole(path, path), _new_file(path) as file:
            file.write(to_markdown(record).encode())

    yield write


@contextlib.contextmanager
def _gone_unless_whole(path: Path, told: Path) -> Iterator[None]:
    """The file goes again where the block fails, and the error names what was to be written."""
    try:
        yield
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(told)
        raise


def _new_file(path: Path) -> IO[bytes]:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE), "wb")


def _free_name(path: Path) -> Path:
    """That path or, where it is taken, one with a number."""
    for number in range(1, 1000):
        candidate = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        if not os.path.lexists(candidate):
            return candidate
    raise Failure("conflict", f"{path} is there already.")


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
    """How many records there are at most; None where that is not known before they were read, as in a pipe."""
    if source.is_dir():
        return len(_markdown_files(source))
    if not source.is_file():
        return None
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
    if not path.is_file():
        return Source(place=place, fault="is no regular file and was not read")
    try:
        record = from_markdown(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        return Source(place=place, fault=f"is not UTF-8 (byte {error.start})")
    except InvalidInput as error:
        return Source(place=place, fault=error.message)
    except OSError as error:
        return Source(place=place, fault=f"cannot be read ({error.strerror})")
    return Source(place=place, line=json.dumps(record).encode())
