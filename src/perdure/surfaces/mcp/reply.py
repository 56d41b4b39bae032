"""What a tool answers: text blocks for whoever reads, one JSON object for whoever parses."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from perdure.errors import PerdureError


@dataclass(frozen=True, slots=True)
class Reply:
    """`structured` says the same as `texts`, for programs. `error` is what `is_error` was rendered from."""

    texts: tuple[str, ...]
    structured: dict[str, Any] | None = None
    is_error: bool = False
    error: PerdureError | None = None

    def with_notes(self, notes: tuple[str, ...]) -> Reply:
        """The same answer and a block of remarks behind it; also under `notes` for programs."""
        if not notes:
            return self
        structured = {**(self.structured or {}), "notes": [*(self.structured or {}).get("notes", ()), *notes]}
        return dataclasses.replace(self, texts=(*self.texts, "\n".join(notes)), structured=structured)
