"""A recovery key is 160 random bits in 36 letters and digits that survive paper, a phone call and any way of typing."""

from __future__ import annotations

import base64
import hashlib
import re

RECOVERY_BYTES = 20
_GROUP = 4
_CHECK_SYMBOLS = 4
_SYMBOLS = RECOVERY_BYTES * 8 // 5 + _CHECK_SYMBOLS
# Crockford's alphabet has no I, L, O and U; the first three are read as the digits they look like.
_TO_READABLE = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
_FROM_READABLE = str.maketrans("0123456789ABCDEFGHJKMNPQRSTVWXYZOIL", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABB")
_READABLE = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZOIL")
_SEPARATORS = re.compile(r"[\s\-\u2010-\u2015\u2212]+")  # with the dashes that text programs put in a hyphen's place


def format_recovery_key(secret: bytes) -> str:
    """`7K2M-…`: nine groups of four, the last one a check."""
    text = _base32(secret) + _check(secret)
    return "-".join(text[start : start + _GROUP] for start in range(0, _SYMBOLS, _GROUP))


def parse_recovery_key(text: str) -> bytes | None:
    """The secret, whatever the case, spaces and dashes; None when it is no recovery key or one mistyped."""
    if not looks_like_recovery_key(text):
        return None
    symbols = _symbols(text).translate(_FROM_READABLE)
    secret = base64.b32decode(symbols[:-_CHECK_SYMBOLS])
    return secret if _check(secret).translate(_FROM_READABLE) == symbols[-_CHECK_SYMBOLS:] else None


def looks_like_recovery_key(text: str) -> bool:
    """Of the right length and letters, the check aside: a mistyped one is told as such."""
    symbols = _symbols(text)
    return len(symbols) == _SYMBOLS and _READABLE.issuperset(symbols)


def _symbols(text: str) -> str:
    return _SEPARATORS.sub("", text).upper()


def _base32(secret: bytes) -> str:
    return base64.b32encode(secret).decode("ascii").translate(_TO_READABLE)


def _check(secret: bytes) -> str:
    return _base32(hashlib.sha256(b"perdure recovery key" + secret).digest())[:_CHECK_SYMBOLS]
