"""What a daemon answered to discovery, kept so that a bridge answers it while its daemon is still starting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from perdure.domain.launch import Home
from perdure.domain.version import VERSION

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_KEYS = (META_VERSION, "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities")
Results = Mapping[str, Mapping[str, str]]
"""Protocol version → method → the result as JSON text, the very bytes that a live answer carries."""


class KeptAnswers:
    """One connection's use of the kept answers. Whatever it is not sure of it leaves to the daemon, by answering None."""

    def __init__(self, results: Results, latest: str) -> None:
        self._results = results
        self._latest = latest
        self._agreed: str | None = None

    def answer(self, message: Mapping[str, Any]) -> bytes | None:
        """The line that a live daemon would send for this request."""
        method, params = message.get("method"), message.get("params") or {}
        if "id" not in message or not isinstance(method, str) or not isinstance(params, dict) or "cursor" in params:
            return None
        version = self._version(method, params)
        result = self._results.get(version, {}).get(method) if version else None
        if result is None:
            return None
        return f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},"result":{result}}}\n'.encode()

    def _version(self, method: str, params: Mapping[str, Any]) -> str | None:
        meta = params.get("_meta")
        if isinstance(meta, dict) and META_VERSION in meta:
            whole = all(isinstance(meta.get(key), kind) for key, kind in zip(META_KEYS, (str, dict, dict), strict=True))
            return meta[META_VERSION] if whole else None
        if method == "initialize":
            asked = params.get("protocolVersion")
            if not isinstance(asked, str) or not isinstance(params.get("capabilities"), dict) or not _named(params):
                return None
            known = "initialize" in self._results.get(asked, {})
            self._agreed = asked if known else self._latest
        return self._agreed


def _named(params: Mapping[str, Any]) -> bool:
    info = params.get("clientInfo")
    return isinstance(info, dict) and isinstance(info.get("name"), str) and isinstance(info.get("version"), str)


def read_answers(home: Home, family: str) -> KeptAnswers | None:
    """None when there are none, or those of another version."""
    try:
        kept = json.loads(home.tools_cache.read_bytes())
        return KeptAnswers(kept["families"][family], kept["latest"]) if kept["version"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
