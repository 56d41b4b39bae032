"""Secrets never stay in a text: they are replaced before anything is stored, indexed, logged or embedded (SEMANTICS 4).

Found by their own shape (domain/credentials.py) or by what they are said to be: a value assigned to, or told after, a password,
token, secret or key. The mere name of a key, a placeholder, a reference in code, a digest and an id without such a name stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from perdure.domain.credentials import SHAPES, Shape, is_filler

_MAX_PASSES = 4

_KEYWORD = re.compile(
    r"""(?ix)
    (?P<password> pass(?:word|wd|phrase|code|wort) | pwd | (?<![a-z0-9]) p(?:w|ass) (?=\s*[:=]) | kennwort
        | (?<![^\W\d_]) (?:contrase(?:\u00f1|n\u0303?)a | senha | mots?[ _-]de[ _-]passe)
        | (?<![^\W\d_]) (?:(?:\u015f|s\u0327?)ifre(?:m|si)? | parola(?:m|s\u0131)?)  # Turkish; parola is Italian for any word
        | \u043f\u0430\u0440\u043e\u043b(?:\u044c|\u044f|\u0438|\u0435\u043c)  # Russian
        | \u30d1\u30b9\u30ef\u30fc\u30c9 | \u5bc6(?:\u7801|\u78bc) )  # Japanese, Chinese
    | (?P<pin> (?<![a-z]) pin (?:[ -]?code|[ ]number)? )
    | (?P<token> token )
    | (?P<secret> secret (?:[_ -]?access)? (?:[_ -]?key)? )
    | (?P<key> (?:api|access|private|auth|account|shared|encryption|signing|master|license) [_ -]?(?:access[_ -]?)?key )
    """
)
_SUFFIX = r"(?:_(?:base|prod|production|dev|test|live|staging|old|new|[0-9]{1,3})|[0-9]{1,3})?(?![A-Za-z0-9_])"
_QUOTED = r"""(?:[bfru]{0,2}\\?(?P<quote>["'`])(?P<quoted>(?:(?!\\?(?P=quote))[^\n]){1,200})\\?(?P=quote))"""
_BARE = r"""(?P<bare>(?:[^\s"'`;&,<\\]|&(?!\w{1,30}=)|,(?!\s|$|\w{1,30}[=:]|["'])|<(?!/)|\\(?![n"'])){1,200})"""
_VALUE = rf"(?:{_QUOTED}|{_BARE})"
_ABOUT = r"(?:\s{1,3}(?:for|of|to|on|at)(?:\s{1,3}(?!is\b|was\b)[\w.@'/-]{1,40}){1,6})?"
_ASSIGNED = re.compile(
    rf"""(?i){_SUFFIX}(?:\\?["']\]?)?(?P<operator>\s{{0,3}}(?:=>|:=|={{1,3}}|[:\uff1a\uff1d]|>)\s{{0,3}}){_VALUE}"""
)
_TOLD = re.compile(
    rf"(?i){_ABOUT}"
    r"(?:\s{0,3}[:=\uff1a\uff1d]|\s{0,3}[\u306f\u662f]"  # ha, shi: the copulas that take no space
    r"|\s{1,3}(?:(?:is |was )?(?:now|set to|changed to|reset to)|is|was|are|to|es|est|ist|lautet|\u00e9|[-\u2013\u2014])(?::|\s))"
    r"\s{0,3}"
    rf"(?:(?:now|currently|still)\s{{1,3}})?{_VALUE}"
)
_FOLLOWED = re.compile(rf"[ \t]{{1,3}}{_VALUE}")
_AUTHORIZATION = re.compile(
    r"(?i)(?:(?<![a-z0-9])(?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:(?:bearer|basic|token|digest|apikey)\s{1,3})?"
    r"|(?<![a-z0-9])(?:bearer|basic)\s{1,3})(?P<value>[A-Za-z0-9+/=._~-]{8,}+)"
)
_LOGIN = re.compile(r"(?<!\S)(?:-u|--user)[ =][\"']?[\w.@-]{1,64}:(?P<value>[^\s\"'@]{1,128})")

_CLIENT_PASSWORD = re.compile(
    r"(?<![\w./-])(?:mysql(?:admin|dump|import|show)?|mariadb(?:-admin|-dump)?)(?=\s)[^\n|;&]{0,200}?\s-p[\"']?(?P<value>[^\s\"'|;&]{3,128})"
)

_REFERENCE = re.compile(
    r"""(?ix)
    \[redacted:.* | [\[({<%].* | \$[({\[].* | \$[a-z_]\w* | [@&*!:?][a-z_.]*
    | (?:your|change|replace|insert|enter|example|placeholder|dummy|todo|tbd|redacted|hidden|masked)
      (?:[-_]?(?:me|in|it|here|this))? (?:[-_.].*)?
    | none|null|nil|undefined|true|false|required|optional|string|str|text|bytes|secretstr|varchar|empty|unset|default|any|unknown
    | https?://.* | (?:~|\.{1,2})?/(?:[\w.-]{1,24}/){0,9}[\w.-]{1,24} | [\w-]+\.(?:pem|key|txt|json|ya?ml|env|py|js|ts|md|crt)
    | required[|,].*
    """
)
_SECRET_WORD = r"(?:pass(?:word|wd|phrase|code)?|pwd|token|secret|(?:api[-_ ]?)?key)s?"
_REFERENCE_NAME = re.compile(
    # Names of secrets, as against secrets that hold the word: lower or upper case throughout, digits in db2, s3 and at the end.
    rf"(?i:{_SECRET_WORD}[-_]?[0-9]{{0,2}})"
    rf"|(?:(?:[a-z]{{4,}}|[a-z]{{1,3}}[0-9]?)[-_. ]){{1,8}}{_SECRET_WORD}(?:[-_.][a-z]*)?(?:_[0-9]{{1,2}})?"
    rf"|(?:[A-Z][A-Z0-9]*[-_.]){{1,8}}(?i:{_SECRET_WORD})(?:[-_.][A-Z]*)?(?:_?[0-9]{{1,2}})?"
    r"|.*\$\{.*"
)
_MIXED_NAME = re.compile(rf"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])[A-Za-z]{{3,}}-(?i:{_SECRET_WORD})")
"""No name is written like that: `Kitten-Secret`."""
_CAMEL_REFERENCE = re.compile(r"[a-z][A-Za-z]*(?:Password|Passwd|Token|Secret|Key)[0-9]{0,2}")
_CODE = re.compile(
    r"[\w.]+[\[(].*|(?:self|this|os|process|config|settings|cfg|env|ctx|req|request|res|args|opts|options|props|data|user|form|params|state)"
    r"\??\.[\w.?\[\]]+|[A-Za-z_]+(?:\.[A-Za-z_]+)+|[^=]*=>.*"
)
_NOT_TOLD = re.compile(
    r"""(?ix)
    (?:argon|sha|md|pbkdf|bcrypt|scrypt|base|utf|oauth|http|ipv|aes|rsa|ed|hs|rs|es|ps|x|p|k|ec|s|v|iso|rfc|nist|tls|ssl|fido|pkcs|level|h)
        -?[0-9]{1,5}(?:[a-z]{0,3})(?:[-_/.:].*)?
    | v?[0-9]+(?:\.[0-9x]+)+\S* | [0-9]{4}-[0-9]{2}(?:-[0-9]{2}\S*)? | [0-9]{1,2}[:.][0-9]{2}\S*
    | [0-9]+[-+]?(?:b|bytes?|bits?|chars?|characters?|days?|d|hours?|hrs?|h|min|mins|minutes?|s|secs?|ms|kb?|mb|gb|x|th|st|nd|rd|
        digits?|words?|letters?|times?|rounds?|factor|fold|way|step|symbols?|months?|weeks?|years?|attempts?)(?:[-/].*)?
    | [0-9]{1,3}(?:\u6587\u5b57|[\u4f4d\u6841\u4e2a\u500b]).*
    | [\w.+-]++@[\w-]++\.[\w.-]+ | [^\s/]++/\S+\.\w{1,8} | \#[0-9]+ | [0-9]+%
    """
)
_UNIT_FOLLOWS = re.compile(
    r"\s{1,3}(?:byte|bit|char|digit|day|hour|minute|second|word|letter|time|symbol|attempt|round|user|or more)"
)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"[0-9]")
_SYMBOL = re.compile(r"[!@#$%^&*+?~|]")
_MIXED_RUN = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{6,}")
_GROUPED = re.compile(r"(?=.*[A-Za-z])(?=(?:[^0-9]*[0-9]){4})[A-Za-z0-9]{2,5}(?:-[A-Za-z0-9]{2,5}){2,8}")
"""A key in short groups: `a8f5-99e2-bb13`."""


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with `[redacted:kind]` in the place of each secret, and the kinds found; redacting again changes nothing."""
    kinds: set[str] = set()
    for _ in range(_MAX_PASSES):
        redacted = _redact_once(text, kinds)
        if redacted == text:
            break
        text = redacted
    return text, tuple(sorted(kinds))


def redact_json(value: Any) -> Any:
    """The same JSON with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)[0]
    if isinstance(value, list):
        return [redact_json(entry) for entry in value]
    return {key: redact_json(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def holds_secret(value: Any) -> bool:
    """Whether a text in the JSON looks like a secret; a text that stands there twice is looked through once."""
    texts: dict[str, None] = {}
    open_values = [value]
    while open_values:
        match open_values.pop():
            case str() as text:
                texts[text] = None
            case list() as entries:
                open_values.extend(entries)
            case dict() as fields:
                open_values.extend(fields.values())
    return any(redact(text)[1] for text in texts)


def _redact_once(text: str, kinds: set[str]) -> str:
    for shape in SHAPES:
        if any(hint in text for hint in shape.hints):
            text = _replace(text, _shaped(text, shape), kinds=kinds)
    text = _replace(text, _authorized(text), kinds=kinds)
    return _replace(text, _named(text), kinds=kinds)


Span = tuple[int, int, str]


def _replace(text: str, spans: Iterator[Span], *, kinds: set[str]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end, kind in sorted(spans):
        if start < position:
            continue
        kinds.add(kind)
        pieces += (text[position:start], f"[redacted:{kind}]")
        position = end
    return "".join([*pieces, text[position:]]) if pieces else text


def _shaped(text: str, shape: Shape) -> Iterator[Span]:
    group: str | int = "secret" if "secret" in shape.pattern.groupindex else 0
    for match in shape.pattern.finditer(text):
        if shape.judge(match):
            yield match.start(group), match.end(group), shape.kind


def _authorized(text: str) -> Iterator[Span]:
    for match in _AUTHORIZATION.finditer(text):
        value = match["value"]
        random = _DIGIT.search(value) or (len(value) >= 12 and not value.islower() and not value.istitle()) or value.endswith("=")
        if random and not _is_reference(value):
            yield match.start("value"), match.end("value"), "authorization"
    for hint, pattern in (("-u", _LOGIN), ("-p", _CLIENT_PASSWORD)):
        for match in pattern.finditer(text) if hint in text else ():
            if not _is_reference(match["value"]):
                yield match.start("value"), match.end("value"), "password"


def _named(text: str) -> Iterator[Span]:
    """Values that follow the name of a secret. The search goes on after the name, so that no refused value hides another."""
    for name in _KEYWORD.finditer(text):
        span = _assigned(text, name) or _told(text, name)
        if span:
            yield (*span, _kind(name))


def _is_sure(name: re.Match[str]) -> bool:
    """Whether next to nothing but a secret goes under that name."""
    return name.lastgroup == "password" and not name[0].lower().startswith("parola")


def _kind(name: re.Match[str]) -> str:
    group = name.lastgroup or "secret"
    return "api-key" if group == "key" else group


def _assigned(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    match = _ASSIGNED.match(text, name.end())
    if match is None or (match["operator"].strip() == ">" and not text.startswith("</", match.end())):
        return None
    strong = _is_sure(name)
    if match["quoted"] is not None:
        value = match["quoted"]
        interpolated = "f" in text[match.end("operator") : match.start("quote")] and "{" in value
        secret = not interpolated and _is_quoted_secret(value, strong=strong, phrase="phrase" in name[0].lower())
        return match.span("quoted") if secret else None
    if name.lastgroup == "pin":
        return None
    value, span = _trimmed(match)
    if _is_reference(value) or _CODE.fullmatch(value) or _NOT_TOLD.fullmatch(value):
        return None
    if _is_strong(value) if strong else _is_weak(value):
        return span
    alone = match["operator"] in ("=", ">") and strong and value.isalnum() and len(value) >= 4
    return span if alone and _is_env_line(text, name.start(), end=span[1]) else None


def _told(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    match = _TOLD.match(text, name.end())
    direct = match is None
    if match is None and name.lastgroup != "token" and name.lastgroup != "key":
        match = _FOLLOWED.match(text, name.end())
    if match is None:
        return None
    value, span = _trimmed(match)
    if name.lastgroup == "pin":
        is_pin = re.fullmatch("[0-9]{4,8}", value) and (not direct or name[0].startswith("PIN"))
        return span if is_pin and not _UNIT_FOLLOWS.match(text, span[1]) else None
    if _is_reference(value) or _CODE.fullmatch(value) or _NOT_TOLD.fullmatch(value):
        return None
    if not _is_sure(name):
        return span if _is_weak(value) else None
    if value.isdigit():
        return span if not direct and len(value) >= 4 and not _UNIT_FOLLOWS.match(text, span[1]) else None
    if match["quoted"] is not None and not direct and " " not in value:
        return span
    return span if len(value) >= 5 and _is_strong(value) else None


def _trimmed(match: re.Match[str]) -> tuple[str, tuple[int, int]]:
    """The value without the sentence's own punctuation, and where it stands."""
    group = "quoted" if match["quoted"] is not None else "bare"
    value = match[group].rstrip(".,:)]}\u2026") if group == "bare" else match[group]
    start = match.start(group)
    return value.rstrip("!?") if _only_letters(value.rstrip("!?")) else value, (start, start + len(value))


def _only_letters(value: str) -> bool:
    return not _DIGIT.search(value) and not _SYMBOL.search(value)


def _is_quoted_secret(value: str, *, strong: bool, phrase: bool) -> bool:
    if _is_reference(value) or (" " in value and not phrase):
        return False
    if strong:
        return len(value) >= 3
    return _is_weak(value) or (len(value) >= 16 and not re.fullmatch("[A-Z_]+|[a-z]+(?:[-_.:/ ][a-z]+)+", value))


def _is_strong(value: str) -> bool:
    if len(value) < 4 or not _LETTER.search(value):
        return value.isdigit() and len(value) >= 4
    return bool(_DIGIT.search(value) or _SYMBOL.search(value) or _MIXED_NAME.fullmatch(value))


def _is_weak(value: str) -> bool:
    return bool(_MIXED_RUN.search(value) or _GROUPED.fullmatch(value))


def _is_env_line(text: str, start: int, *, end: int) -> bool:
    """Whether the assignment is a whole line such as `export DB_PASSWORD=value`."""
    line = text.rfind("\n", max(0, start - 60), start) + 1 or (0 if start < 60 else start)
    before = text[line:start]
    after = text[end : end + 1]
    return after in ("", "\n", "\r") and re.fullmatch(r"(?:export |set )?[A-Za-z0-9_.-]*", before) is not None


def _is_reference(value: str) -> bool:
    """Whether it names where a secret is, or what it should be, rather than being one."""
    return is_filler(value) or bool(
        _REFERENCE.fullmatch(value) or _REFERENCE_NAME.fullmatch(value) or _CAMEL_REFERENCE.fullmatch(value)
    )
