"""An open vault of each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.stores import ENGINES, Engine, opened


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    with opened(ENGINES[request.param](tmp_path / "home")) as vault:
        yield vault
