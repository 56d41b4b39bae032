"""Which product a memory came from, by the verified client's name (SEMANTICS 6, Sources)."""

from __future__ import annotations

ALIASES: dict[str, tuple[str, ...]] = {
    "claude": ("anthropic", "claude.ai", "claude-code", "claude-desktop"),
    "chatgpt": ("openai", "gpt", "codex"),
    "gemini": ("google", "bard", "gemini-cli"),
    "copilot": ("github-copilot", "microsoft"),
    "grok": ("xai", "x"),
    "perplexity": ("pplx",),
    "mcp": (),
}
SOURCES: tuple[str, ...] = tuple(ALIASES)

_BY_NAME = {alias: source for source, aliases in ALIASES.items() for alias in (source, *aliases)}


def source_of(client: str | None) -> str:
    """The source that a client's name stands for, `mcp` where it is unknown: "Claude-Code 2.1" is claude."""
    words = (client or "").casefold().replace("/", " ").split()
    for word in words:
        if word in _BY_NAME:
            return _BY_NAME[word]
        for name in sorted(_BY_NAME, key=len, reverse=True):
            if len(name) > 2 and word.startswith(name):
                return _BY_NAME[name]
    return "mcp"
