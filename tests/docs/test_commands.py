"""Every `perdure …` that the documentation, the help and the messages show can be typed as it stands there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from perdure.surfaces.cli.main import root
from perdure.surfaces.cli.reference import commands
from tests.shape.tree import ROOT, SOURCE

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELLS = {"", "sh", "bash", "console", "shell"}
CHOICES_STAND_OPEN = {"…", "..."}


def _shown(text: str) -> Iterator[tuple[str, bool]]:
    """The command lines in fenced blocks, to be typed as they are, and in backticks, where a command may just be named."""
    for language, block in FENCED.findall(text):
        if language in SHELLS:
            yield from ((line.strip().removeprefix("$ "), True) for line in block.replace("\\\n", " ").splitlines())
    yield from ((line, False) for line in re.findall(r"`(perdure [^`\n]+)`", FENCED.sub("", text)))


def _perdure_calls(line: str) -> Iterator[list[str]]:
    """The arguments of each perdure call in a shell line."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|<>;&()")
    words.whitespace_split = True
    words.commenters = "#"
    call: list[str] | None = None
    skip = False
    for word in words:
        if set(word) <= set("|<>;&()"):
            if call is not None and not set(word) & set("<>"):
                yield call
                call = None
            skip = bool(set(word) & set("<>"))
        elif skip:
            skip = False
        elif call is not None:
            call.append(word)
        elif word.rpartition("/")[2] == "perdure":
            call = []
    if call is not None:
        yield call


def _faults(arguments: list[str], *, whole: bool) -> str | None:
    """Why this cannot be typed. Values in capitals and `…` stand for any."""
    command: click.Command = root
    context = click.Context(root, info_name="perdure")
    if "--home" in arguments:
        at = arguments.index("--home")
        arguments = arguments[:at] + arguments[at + 2 :]
    while isinstance(command, click.Group):
        names = [word for word in arguments if not word.startswith("-")]
        if not names or names[0] in CHOICES_STAND_OPEN or names[0].isupper():
            return None
        name = names[0]
        if name not in command.commands:
            return f"{name!r} is no command of {context.command_path}"
        arguments = [word for index, word in enumerate(arguments) if index != arguments.index(name)]
        command = command.commands[name]
        context = click.Context(command, parent=context, info_name=name)
    if context.command.context_settings.get("ignore_unknown_options") or CHOICES_STAND_OPEN & set(arguments):
        return None
    known = {option for param in command.get_params(context) for option in (*param.opts, *param.secondary_opts)}
    unknown = [word for word in arguments if word.startswith("--") and word.partition("=")[0] not in known]
    if unknown:
        return f"{context.command_path} has no option {unknown[0]}"
    return _misses(command, context, arguments, whole=whole)


def _misses(command: click.Command, context: click.Context, arguments: list[str], *, whole: bool) -> str | None:
    """Parsed without callbacks; files need not be there."""
    try:
        values, rest, _ = command.make_parser(context).parse_args(args=list(arguments))
    except click.UsageError as error:
        return error.format_message()
    if rest:
        return f"{context.command_path} takes no {rest[0]!r}"
    for param in command.params:
        value = values.get(param.name)
        if whole and param.required and not isinstance(value, str | list | tuple | bool):
            return f"{context.command_path} needs {param.human_readable_name}"
        each = value if isinstance(value, list | tuple) else [value]
        for word in each:
            if (
                isinstance(param.type, click.Choice)
                and isinstance(word, str)
                and not word.isupper()
                and word not in param.type.choices
            ):
                return f"{context.command_path}: {word!r} is none of {', '.join(param.type.choices)}"
    return None


def _assert_typable(text: str) -> None:
    faults = [
        (line, fault) for line, whole in _shown(text) for call in _perdure_calls(line) if (fault := _faults(call, whole=whole))
    ]
    assert not faults, "\n" + "\n".join(f"{line}\n    {fault}" for line, fault in faults)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_a_page_shows_can_be_typed(page: object) -> None:
    _assert_typable((ROOT / str(page)).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "command"), list(commands(root)), ids=lambda value: value if isinstance(value, str) else "")
def test_every_example_in_a_help_can_be_typed(name: str, command: click.Command) -> None:
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("  ")]
    assert examples, name
    _assert_typable("```sh\n" + "\n".join(examples) + "\n```\n")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_every_command_a_message_names_can_be_typed(path: object) -> None:
    _assert_typable("\n".join(re.findall(r"`perdure [^`\n{]+`", (SOURCE / str(path)).read_text(encoding="utf-8"))))


def test_a_command_that_does_not_exist_would_be_noticed() -> None:
    for line in (
        "perdure vault slots",
        "perdure recent --port 1",
        "perdure capture x --kind poem",
        "perdure show",
        "x | perdure nope",
    ):
        with pytest.raises(AssertionError):
            _assert_typable(f"```sh\n$ {line}\n```\n")
