"""Work handed to an engine's thread, and the way its answer finds back to the caller's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from perdure.ports.store import Session


@dataclass(slots=True, eq=False)
class Request:
    """One caller's work; `outcome` or `error` is set by the thread. Without a future nobody waits for it."""

    work: Callable[[Session], Any]
    future: asyncio.Future[Any] | None = None
    outcome: Any = None
    error: BaseException | None = field(default=None)

    @property
    def is_abandoned(self) -> bool:
        return self.future is not None and self.future.cancelled()


def answer(requests: Iterable[Request]) -> None:
    """Settle them, waking each event loop once; what nobody waits for any more is dropped."""
    loops: dict[asyncio.AbstractEventLoop, list[Request]] = {}
    for item in requests:
        if item.future is not None:
            loops.setdefault(item.future.get_loop(), []).append(item)
    for loop, items in loops.items():
        try:
            loop.call_soon_threadsafe(_settle, items)
        except RuntimeError:  # the loop is closed: its callers are gone
            continue


def _settle(items: list[Request]) -> None:
    for item in items:
        if item.future is None or item.future.done():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.outcome)
