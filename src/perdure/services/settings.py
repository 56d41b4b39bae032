"""The vault's behaviour settings: read once, kept, written through."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from perdure.domain.settings import SETTINGS, parse_setting, setting
from perdure.ports.store import Store


class SettingsService:
    """`checks` judge values that only others can (which embedders there are): they raise InvalidInput."""

    def __init__(self, store: Store, checks: Mapping[str, Callable[[Any], object]] | None = None) -> None:
        self._store = store
        self._checks = dict(checks or {})
        self._values: dict[str, Any] | None = None

    async def all(self) -> dict[str, Any]:
        """Every setting with its value in force. Raises VaultLocked."""
        if self._values is None:
            rows = await self._store.read(lambda session: session.settings.all())
            stored = {name: json.loads(text) for name, text in rows.items() if name in SETTINGS}
            self._values = {name: stored.get(name, declared.default) for name, declared in SETTINGS.items()}
        return dict(self._values)

    async def get(self, name: str) -> Any:
        """The value in force. Raises NotFound for an unknown name, VaultLocked."""
        setting(name)
        return (await self.all())[name]

    async def put(self, name: str, raw: str | None) -> Any:
        """Set from text, or back to the default with None; answers the value in force. Raises InvalidInput, NotFound."""
        value = setting(name).default if raw is None else parse_setting(name, raw)
        if name in self._checks:
            self._checks[name](value)
        text = None if raw is None else json.dumps(value)
        await self._store.write(lambda session: session.settings.put(name, text))
        self._values = None
        return value

    def forget(self) -> None:
        """Read anew at the next use (after a restore or an unlock)."""
        self._values = None
