"""Every product is known by each of its names, in any case and with a version behind it."""

from __future__ import annotations

import pytest

from perdure.domain.sources import ALIASES, SOURCES, source_of

NAMES = [(name, source) for source, aliases in ALIASES.items() for name in (source, *aliases)]


def test_the_sources_are_the_seven_of_the_contract() -> None:
    assert SOURCES == ("claude", "chatgpt", "gemini", "copilot", "grok", "perplexity", "mcp")
    assert len({name for name, _ in NAMES}) == len(NAMES)


@pytest.mark.parametrize(("name", "source"), NAMES)
def test_an_alias_stands_for_its_source_however_it_is_written(name: str, source: str) -> None:
    for client in (name, name.upper(), f"{name} 2.1", f"{name}/2.1", f" {name.title()}  (desktop)"):
        assert source_of(client) == source


@pytest.mark.parametrize(
    ("client", "source"),
    [
        ("Claude-Code 2.1", "claude"),
        ("claude-ai", "claude"),
        ("openai-mcp", "chatgpt"),
        ("gpt-5", "chatgpt"),
        ("My Claude", "claude"),
        ("github-copilot-cli", "copilot"),
        ("google-adk", "gemini"),
    ],
)
def test_a_name_that_starts_like_an_alias_is_of_that_source(client: str, source: str) -> None:
    assert source_of(client) == source


@pytest.mark.parametrize("client", [None, "", "  ", "/", "cursor", "xcode", "x-ray", "my-claude-clone", "🔥"])
def test_an_unknown_client_is_mcp(client: str | None) -> None:
    assert source_of(client) == "mcp"
