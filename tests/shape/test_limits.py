"""Each house limit finds a bad sample and lets a good one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from tests.shape import limits
from tests.shape.tree import SourceFile

Limit = Callable[[Iterable[SourceFile]], list[str]]

SERVICE = "src/perdure/services/memories.py"
DOMAIN = "src/perdure/domain/memory.py"
TOOL = "src/perdure/surfaces/mcp/cortexa/memories.py"
TEST = "tests/services/test_memories.py"
PORT = SourceFile("src/perdure/ports/store.py", "class Rows(Protocol):\n    def purge(self, space, memory, at): ...\n")


def _long(lines: int) -> str:
    return "def f():\n" + "    x = 1\n" * (lines - 1)


BAD: list[tuple[Limit, str, str]] = [
    (limits.function_lengths, SERVICE, _long(71)),
    (limits.function_length_p95, SERVICE, _long(41)),
    (limits.file_lengths, SERVICE, "x = 1\n" * 401),
    (limits.parameter_counts, SERVICE, "def f(a, b, *, c, d, e, g, h): ..."),
    (limits.parameter_counts, SERVICE, "class A:\n    def f(self, a, b, *, c, d, e, g, h): ..."),
    (limits.positional_parameters, SERVICE, "def f(a, b, c): ..."),
    (limits.positional_parameters, SERVICE, "class A:\n    async def f(self, a, b, c): ..."),
    (limits.positional_parameters, SERVICE, "def f(session, a, b, c): ..."),
    (limits.positional_parameters, SERVICE, "def purge(space, memory, at): ..."),
    (limits.tool_bodies, TOOL, "@tool\nasync def f(app):\n" + "    x = 1\n" * 13),
    (
        limits.tool_bodies,
        TOOL,
        "@tool(primary=True)\nasync def f(app):\n    await app.memories.get(1)\n    await app.audit.add(2)",
    ),
    (limits.tool_bodies, TOOL, "@tool\nasync def f(call):\n    await call.app.a.b(await call.app.c.d())"),
    (limits.hidden_imports, SERVICE, "def f():\n    from perdure.domain import memory"),
    (limits.hidden_imports, TEST, "def f():\n    import perdure.errors"),
    (limits.broad_excepts, SERVICE, "try:\n    f()\nexcept Exception:\n    pass"),
    (limits.broad_excepts, SERVICE, "try:\n    f()\nexcept:\n    pass"),
    (limits.broad_excepts, SERVICE, "try:\n    f()\nexcept (ValueError, BaseException) as e:\n    raise X() from e"),
    (limits.environment_reads, SERVICE, "import os\nx = os.environ['A']"),
    (limits.environment_reads, "src/perdure/bootstrap/build.py", "import os\nx = os.getenv('A')"),
    (limits.environment_reads, SERVICE, "from os import environ"),
    (limits.vague_names, "src/perdure/services/utils.py", ""),
    (limits.vague_names, "src/perdure/services/misc/memory.py", ""),
    (limits.vague_names, "tests/services/text_helpers.py", ""),
    (limits.package_files, "src/perdure/services/__init__.py", "from perdure.services import memories"),
    (limits.package_files, "src/perdure/surfaces/mcp/cortexa/__init__.py", "def f(): ..."),
    (limits.bare_suppressions, SERVICE, "x = 1  # noqa"),
    (limits.bare_suppressions, SERVICE, "x = 1  # noqa: E501"),
    (limits.bare_suppressions, SERVICE, "x = 1  # type: ignore"),
    (limits.bare_suppressions, SERVICE, "x = 1  # type: ignore[arg-type]"),
    (limits.bare_suppressions, SERVICE, "x = 1  # type: ignore[arg-type]  # noqa: E501 - the address is long"),
    (limits.test_names, TEST, "def test_capture(): ..."),
    (limits.test_names, TEST, "async def test_it_works(): ..."),
    (limits.sleeps, TEST, "import time\ntime.sleep(1)"),
    (limits.sleeps, TEST, "from time import sleep\nsleep(0.1)"),
    (limits.sleeps, TEST, "async def f():\n    await asyncio.sleep(0.1)"),
    (limits.impure_core, DOMAIN, "import pydantic"),
    (limits.impure_core, DOMAIN, "import random"),
    (limits.impure_core, DOMAIN, "from datetime import datetime\nx = datetime.now()"),
    (limits.impure_core, DOMAIN, "x = open('f')"),
    (limits.impure_core, DOMAIN, "from pathlib import Path\nx = Path('f').read_text()"),
    (limits.impure_core, "src/perdure/ports/store.py", "from starlette import routing"),
    (limits.impure_core, "src/perdure/errors.py", "import apsw"),
]

GOOD: list[tuple[Limit, str, str]] = [
    (limits.function_lengths, SERVICE, _long(70)),
    (limits.function_length_p95, SERVICE, _long(40)),
    (limits.file_lengths, SERVICE, "x = 1\n" * 400),
    (limits.parameter_counts, TOOL, "def f(a, b, *, c, d, e, g, h): ..."),
    (limits.positional_parameters, SERVICE, "def f(a, b, *, c): ..."),
    (limits.positional_parameters, SERVICE, "def f(session, a, b): ..."),
    (limits.positional_parameters, SERVICE, "def f(*, a): ..."),
    (limits.positional_parameters, SERVICE, "class A:\n    def __exit__(self, a, b, c): ..."),
    (limits.positional_parameters, SERVICE, "class A:\n    def purge(self, space, memory, at): ..."),
    (limits.tool_bodies, TOOL, '@tool\nasync def f(app):\n    """One.\n\n    Two.\n    """\n' + "    x = app.memories\n" * 12),
    (limits.tool_bodies, TOOL, "@tool\nasync def f(app):\n    return render(await app.memories.get(1))"),
    (limits.hidden_imports, SERVICE, "from perdure.domain import memory\ndef f():\n    import json"),
    (limits.broad_excepts, SERVICE, "try:\n    f()\nexcept BaseException:\n    undo()\n    raise"),
    (limits.broad_excepts, "src/perdure/surfaces/mcp/gate.py", "try:\n    f()\nexcept Exception:\n    pass"),
    (limits.environment_reads, "src/perdure/bootstrap/settings.py", "import os\nx = os.environ"),
    (limits.vague_names, "src/perdure/services/memories.py", ""),
    (limits.package_files, "src/perdure/surfaces/mcp/cortexa/__init__.py", '"""Rooms."""\nimport json\nROOMS = (json,)'),
    (limits.bare_suppressions, SERVICE, "x = '# noqa'  # noqa: BLE001 - one bad job stops no other"),
    (limits.bare_suppressions, SERVICE, "x = 1  # type: ignore[arg-type]  # the stub is wrong"),
    (limits.bare_suppressions, SERVICE, "# Loads every backend, so on use only.\nimport x  # noqa: PLC0415"),
    (limits.test_names, TEST, "def test_a_capture_is_found(): ..."),
    (limits.sleeps, TEST, "async def f():\n    await asyncio.sleep(0)"),
    (limits.impure_core, DOMAIN, "from datetime import datetime\nfrom perdure.errors import NotFound"),
    (limits.impure_core, DOMAIN, "from pathlib import Path\nx = Path('f') / 'g'"),
]


def _case(value: object) -> str | None:
    return value.__name__ if callable(value) and hasattr(value, "__name__") else None


@pytest.mark.parametrize(("limit", "path", "text"), BAD, ids=_case)
def test_a_limit_finds_what_breaks_it(limit: Limit, path: str, text: str) -> None:
    assert len(limit([SourceFile(path, text), PORT])) == 1


@pytest.mark.parametrize(("limit", "path", "text"), GOOD, ids=_case)
def test_a_limit_lets_pass_what_keeps_it(limit: Limit, path: str, text: str) -> None:
    assert limit([SourceFile(path, text), PORT]) == []


@pytest.mark.parametrize(
    "test",
    [
        None,
        SourceFile("tests/domain/test_memories.py", "from perdure.services import memories"),
        SourceFile(TEST.replace("memories", "scopes"), "from perdure.services import scopes"),
        SourceFile(TEST.replace("memories", "scopes"), "from perdure.services import memories_old"),
    ],
)
def test_a_room_without_a_test_on_its_floor_is_found(test: SourceFile | None) -> None:
    assert len(limits.rooms_without_tests([SourceFile(SERVICE, "def f(): ...")], [test] if test else [])) == 1


@pytest.mark.parametrize(
    "test",
    [
        SourceFile(TEST, ""),
        SourceFile("tests/services/memories/test_writing.py", ""),
        SourceFile("tests/services/test_review.py", "from perdure.services import memories"),
        SourceFile("tests/services/test_review.py", "from perdure.services.memories import f"),
    ],
)
def test_a_room_with_a_test_on_its_floor_passes(test: SourceFile) -> None:
    assert limits.rooms_without_tests([SourceFile(SERVICE, "def f(): ...")], [test]) == []


def test_a_room_of_values_needs_no_test() -> None:
    assert limits.rooms_without_tests([SourceFile(DOMAIN, "class Memory:\n    id: str")], []) == []
