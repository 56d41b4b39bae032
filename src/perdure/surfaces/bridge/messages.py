"""JSON-RPC lines as far as a byte pump must understand them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

UNAVAILABLE = -32000
INVALID_REQUEST = -32600
MAX_LINE_BYTES = 4 * 1024 * 1024
"""The same limit as that of a request over HTTP."""


def parse(line: bytes) -> Mapping[str, Any]:
    """The message; an empty one for what is no JSON object, which is the daemon's to refuse."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def request_key(message: Mapping[str, Any]) -> str | None:
    """What a request and its answer have in common; None for a notification and for what has no usable id."""
    request_id = message.get("id")
    return json.dumps(request_id) if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


def failure(key: str, text: str, *, reason: str, code: int = UNAVAILABLE) -> bytes:
    """An error answer; `reason` is the stable word for programs."""
    error = {"code": code, "message": text, "data": {"code": reason}}
    return f'{{"jsonrpc":"2.0","id":{key},"error":{json.dumps(error)}}}\n'.encode()


def with_id(line: bytes, request_id: str) -> bytes:
    return json.dumps({**parse(line), "id": request_id}).encode() + b"\n"
