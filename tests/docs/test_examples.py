"""The JSON that the documentation shows is what perdure reads."""

from __future__ import annotations

import json
import re

from perdure.domain.handoff import parse_handoff
from tests.shape.tree import ROOT


def test_the_handoff_that_is_shown_is_one() -> None:
    shown = re.findall(r"^```json\n(.*?)^```$", (ROOT / "docs" / "concepts.md").read_text(), re.MULTILINE | re.DOTALL)
    handoffs = [parse_handoff(json.loads(text)) for text in shown if "next_action" in text]
    assert [handoff.next_action for handoff in handoffs] == ["Rotate the keys"]
    assert all((handoff.completed, handoff.verification, handoff.blockers) for handoff in handoffs)
