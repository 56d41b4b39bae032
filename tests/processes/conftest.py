"""A home with real processes, all of which have ended when the test has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes.living import Household


@pytest.fixture
def household(tmp_home: Path, wait_until: Callable[..., None]) -> Iterator[Household]:
    house = Household(tmp_home / "home", wait_until)
    yield house
    house.dispose()
