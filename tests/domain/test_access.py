"""Only the primary token's caller is the owner."""

from __future__ import annotations

import pytest

from perdure.domain.access import Caller, TokenKind


@pytest.mark.parametrize("kind", TokenKind)
def test_only_the_primary_kind_is_primary(kind: TokenKind) -> None:
    caller = Caller(kind=kind, token_id="t", key="k", space_id="s", spaces=("s",), user_id="u")
    assert caller.is_primary is (kind is TokenKind.PRIMARY)
