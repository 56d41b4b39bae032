"""Secrets are found by shape and by name, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.domain.secrets import redact
from tests.domain.secret_samples import BEGIN, BODY, END, HARMLESS, JWT, MIXED, SECRETS

NASTY_CHARS = 150_000
NASTY = {
    "names": "password ",
    "assignments of nothing": "password: ",
    "names about names": "password for ",
    "values of letters": "password=" + "a" * 190 + " ",
    "values of paths": "password=" + "a/.b" * 45 + "! ",
    "open quotes": 'token="',
    "opened keys": BEGIN,
    "truncated keys": f"{BEGIN}\n{BODY}",
    "key headers": f"{BEGIN}Ab: x\n",
    "prefixes": "ghp_sk-xoxb-AKIAeyJSG.",
    "dotted": "eyJa.",
    "addresses": "://a:",
    "digits": "4111 ",
    "bot ids": "123456789:",
    "logins": "-u a:",
    "clients": "mysql -",
    "short groups": "token=a1-" + "b2-" * 60 + " ",
    "names of names": "token=" + "a-" * 90 + "! ",
    "one letter": "a",
    "dashes": "-",
    "spaces": "token   ",
    "base64": MIXED,
}
FRAGMENTS = st.sampled_from(
    [text for text, _ in SECRETS]
    + HARMLESS
    + ["password", "token", " is ", ": ", "=", '"', "'", "\n", " ", ",", "hunter2", "[", "]", JWT]
)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_replaced_and_its_kind_named(text: str, secret: str) -> None:
    clean, kinds = redact(text)
    assert secret not in clean
    assert kinds
    assert all(f"[redacted:{kind}]" in clean for kind in kinds)


@pytest.mark.parametrize("text", HARMLESS)
def test_names_placeholders_references_and_ids_stay(text: str) -> None:
    assert redact(text) == (text, ())


def test_what_stands_around_a_secret_stays_to_the_byte() -> None:
    clean, kinds = redact(f"before\r\n\tpostgres://app:{'s3cret' + 'pw'}@db/main?ssl=1 after é\u0000")
    assert clean == "before\r\n\tpostgres://app:[redacted:password]@db/main?ssl=1 after é\u0000"
    assert kinds == ("password",)


def test_a_token_in_the_place_of_a_user_is_redacted_beside_the_password() -> None:
    token = "ghp_" + MIXED[:36]
    assert redact(f"https://{token}@github.com/a/b")[0] == "https://[redacted:github-token]@github.com/a/b"
    assert redact(f"https://{token}:s3cret@github.com")[0] == "https://[redacted:github-token]:[redacted:password]@github.com"


def test_a_cut_off_key_takes_its_lines_and_leaves_the_prose_behind_it() -> None:
    clean, _ = redact(f"key:\n{BEGIN}\n{BODY * 2}Then deploy the service.")
    assert clean == "key:\n[redacted:private-key]\nThen deploy the service."


def test_two_keys_in_one_text_are_two_redactions() -> None:
    key = f"{BEGIN}\n{BODY}{END}"
    assert redact(f"{key} and {key}")[0] == "[redacted:private-key] and [redacted:private-key]"


def test_se1_a_key_and_a_password_told_in_prose_are_redacted() -> None:
    clean, kinds = redact("Remember my key is sk-" + "abc123… and DB password hunter2")
    assert clean == "Remember my key is [redacted:api-key]… and DB password [redacted:password]"
    assert kinds == ("api-key", "password")


def test_se2_an_exported_token_of_a_transcript_is_redacted() -> None:
    clean, _ = redact("$ export TOKEN=" + "ghp_" + MIXED[:36] + "\n$ make deploy")
    assert clean == "$ export TOKEN=[redacted:github-token]\n$ make deploy"


def test_se3_an_old_row_with_a_private_key_is_masked_when_it_is_read() -> None:
    assert redact(f"cert notes\n{BEGIN}\n{BODY * 20}{END}\nend")[0] == "cert notes\n[redacted:private-key]\nend"


@pytest.mark.parametrize("shape", NASTY.values(), ids=NASTY.keys())
def test_a_long_text_of_a_nasty_shape_takes_linear_time(shape: str) -> None:
    """A quadratic pattern would need minutes here; the suite's own limit would end it."""
    text = shape * (NASTY_CHARS // len(shape))
    clean, _ = redact(text)
    assert len(clean) > 0


@given(st.lists(st.one_of(FRAGMENTS, st.text(max_size=8)), max_size=8).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    clean, _ = redact(text)
    assert redact(clean) == (clean, ())


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    clean, kinds = redact(text)
    assert (clean == text) == (not kinds)
