"""docs/reference, made from the declarations: `python -m perdure.surfaces.cli.reference docs/reference`."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from perdure import errors
from perdure.domain.settings import SETTINGS, Setting
from perdure.domain.version import VERSION
from perdure.surfaces.cli.command import GLOBAL_OPTIONS
from perdure.surfaces.cli.failure import EXIT_CODES
from perdure.surfaces.cli.main import root
from perdure.surfaces.mcp.cortexa.door import CORTEXA
from perdure.surfaces.mcp.declaration import Tool
from perdure.surfaces.mcp.family import Family
from perdure.surfaces.rest.asgi import ENDPOINTS
from perdure.surfaces.rest.openapi import describe

FAMILIES: tuple[Family, ...] = (CORTEXA,)
MADE = "<!-- Made by `python -m perdure.surfaces.cli.reference docs/reference`; change the declarations, not this file. -->"
REMEMBERED_TYPES = {bool: "on or off", int: "whole number", str: "word", dict: "JSON object"}


def pages() -> dict[str, str]:
    """Every page by its file name."""
    made = {
        "tools.md": tools_page(FAMILIES),
        "cli.md": cli_page(),
        "settings.md": settings_page(),
        "errors.md": errors_page(),
        "rest.md": rest_page(describe(ENDPOINTS, (), VERSION)),
    }
    return {name: f"{MADE}\n\n{text.strip()}\n" for name, text in made.items()}


def tools_page(families: Sequence[Family]) -> str:
    parts = [
        "# Tools\n\nWhat an agent may call over MCP. The same tools answer `POST /api/tools/{name}` "
        'with `{"text": […], "structured": …}`.'
    ]
    for family in families:
        parts.append(f"## {family.name.capitalize()}\n\nServed at `/mcp/{family.name}`, and by `perdure mcp`.")
        parts += [_tool(tool) for tool in family.tools]
    return "\n\n".join(parts)


def _tool(tool: Tool) -> str:
    who = "The primary token alone may call it." if tool.primary else "Every token may call it."
    manner = ["Writes." if tool.writes else "Reads only.", *(["Works while the vault is locked."] if tool.works_locked else [])]
    return "\n\n".join([f"### {tool.name}", tool.description, " ".join([who, *manner]), *_parameters(tool.schema)])


def _parameters(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required", ())
    rows = [
        (f"`{name}`", _type(shape), "yes" if name in required else "", _default(shape), shape.get("description", ""))
        for name, shape in schema["properties"].items()
    ]
    return [_table(("argument", "type", "needed", "default", "what it is"), rows)] if rows else ["No arguments."]


def cli_page() -> str:
    codes = _table(("exit code", "meaning"), [(str(code), what) for code, what in EXIT_CODES.items()])
    parts = [
        "# The command line",
        "`perdure COMMAND`, in a terminal or a script. These options may stand before or after any command:",
        _options(GLOBAL_OPTIONS),
        "With `--json` an answer is one JSON document on standard output, and an error is "
        '`{"error": {"code": …, "message": …}}` on standard error. What a command remarks, and its progress, goes to standard '
        "error. `NO_COLOR` is respected; colours and progress appear on a terminal only.",
        codes,
    ]
    for name, command in commands(root):
        if not isinstance(command, click.Group):
            parts.append(_command(name, command))
    return "\n\n".join(parts)


def commands(group: click.Group, before: str = "perdure") -> Iterator[tuple[str, click.Command]]:
    """Every command that is not hidden, with its whole name, groups before what they hold."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield f"{before} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{before} {name}")


def _command(name: str, command: click.Command) -> str:
    words = [param.make_metavar(click.Context(command)) for param in command.params if isinstance(param, click.Argument)]
    options = [param for param in command.params if isinstance(param, click.Option)]
    examples = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]
    return "\n\n".join(
        [
            f"## {name}",
            f"```\n{' '.join([name, *words, *(['[OPTIONS]'] if options else [])])}\n```",
            _paragraphs(inspect.cleandoc(command.help or "")),
            *([_options(options)] if options else []),
            "\n".join(["```sh", *examples, "```"]),
        ]
    )


def _paragraphs(text: str) -> str:
    """Click's mark for lines that are kept becomes a block."""
    return "\n\n".join(f"```\n{part[2:]}\n```" if part.startswith("\b\n") else part for part in text.split("\n\n"))


def _options(options: Sequence[click.Option]) -> str:
    rows = []
    for option in options:
        names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
        value = "" if option.is_flag else option.make_metavar(click.Context(root))
        needed = "  Needed." if option.required else ""
        default = f"  Default: {option.default}." if option.show_default and option.default is not None else ""
        rows.append((names, f"`{value}`" if value else "", f"{option.help}{needed}{default}".replace("  [", " [")))
    return _table(("option", "value", "what it does"), rows)


def settings_page() -> str:
    head = (
        "# Settings\n\nHow a vault behaves: `perdure settings list`, `perdure settings set NAME VALUE`, "
        "or `PUT /api/settings/{name}`. Where perdure lies and where it listens are options of `perdure serve` instead."
    )
    rows = [
        (f"`{s.name}`", REMEMBERED_TYPES[s.type], f"`{json.dumps(s.default)}`", _allowed(s), s.help) for s in SETTINGS.values()
    ]
    return "\n\n".join([head, _table(("name", "type", "default", "allowed", "what it does"), rows)])


def _allowed(setting: Setting) -> str:
    if setting.type is int:
        return f"{setting.low} to {setting.high}"
    return ", ".join(setting.allowed)


def errors_page() -> str:
    head = (
        "# Errors\n\nEach error has one stable `code`. REST answers it as problem details (RFC 9457) with the HTTP status, the "
        "command line as `error.code`, a tool in the words of its family. A message says what was wrong, what is allowed and "
        "what to do next; this is the one where nothing more is known."
    )
    rows = [(f"`{c.code}`", str(c.status), c().message) for c in _subclasses(errors.PerdureError)]
    return "\n\n".join([head, _table(("code", "HTTP status", "message"), rows)])


def _subclasses(kind: type[errors.PerdureError]) -> Iterator[type[errors.PerdureError]]:
    """Those of errors.py, in their order; a surface's own say the same code with other words."""
    for sub in kind.__subclasses__():
        if sub.__module__ == errors.__name__:
            yield sub
            yield from _subclasses(sub)


def rest_page(document: Mapping[str, Any]) -> str:
    parts = [
        "# REST\n\nOver loopback, with `Authorization: Bearer TOKEN` (`perdure token show primary`). All is JSON, "
        "an error is `application/problem+json` with a `code` ([errors](errors.md)). `/openapi.json` says it all for programs; "
        "the [tools](tools.md) stand there too, as `POST /api/tools/{name}`."
    ]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts.append(_operation(f"{method.upper()} {path}", operation))
    parts.append("## Shapes")
    parts += [_shape(name, schema) for name, schema in document["components"]["schemas"].items()]
    return "\n\n".join(parts)


def _operation(title: str, operation: Mapping[str, Any]) -> str:
    parts = [f"### {title}", " ".join(filter(None, (operation["summary"], operation.get("description"))))]
    query = [p for p in operation.get("parameters", ()) if p["in"] == "query"]
    rows = [
        (f"`{p['name']}`", _type(p["schema"]), "yes" if p["required"] else "", _default(p["schema"]), p.get("description", ""))
        for p in query
    ]
    if rows:
        parts.append(_table(("query", "type", "needed", "default", "what it is"), rows))
    for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
        parts += [f"Body: {media_type}", *(_parameters(content["schema"]) if "properties" in content["schema"] else [])]
    for status, answer in operation["responses"].items():
        if status != "default":
            shapes = ", ".join(f"{_type(c['schema'])} ({media})" for media, c in answer.get("content", {}).items())
            parts.append(f"Answers {status}" + (f": {shapes}" if shapes else ""))
    return "\n\n".join(parts)


def _shape(name: str, schema: Mapping[str, Any]) -> str:
    if "properties" not in schema:
        return f"### {name}\n\n{' | '.join(json.dumps(value) for value in schema.get('enum', ()))}"
    rows = [(f"`{field}`", _type(shape), shape.get("description", "")) for field, shape in schema["properties"].items()]
    about = [schema["description"]] if "description" in schema else []
    return "\n\n".join([f"### {name}", *about, _table(("field", "type", "what it is"), rows)])


def _type(shape: Mapping[str, Any]) -> str:
    if "$ref" in shape:
        name = shape["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in shape:
        return " or ".join(_type(branch) for branch in shape["anyOf"])
    if "enum" in shape:
        return " / ".join(f"`{value}`" for value in shape["enum"])
    if shape.get("type") == "array":
        return f"array of {_type(shape.get('items', {}))}"
    bounds = [f"{word} {shape[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in shape]
    return " ".join([str(shape.get("type", "any")), *bounds])


def _default(shape: Mapping[str, Any]) -> str:
    return f"`{json.dumps(shape['default'])}`" if "default" in shape else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
