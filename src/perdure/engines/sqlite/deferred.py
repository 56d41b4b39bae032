"""A module that is imported when it is first used: for libraries that cost start time and memory and may never be needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for a module; its attributes are the module's. `after`: a module that must be loaded before it."""

    def __init__(self, name: str, *, after: str | None = None) -> None:
        self._name = name
        self._after = after

    def __getattr__(self, attribute: str) -> Any:
        if self._after is not None:
            import_module(self._after)
        return getattr(import_module(self._name), attribute)
