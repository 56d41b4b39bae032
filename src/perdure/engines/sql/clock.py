"""Instants and ids of one vault: strictly increasing whatever the machine's clock does, also across restarts."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from perdure.engines.sql.connection import instant_at, micros
from perdure.errors import Internal


class VaultClock:
    """`load` and `last` tie it to the stored clock: the engine loads before a transaction and stores `last` in it."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.last = 0

    def load(self, stored: int) -> None:
        self.last = max(self.last, stored)

    def instant(self) -> datetime:
        """The present, or a microsecond after the last instant given, whichever is later."""
        self.last = max(micros(self._now()), self.last + 1)
        return instant_at(self.last)

    def new_id(self) -> str:
        """A UUIDv7 of the next instant: milliseconds, then the microseconds in 12 bits, then 62 random bits.

        No two instants are equal, so ids increase strictly and are distinct whatever the random bits are.
        """
        self.instant()
        milliseconds, microseconds = divmod(self.last, 1000)
        fraction = microseconds * 4096 // 1000
        tail = int.from_bytes(os.urandom(8), "big") >> 2
        return str(UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0b10 << 62 | tail))


class NoClock:
    """The clock of a read transaction: there is none."""

    def instant(self) -> datetime:
        raise Internal("Instants are given inside a write only.")

    def new_id(self) -> str:
        raise Internal("Ids are given inside a write only.")
