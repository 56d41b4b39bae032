from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from perdure.bench import speed


@pytest.mark.slow
def test_captures_are_measured_against_other_modes_in_the_same_run(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "ROUNDS", 1)
    figures = {f.name: f for f in asyncio.run(speed.captures(tmp_home, lambda at: None))}
    assert figures["durable rate / rate with synchronous off"].bar == ">= 0.6"
    assert (
        figures["waits for the disk per capture, 64 callers"].value < figures["waits for the disk per capture, one caller"].value
    )


@pytest.mark.slow
def test_searches_are_measured_at_two_sizes_and_without_encryption(tmp_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "ROUNDS", 1)
    seen: set[str] = set()
    figures = asyncio.run(speed.searches(tmp_home, (50, 200), report=lambda at: seen.add(at.unit)))
    assert [f.bar for f in figures if f.bar] == ["<= 3", "<= 1.2"]
    assert all(f.value > 0 for f in figures)
    assert seen == {"filling", "searching"}
