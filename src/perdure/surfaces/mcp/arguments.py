"""Arguments as clients send them: other shapes that can mean one thing only are accepted, the rest is refused with reasons.

Everything here is led by the tool's own JSON schema. A message names the argument, what is allowed and what came (its type and
size, never its text).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from perdure.errors import InvalidInput

Schema = Mapping[str, Any]

_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,18}")
_SHOWN_NAME_CHARS = 60


def accept(raw: object, schema: Schema) -> dict[str, Any]:
    """The arguments by name, in the schema's shapes (FAULTS AR1). null, and blank text for an optional one, is left out.

    Raises InvalidInput for anything but an object, for an unknown name, and for text that is no Unicode.
    """
    if not isinstance(raw, Mapping):
        raise InvalidInput(f"arguments: must be an object, got {_got(raw)}", argument="arguments")
    properties = schema["properties"]
    for name in raw:
        if name not in properties:
            raise InvalidInput(_unknown(str(name), list(properties)), argument=str(name)[:_SHOWN_NAME_CHARS])
    required = schema.get("required", ())
    return {
        name: _accept(value, properties[name], name)
        for name, value in raw.items()
        if value is not None and not (name not in required and isinstance(value, str) and not value.strip())
    }


def explain(error: ValidationError, schema: Schema) -> InvalidInput:
    """The first thing that is wrong, in words, without what pydantic would quote of the input."""
    first = error.errors(include_url=False)[0]
    at: Schema = schema
    path = ""
    for part in first["loc"]:
        at = at.get("items", {}) if isinstance(part, int) else at.get("properties", {}).get(part, {})
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    if first["type"] == "missing":
        return InvalidInput(f"{path}: is required; it must be {_allowed(at)}", argument=path)
    return InvalidInput(f"{path}: must be {_allowed(at)}, got {_got(first['input'])}", argument=path)


def _accept(value: object, schema: Schema, path: str) -> object:
    if isinstance(value, str):
        _check_text(value, path)
        value = _from_text(value, schema)
    elif isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        value = int(value)
    if isinstance(value, list) and "items" in schema:
        return [_accept(entry, schema["items"], f"{path}[{index}]") for index, entry in enumerate(value)]
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return {key: _accept(entry, known.get(key, {}), f"{path}.{key}") for key, entry in value.items()}
    return value


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{path}: holds half a surrogate pair, which is no text", argument=path) from None


def _from_text(text: str, schema: Schema) -> object:
    """Text where something else is wanted: JSON text, comma text, digits, `true`, an enum in other letters' case."""
    kind, word = schema.get("type"), text.strip()
    if kind == "array":
        return _list_from_text(word, schema.get("items", {}))
    if kind == "object" and word.startswith("{"):
        return _from_json(word, dict, text)
    if kind == "integer" and _WHOLE_NUMBER.fullmatch(word):
        return int(word)
    if kind == "boolean" and word.lower() in ("true", "false"):
        return word.lower() == "true"
    return next((allowed for allowed in schema.get("enum", ()) if allowed == word.lower()), text)


def _list_from_text(word: str, items: Schema) -> object:
    if word.startswith("["):
        found = _from_json(word, list, None)
        if found is not None:
            return found
    if items.get("type") != "string":
        return word
    if word.startswith('"'):
        whole = _from_json(word, str, None)
        if whole is not None:
            return [whole]
    return [part.strip() for part in word.split(",") if part.strip()]


def _from_json(word: str, wanted: type, otherwise: object) -> object:
    try:
        value = json.loads(word)
    except (ValueError, RecursionError):
        return otherwise
    return value if isinstance(value, wanted) else otherwise


def _unknown(name: str, known: Sequence[str]) -> str:
    shown = ascii(name[:_SHOWN_NAME_CHARS])
    allowed = f"allowed are {', '.join(known)}" if known else "this tool takes none"
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f"{shown}: is no argument here; {allowed}{f'. Did you mean {near[0]}?' if near else ''}"


def _allowed(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(str(value) for value in schema['enum'])}"
    match schema.get("type"):
        case "string":
            return "text" + _range(schema, "Length", " of {} characters")
        case "integer":
            return "a whole number" + _range(schema, "imum", " ({})")
        case "boolean":
            return "true or false"
        case "array":
            return "an array" + _range(schema, "Items", " of {} entries") + f", each {_allowed(schema.get('items', {}))}"
        case "object":
            names = ", ".join(schema.get("properties", ()))
            return f"an object with {names}" if names else "an object"
    return "one of the forms the schema shows"


def _range(schema: Schema, suffix: str, shape: str) -> str:
    low, high = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    if low is None and high is None:
        return ""
    if high is None:
        return shape.format(f"at least {low}")
    return shape.format(f"up to {high}" if low is None else f"{low} to {high}")


def _got(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return f"the number {value}" if abs(value) < 10**9 else "a very large number"
        case str():
            return f"text of {len(value)} characters"
        case list() | tuple():
            return f"an array of {len(value)} entries"
        case Mapping():
            return f"an object of {len(value)} fields"
    return f"a {type(value).__name__}"
