"""The house limits (docs/ARCHITECTURE.md) as functions from files to findings; no finding means the limit holds.

Every exception stands here by name with its reason. A limit that hurts a good design is changed here, saying why.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Sequence

from tests.shape.tree import Function, SourceFile, dotted

MAX_FUNCTION_LINES = 70
MAX_FUNCTION_LINES_P95 = 40
MAX_FILE_LINES = 400
MAX_PARAMETERS = 6
MAX_POSITIONAL = 2
MAX_TOOL_LINES = 12
MIN_NAME_WORDS = 3
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
CORE = {"errors", "domain", "ports"}

MANY_PARAMETERS = {
    "src/perdure/domain/memory.py:revision_hash": "its parameters are the fields that the hash covers, keyword-only",
}
IMPORTS_WHERE_NEEDED = {
    "src/perdure/__main__.py": "the stdio bridge must start without loading the server, so the entry picks what it imports",
}
BROAD_EXCEPTS = (
    r"src/perdure/surfaces/(mcp/)?gate\.py",  # a bug in one tool must become `internal`, not a dead server
    r"src/perdure/surfaces/worker(/\w+)?\.py",  # a job that fails is recorded and the next one runs
    r"src/perdure/engines/sqlite/writer\.py",  # the one writer thread answers each caller and lives on
    r"src/perdure/engines/sqlite/readers\.py",  # so do the reader threads
    r"src/perdure/surfaces/bridge(/\w+)?\.py",  # the pump must outlive a daemon that goes away
)
TESTED_THROUGH = {
    ("engines", "sql"): ("engines", "sqlite"),  # one suite runs over every engine, and with it over the SQL they share
}
ENVIRONMENT_READERS = ("src/perdure/bootstrap/settings.py",)
IMPURE_MODULES = {
    "asyncio", "concurrent", "ctypes", "io", "logging", "multiprocessing", "os", "random", "secrets", "shutil",
    "signal", "socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
DISK_METHODS = {
    "cwd", "exists", "home", "is_dir", "is_file", "iterdir", "mkdir", "read_bytes", "read_text", "stat", "unlink", "write_bytes",
    "write_text",
}  # fmt: skip
"""Of pathlib.Path, which the domain may use for paths as values."""


def function_lengths(files: Iterable[SourceFile]) -> list[str]:
    return [
        file.at(f.lineno, f"{f.name} has {_length(f)} lines, allowed are {MAX_FUNCTION_LINES}")
        for file in files
        for f in file.functions
        if _length(f) > MAX_FUNCTION_LINES
    ]


def function_length_p95(files: Iterable[SourceFile]) -> list[str]:
    lengths = sorted(_length(f) for file in files for f in file.functions)
    p95 = lengths[int(len(lengths) * 0.95)] if lengths else 0
    return [f"95 of 100 functions have up to {p95} lines, allowed are {MAX_FUNCTION_LINES_P95}"] * (p95 > MAX_FUNCTION_LINES_P95)


def file_lengths(files: Iterable[SourceFile]) -> list[str]:
    return [f"{f.path}: has {f.lines} lines, allowed are {MAX_FILE_LINES}" for f in files if f.lines > MAX_FILE_LINES]


def parameter_counts(files: Iterable[SourceFile]) -> list[str]:
    """Below the surfaces only: there a tool's parameters are its contract."""
    return [
        file.at(f.lineno, f"{f.name} takes {count} parameters, allowed are {MAX_PARAMETERS}")
        for file in _below_surfaces(files)
        for f in file.functions
        if (count := len(_positional(file, f)) + len(f.args.kwonlyargs)) > MAX_PARAMETERS
        and f"{file.path}:{f.name}" not in MANY_PARAMETERS
    ]


def positional_parameters(files: Iterable[SourceFile]) -> list[str]:
    """Keyword-only after two, below the surfaces.

    A method of a port and what fulfils it may take more: the store's verbs read as sentences (`purge(space, memory, at)`), and a
    fulfilling method must keep its port's shape. Dunder methods have their shape from the language. A leading `session` is not
    counted: the transaction a function works in stands where a method has its self.
    """
    files = list(files)
    ports = {
        (method.name, *_positional(file, method)) for file in files if file.floor == "ports" for method in file.methods
    }  # fmt: skip
    return [
        file.at(f.lineno, f"{f.name}: at most {MAX_POSITIONAL} of {', '.join(names)} may be positional")
        for file in _below_surfaces(files)
        for f in file.functions
        if len(names := _positional(file, f)) > MAX_POSITIONAL + (names[:1] == ["session"])
        and not f.name.startswith("__")
        and not (f in file.methods and (f.name, *names) in ports)
    ]


def tool_bodies(files: Iterable[SourceFile]) -> list[str]:
    """A tool is a declaration: at most 12 lines under its docstring, and one service call."""
    findings = []
    for file in files:
        if not file.path.startswith("src/perdure/surfaces/mcp/"):
            continue
        for f in filter(_is_tool, file.functions):
            lines, calls = _body_lines(f), _service_calls(f)
            if lines > MAX_TOOL_LINES:
                findings.append(file.at(f.lineno, f"{f.name} has a body of {lines} lines, allowed are {MAX_TOOL_LINES}"))
            if calls > 1:
                findings.append(file.at(f.lineno, f"{f.name} calls services {calls} times, allowed is once"))
    return findings


def hidden_imports(files: Iterable[SourceFile]) -> list[str]:
    return [
        file.at(line, f"imports {module} inside {f.name}; import it at the top")
        for file in files
        if file.path not in IMPORTS_WHERE_NEEDED
        for f in file.functions
        for line, module in file.imports(f)
        if module.split(".")[0] == "perdure"
    ]


def broad_excepts(files: Iterable[SourceFile]) -> list[str]:
    """A handler that ends by raising what it caught hides nothing, so it may stand anywhere (a rollback, for example)."""
    return [
        file.at(node.lineno, "catches every exception; name the ones that are meant")
        for file in files
        if not any(re.fullmatch(pattern, file.path) for pattern in BROAD_EXCEPTS)
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and not _reraises(node)
    ]


def environment_reads(files: Iterable[SourceFile]) -> list[str]:
    names = {"environ", "environb", "getenv", "getenvb"}
    findings = []
    for file in files:
        if file.path in ENVIRONMENT_READERS:
            continue
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Attribute):
                reads = dotted(node)[:1] == ["os"] and node.attr in names
            else:
                reads = (
                    isinstance(node, ast.ImportFrom) and node.module == "os" and not names.isdisjoint(a.name for a in node.names)
                )
            if reads and isinstance(node, ast.expr | ast.stmt):
                findings.append(file.at(node.lineno, "reads the environment; only bootstrap/settings.py may"))
    return findings


def vague_names(files: Iterable[SourceFile]) -> list[str]:
    return [
        f"{file.path}: {part!r} says nothing of what is in it"
        for file in files
        for part in file.path.removesuffix(".py").split("/")
        if VAGUE_NAMES & set(part.strip("_").split("_"))
    ]


def package_files(files: Iterable[SourceFile]) -> list[str]:
    """`__init__.py` is empty; a family's own may list its rooms (imports and plain names, no code)."""
    plain = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign
    findings = []
    for file in files:
        if not file.path.endswith("__init__.py") or not file.text.strip():
            continue
        body = [node for node in file.tree.body if not _is_docstring(node)]
        if not re.fullmatch(r"src/perdure/surfaces/mcp/\w+/__init__\.py", file.path):
            findings.append(f"{file.path}: must be empty")
        elif not all(isinstance(node, plain) for node in body):
            findings.append(f"{file.path}: may only list the family's rooms")
    return findings


def bare_suppressions(files: Iterable[SourceFile]) -> list[str]:
    """A suppression names its rule, and its reason stands behind it (`# noqa: BLE001 - reason`) or on the comment line above."""
    named = re.compile(r"(noqa: ?[A-Z]+\d+(, ?[A-Z]+\d+)*|type: ?ignore\[[\w, -]+\])")
    reason = re.compile(r"\s*[-–:#(]*\s*\S+ +\S+")
    findings = []
    for file in files:
        lines = file.text.splitlines()
        for line, comment in file.comments():
            reason_above = line > 1 and lines[line - 2].lstrip().startswith("# ")
            for part in re.findall(r"(?:noqa|type: ?ignore)(?:(?!noqa|type: ?ignore).)*", comment):
                name = named.match(part)
                if name is None or not (reason_above or reason.match(part[name.end() :])):
                    findings.append(file.at(line, "a suppression must name its rule and give its reason"))
    return findings


def test_names(files: Iterable[SourceFile]) -> list[str]:
    return [
        file.at(f.lineno, f"{f.name} is not a sentence of {MIN_NAME_WORDS} words or more")
        for file in files
        if file.path.split("/")[-1].startswith("test_")
        for f in file.functions
        if f.name.startswith("test_") and len([word for word in f.name.split("_")[1:] if word]) < MIN_NAME_WORDS
    ]


def sleeps(files: Iterable[SourceFile]) -> list[str]:
    """Tests wait for what they need (`wait_until` in conftest.py), never for time to pass; `sleep(0)` only yields."""
    findings = []
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Call) and dotted(node.func)[-1:] == ["sleep"]:
                zero = len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0
                if not zero:
                    findings.append(file.at(node.lineno, "sleeps; wait for the condition instead"))
    return findings


def impure_core(files: Iterable[SourceFile]) -> list[str]:
    """errors, domain and ports stand on the standard library alone; the domain also without clock, chance and I/O."""
    findings = []
    for file in files:
        if file.floor not in CORE:
            continue
        for line, module in file.imports():
            top = module.split(".")[0]
            if top != "perdure" and top not in sys.stdlib_module_names:
                findings.append(file.at(line, f"imports {top}; this floor stands on the standard library alone"))
            if file.floor == "domain" and top in IMPURE_MODULES:
                findings.append(file.at(line, f"imports {top}; the domain has no clock, no chance and no I/O"))
        if file.floor == "domain":
            findings += [
                file.at(node.lineno, f"calls {name}; the domain has no clock, no chance and no I/O")
                for node in ast.walk(file.tree)
                if isinstance(node, ast.Call) and _is_impure(name := ".".join(dotted(node.func)[-2:]))
            ]
    return findings


def rooms_without_tests(files: Iterable[SourceFile], tests: Sequence[SourceFile]) -> list[str]:
    """The mirror: a room with code in it has `tests/<floor>/test_<room>….py`, `tests/<floor>/<room>/`, or, when its test is
    named after what it does, a test on its floor that imports it. Rooms of values and Protocols alone need none."""
    findings = []
    for file in files:
        parts = file.path.removesuffix(".py").split("/")[2:]
        if len(parts) < 2 or parts[-1] == "__init__" or file.floor == "ports" or not file.functions:
            continue
        floor, room = TESTED_THROUGH.get((parts[0], parts[1]), (parts[0], parts[1]))
        named = any(re.match(rf"tests/{floor}/(test_{room}|{room}/)", test.path) for test in tests)
        used = any(test.path.startswith(f"tests/{floor}/") and _uses(test, f"perdure.{floor}", room) for test in tests)
        if not named and not used:
            findings.append(f"src/perdure/{parts[0]}/{parts[1]}: has no test; expected tests/{floor}/test_{room}.py")
    return sorted(set(findings))


def _uses(test: SourceFile, floor: str, room: str) -> bool:
    names = [
        f"{node.module}.{alias.name}"
        for node in ast.walk(test.tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]
    return any(f"{name}.".startswith(f"{floor}.{room}.") for name in [*names, *(module for _, module in test.imports())])


def _below_surfaces(files: Iterable[SourceFile]) -> list[SourceFile]:
    return [file for file in files if file.floor not in ("", "surfaces")]


def _length(f: Function) -> int:
    return (f.end_lineno or f.lineno) - f.lineno + 1


def _positional(file: SourceFile, f: Function) -> list[str]:
    names = [arg.arg for arg in (*f.args.posonlyargs, *f.args.args)]
    return names[1:] if f in file.methods and names[:1] in (["self"], ["cls"]) else names


def _is_tool(f: Function) -> bool:
    decorators = [d.func if isinstance(d, ast.Call) else d for d in f.decorator_list]
    return any(dotted(d)[-1:] == ["tool"] for d in decorators)


def _body_lines(f: Function) -> int:
    body = [node for node in f.body if not _is_docstring(node)]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _service_calls(f: Function) -> int:
    chains = [dotted(node.func) for node in ast.walk(f) if isinstance(node, ast.Call)]
    return sum("app" in chain and len(chain) - chain.index("app") > 2 for chain in chains)


def _is_impure(call: str) -> bool:
    return call in IMPURE_CALLS or call.split(".")[-1] in DISK_METHODS


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_broad(node: ast.ExceptHandler) -> bool:
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or dotted(kind)[-1:] in (["Exception"], ["BaseException"]) for kind in kinds)


def _reraises(node: ast.ExceptHandler) -> bool:
    return isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
