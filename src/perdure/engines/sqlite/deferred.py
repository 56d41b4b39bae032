"""A module that is imported when it is first used: for libraries that cost start time and memory and may never be needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Deferred:
    """Stands for a module; its attributes are the module's."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
