"""Credentials that show by their own shape: private keys, issuers' tokens, JSON web tokens, passwords in addresses, card numbers.

Every pattern is linear: runs are bounded or start only where the run starts, and a pattern runs only when its hint occurs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Judge = Callable[[re.Match[str]], bool]

_FILLER = re.compile(r"(?i)^[x*._#?-]*$|your[-_]|xxxx|\*{4}|placeholder|[-_]here$")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{16}")


@dataclass(frozen=True, slots=True)
class Shape:
    """`hints`: one of these must occur in the text. The group `secret`, or else the whole match, is what must not be kept."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    judge: Judge = lambda match: True


def is_filler(value: str) -> bool:
    """Whether it only stands where a secret would: `xxxx`, `****`, `your-key`, `key_here`."""
    return _FILLER.search(value) is not None


def _token(kind: str, hints: str, *, body: str) -> Shape:
    """A token that starts with one of the hints; a body of filler is a placeholder."""
    words = tuple(hints.split())
    prefix = "|".join(re.escape(word) for word in words)
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{prefix})(?P<body>{body})(?![A-Za-z0-9])")
    return Shape(kind, words, pattern, lambda match: not is_filler(match["body"]))


def _is_model_key(match: re.Match[str]) -> bool:
    """Class names such as `sk-toggleable-content` and packages such as `sk-learn` start like a key, but are words."""
    body = match["body"]
    if is_filler(body):
        return False
    runs = re.findall("[A-Za-z0-9]+", body)
    longest = max(runs, key=len)
    mixed = any(run != run.lstrip("0123456789") or re.search("[0-9]", run) for run in runs if len(run) >= 6)
    return mixed or len(longest) >= 20


def _is_private_key(match: re.Match[str]) -> bool:
    return _KEY_BODY.search(match["body"]) is not None


def _is_card(match: re.Match[str]) -> bool:
    digits = [int(character) for character in match[0] if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) if index % 2 else digit for index, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


_BREAKS = r"(?:[\s\"'+>|]|\\[nrt])*+"
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<body>"
    r"[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"|(?:{_BREAKS}[A-Z][A-Za-z]{{2,12}}(?:-[A-Za-z]{{2,12}})?: [^\n\\]{{0,200}})*+(?:{_BREAKS}[A-Za-z0-9+/]{{16,}}+={{0,2}})++"
    rf"(?:{_BREAKS}[A-Za-z0-9+/]{{1,15}}={{1,2}})?)"
)
_BASE64URL = "[A-Za-z0-9_-]"

SHAPES: tuple[Shape, ...] = (
    Shape("private-key", ("PRIVATE KEY",), _PRIVATE_KEY, _is_private_key),
    Shape(
        "password",
        ("://",),
        re.compile(r"://[^\s/?#@:\"'<>\[]{0,128}:(?P<secret>[^\s/\"'<>]{1,256})@(?=[A-Za-z0-9\[])"),
        lambda match: not re.match(r"\[redacted:|[${<%]", match["secret"]) and not is_filler(match["secret"]),
    ),
    Shape(
        "jwt",
        ("eyJ",),
        re.compile(rf"(?<![A-Za-z0-9_-])eyJ{_BASE64URL}{{8,}}+(?:\.{_BASE64URL}{{4,}}+){{2,4}}"),
    ),
    _token("aws-key", "AKIA ASIA ABIA ACCA", body="[A-Z0-9]{16}"),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", body="[A-Za-z0-9]{16,}+"),
    _token("github-token", "github_pat_", body="[A-Za-z0-9_]{20,}+"),
    _token("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glagent-", body=f"{_BASE64URL}{{16,}}+"),
    _token("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", body="[A-Za-z0-9-]{10,}+"),
    _token("slack-webhook", "hooks.slack.com/services/", body="[A-Za-z0-9]{6,}/[A-Za-z0-9]{6,}/[A-Za-z0-9]{10,}+"),
    Shape(
        "api-key",
        ("sk-",),
        re.compile(rf"(?<![A-Za-z0-9])sk-(?P<body>[A-Za-z0-9]{_BASE64URL}{{5,}}+)"),
        _is_model_key,
    ),
    _token("google-key", "AIza", body=f"{_BASE64URL}{{30,}}+"),
    _token("google-key", "GOCSPX- ya29. 1//0", body=f"{_BASE64URL}{{20,}}+"),
    _token("stripe-key", "sk_live_ rk_live_ sk_test_ rk_test_ whsec_", body="[A-Za-z0-9]{10,}+"),
    _token("npm-token", "npm_", body="[A-Za-z0-9]{20,}+"),
    _token("pypi-token", "pypi-", body=f"{_BASE64URL}{{40,}}+"),
    _token("huggingface-token", "hf_", body="[A-Za-z0-9]{20,}+"),
    _token("sendgrid-key", "SG.", body=rf"{_BASE64URL}{{16,}}\.{_BASE64URL}{{16,}}+"),
    _token("twilio-key", "SK AC", body="[0-9a-f]{32}"),
    _token(
        "api-key", "gsk_ r8_ pplx- xai- lin_api_ ntn_ PMAK- sbp_ dop_v1_ doo_v1_ dapi hvs. shpat_", body=f"{_BASE64URL}{{24,}}+"
    ),
    _token("age-key", "AGE-SECRET-KEY-1", body="[A-Z0-9]{30,}+"),
    _token("perdure-token", "pdr_ pdi_ cnxt_", body=f"{_BASE64URL}{{16,}}+"),
    Shape(
        "telegram-token",
        (":",),
        re.compile(
            r"(?<![A-Za-z0-9_-])[0-9]{8,10}:(?=[a-z0-9_-]{0,34}[A-Z])(?=[A-Z0-9_-]{0,34}[a-z])"
            rf"{_BASE64URL}{{35}}(?!{_BASE64URL})"
        ),
    ),
    Shape(
        "card-number",
        ("",),
        re.compile(
            r"(?<![\w.-])(?:[456][0-9]{3}([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}|3[47][0-9]{2}([ -]?)[0-9]{6}\2[0-9]{5})"
            r"(?![\w-]|\.[0-9])"
        ),
        _is_card,
    ),
)
