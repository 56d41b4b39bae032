"""The source tree as the checks see it: one parsed file each."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "perdure"
TESTS = ROOT / "tests"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class SourceFile:
    """`path` is relative to the repository and with forward slashes, such as `src/perdure/domain/memory.py`."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @cached_property
    def methods(self) -> set[Function]:
        """The functions that stand directly in a class."""
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        return {node for cls in classes for node in cls.body if isinstance(node, Function)}

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def floor(self) -> str:
        """The part below `src/perdure/`: a folder or a module's name; empty outside the package."""
        parts = self.path.split("/")
        return parts[2].removesuffix(".py") if parts[:2] == ["src", "perdure"] and len(parts) > 2 else ""

    def comments(self) -> Iterator[tuple[int, str]]:
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string

    def imports(self, within: ast.AST | None = None) -> Iterator[tuple[int, str]]:
        """(line, dotted module) of every absolute import; `from a import b` gives `a`."""
        for node in ast.walk(within or self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.lineno, node.module

    def at(self, line: int, what: str) -> str:
        return f"{self.path}:{line}: {what}"


def dotted(node: ast.AST) -> list[str]:
    """`app.memories.capture` as its parts; what is not a plain chain of names gives the parts right of it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else parts


def read(folder: Path) -> list[SourceFile]:
    """Every Python file below the folder, in a stable order."""
    paths = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    return [SourceFile(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths]


def source() -> list[SourceFile]:
    return read(SOURCE)


def everything() -> list[SourceFile]:
    return [*source(), *read(TESTS), *read(ROOT / "bench")]
