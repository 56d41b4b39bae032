"""What perdure says in the words of its tools is said in the words of the command line."""

from __future__ import annotations

import pytest

from perdure.domain.quoting import HEADER
from perdure.surfaces.cli.main import root
from perdure.surfaces.cli.reference import commands
from perdure.surfaces.cli.wording import LEADING, OPTIONS, answer_in_cli_words, in_cli_words


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("handoff, project, session_id: are required when thought_type is handoff",
         "--handoff, --project, --session: are required when --type is handoff"),
        ("content: must hold text, is blank", "content: must hold text, is blank"),
        ("handoff.blockers[0]: must be text", "handoff.blockers[0]: must be text"),
        ("The project: is a word here", "The project: is a word here"),
        ("my_session_id stays", "my_session_id stays"),
        ("max_chars is too small for one; raise it, or use cortexa_search.",
         "--max-chars is too small for one; raise it, or use `perdure search`."),
    ],
)  # fmt: skip
def test_arguments_become_options_and_tools_become_commands(said: str, meant: str) -> None:
    assert in_cli_words(said) == meant
    assert in_cli_words(meant) == meant


def test_what_is_remembered_stays_as_it_is() -> None:
    assert answer_in_cli_words(f"cortexa_search\n{HEADER}\ncortexa_search") == f"`perdure search`\n{HEADER}\ncortexa_search"


def test_every_option_that_is_named_exists() -> None:
    known = {option for _, command in commands(root) for parameter in command.params for option in parameter.opts}
    assert {*OPTIONS.values(), *LEADING.values()} - known == set()
