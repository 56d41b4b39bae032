from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.bench import command, speed

KEPT = speed.Figure(name="kept", value=0.9, unit="", bar=">= 0.6", holds=True)
MISSED = speed.Figure(name="missed", value=4.0, unit="", bar="<= 3", holds=False)


def measured(monkeypatch: pytest.MonkeyPatch, *figures: speed.Figure) -> None:
    async def measure(small: int, large: int, report: speed.Report) -> list[speed.Figure]:
        return list(figures)

    monkeypatch.setattr(speed, "measure", measure)
    monkeypatch.setattr(speed, "bridge", lambda report: [])


def test_a_bar_that_does_not_hold_is_shown_and_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, KEPT)
    assert command.run(["speed"]) == 0
    measured(monkeypatch, KEPT, MISSED)
    assert command.run(["speed"]) == 1
    assert "NO" in capsys.readouterr().out


def test_a_program_gets_one_json_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    measured(monkeypatch, KEPT)
    command.run(["speed", "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["figures"][0]["name"] == "kept"
    assert {"python", "sqlite"} <= set(document)
