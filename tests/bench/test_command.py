from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.bench import command, speed

KEPT = speed.Figure(name="kept", value=0.9, unit="", bar=">= 0.6", holds=True)
MISSED = speed.Figure(name="missed", value=4.0, unit="", bar="<= 3", holds=False)


TOLD = speed.Figure(name="told", value=12_345.0, unit="/s")


def measured(monkeypatch: pytest.MonkeyPatch, *figures: speed.Figure) -> list[tuple[int, int]]:
    """Stands for the measuring; answers the sizes that it was asked for. The last figure is the bridge's."""
    sizes: list[tuple[int, int]] = []

    async def measure(small: int, large: int, report: speed.Report) -> list[speed.Figure]:
        sizes.append((small, large))
        return list(figures[:-1])

    monkeypatch.setattr(speed, "measure", measure)
    monkeypatch.setattr(speed, "bridge", lambda report: list(figures[-1:]))
    return sizes


def test_a_bar_that_does_not_hold_is_shown_and_told_by_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, TOLD, KEPT)
    assert command.run(["speed"]) == 0
    assert "NO" not in capsys.readouterr().out
    for figures in ((TOLD, KEPT, MISSED), (MISSED, KEPT)):
        measured(monkeypatch, *figures)
        assert command.run(["speed"]) == 1
        assert command.run(["speed", "--json"]) == 1
        assert "NO" in capsys.readouterr().out


def test_the_table_has_a_row_for_each_figure_with_its_bar_and_whether_it_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured(monkeypatch, TOLD, KEPT, MISSED)
    command.run(["speed"])
    rows = [row.split() for row in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["figure", "value", "bar", "holds"],
        ["told", "12,345.000", "/s"],
        ["kept", "0.900", ">=", "0.6", "yes"],
        ["missed", "4.000", "<=", "3", "NO"],
    ]


def test_the_sizes_are_those_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = measured(monkeypatch, KEPT)
    command.run(["speed"])
    command.run(["speed", "--small", "10", "--large", "20"])
    assert sizes == [(10_000, 200_000), (10, 20)]


def test_what_cannot_be_measured_is_refused_with_what_can(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command.run(["luck"])
    assert end.value.code == 2
    assert "speed" in capsys.readouterr().err


def test_a_program_gets_one_json_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    measured(monkeypatch, KEPT, TOLD)
    command.run(["speed", "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["figures"] == [
        {"name": "kept", "value": 0.9, "unit": "", "bar": ">= 0.6", "holds": True},
        {"name": "told", "value": 12345.0, "unit": "/s", "bar": "", "holds": None},
    ]
    assert set(document) == {"figures", "python", "sqlite"}
