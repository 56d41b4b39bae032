"""A family of tools: one manner of speaking over the same memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from perdure.errors import PerdureError
from perdure.surfaces.mcp.declaration import Tool
from perdure.surfaces.mcp.reply import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """`name` is also its door (`/mcp/<name>`); `instructions` tell an agent when to use it; `render_error` how errors look."""

    name: str
    tools: tuple[Tool, ...]
    render_error: Callable[[PerdureError], Reply]
    instructions: str = ""
