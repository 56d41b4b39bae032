"""The grammar that all commands share: global options anywhere, examples in each help, sections in the list of commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from perdure.surfaces.cli.context import Invocation


def _set_home(context: click.Context, _: click.Parameter, value: Path | None) -> None:
    if value is not None:
        context.find_object(Invocation).home = value  # type: ignore[union-attr]  # run() always gives one


def _set_json(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_object(Invocation).as_json = True  # type: ignore[union-attr]  # as above


GLOBAL_OPTIONS: tuple[click.Option, ...] = (
    click.Option(
        ["--home"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        expose_value=False,
        callback=_set_home,
        help="The folder that holds everything.  [default: PERDURE_HOME, else ~/.perdure]",
    ),
    click.Option(
        ["--json"], is_flag=True, expose_value=False, callback=_set_json, help="Answer with one JSON document, errors too."
    ),
)


TEXTS = ("content", "query", "words")
"""Arguments that may hold any text, and so may begin with a dash."""


class Command(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if any(parameter.name in TEXTS for parameter in self.params if isinstance(parameter, click.Argument)):
                hint = f"A text that begins with a dash stands after `--`: {ctx.command_path} -- '- text'; or pipe it in."
                raise click.UsageError(f"{error.format_message()} {hint}", ctx) from None
            raise

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, and the global ones: they may stand before or after any command."""
        return [*super().get_params(ctx), *GLOBAL_OPTIONS]


class Group(click.Group):
    """Commands in the order they were added, under the section each names."""

    command_class = Command
    group_class = type

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.sections: dict[str, str] = {}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *GLOBAL_OPTIONS]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        by_section: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            if not command.hidden:
                rows = by_section.setdefault(self.sections.get(name, "Commands"), [])
                rows.append((name, command.get_short_help_str(limit=200)))
        for section, rows in by_section.items():
            with formatter.section(section):
                formatter.write_dl(rows)

    def adopt(self, section: str, *commands: click.Command) -> None:
        """Add commands that stand in rooms of their own, under a section."""
        for command in commands:
            self.add_command(command)
            self.sections[str(command.name)] = section


def command(name: str, *examples: str, **options: Any) -> Callable[[Callable[..., Any]], Command]:
    """Declare a command; the docstring says what it does, `examples` follow it in the help. It is given the Invocation first."""

    def declare(function: Callable[..., Any]) -> Command:
        return click.command(name, cls=Command, epilog=_epilog(examples), **options)(click.pass_obj(function))

    return declare


def group(name: str, *examples: str, **options: Any) -> Callable[[Callable[..., Any]], Group]:
    return lambda function: click.group(name, cls=Group, epilog=_epilog(examples), **options)(function)


def _epilog(examples: tuple[str, ...]) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)
