"""Each shape of credential is precise: its kind is right, and what only looks like it is refused."""

from __future__ import annotations

import pytest

from perdure.domain.credentials import SHAPES, is_filler
from perdure.domain.secrets import redact
from tests.domain.secret_samples import JWT, MIXED

KINDS = {
    "ghp_" + MIXED[:36]: "github-token",
    "github" + "_pat_" + MIXED: "github-token",
    "glpat" + "-" + MIXED[:20]: "gitlab-token",
    "xoxb" + "-1-" + MIXED[:24]: "slack-token",
    "AKIA" + "ABCDEFGHIJKLMNOP": "aws-key",
    "sk-" + "ant-api03-" + MIXED: "api-key",
    "sk" + "_live_" + MIXED[:24]: "stripe-key",
    "npm" + "_" + MIXED[:36]: "npm-token",
    "hf" + "_" + MIXED[:34]: "huggingface-token",
    "pdr" + "_" + MIXED: "perdure-token",
    JWT: "jwt",
}


@pytest.mark.parametrize(("token", "kind"), KINDS.items())
def test_a_token_alone_is_known_by_its_shape(token: str, kind: str) -> None:
    assert redact(f"see {token}, then go on") == (f"see [redacted:{kind}], then go on", (kind,))


@pytest.mark.parametrize("token", [token for token, kind in KINDS.items() if kind != "jwt"])
def test_a_token_inside_a_longer_word_is_no_token(token: str) -> None:
    assert redact(f"x{token}") == (f"x{token}", ())


def test_a_card_number_needs_its_check_digit() -> None:
    assert redact("4111-1111-1111-1111")[1] == ("card-number",)
    assert redact("4111-1111-1111-1112") == ("4111-1111-1111-1112", ())


@pytest.mark.parametrize("value", ["xxxx", "****", "...", "", "your-key", "key_here", "placeholder"])
def test_filler_is_no_secret(value: str) -> None:
    assert is_filler(value)


def test_no_kind_could_be_taken_for_the_name_of_a_secret_before_a_value() -> None:
    for shape in SHAPES:
        text = f"[redacted:{shape.kind}] = {MIXED} [redacted:{shape.kind}]: {MIXED} [redacted:{shape.kind}] {MIXED}"
        assert redact(text) == (text, ())
