"""What `perdure serve` tells the person who started it. Its own words are ASCII, so every terminal can show them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from perdure.app import App
from perdure.domain.launch import DEFAULT_PORT, Home, Launch
from perdure.domain.vault import VaultState
from perdure.errors import PerdureError
from perdure.surfaces.bridge.state import DaemonState


def announcement(launch: Launch, state: DaemonState, app: App, fault: PerdureError | None) -> str:
    """Addresses, where vault and token lie, and the lines to paste into an MCP client."""
    home, url = launch.home, state.urls[0]
    lines = [f"perdure {state.version} serves at {' and '.join(state.urls)}"]
    if launch.port is None and not url.endswith(f":{DEFAULT_PORT}"):
        lines.append(f"(port {DEFAULT_PORT} is taken by another program, so it took a free one; --port names another)")
    vault = app.vault.state
    lines += ["", f"  vault   {home.vault_file} ({vault})", f"  token   {home.token_file} (perdure token show primary)"]
    if fault is not None:
        lines += ["", f"The vault was not opened: {fault.message}"]
    elif vault is VaultState.LOCKED:
        lines += ["", "The vault is locked; open it with: perdure vault unlock"]
    lines += [
        "",
        "Connect an MCP client by command (stdio):",
        f"  {_servers(_command(home))}",
        "or by address (HTTP), with the token that `perdure token show primary` prints:",
        f"  {_servers(_address(url))}",
        "",
        "Ctrl-C or `perdure stop` ends it.",
    ]
    return "\n".join(lines) + "\n"


def tell(text: str) -> None:
    """On standard output; a character that the terminal's encoding lacks is written out (FAULTS EN3)."""
    encoding = sys.stdout.encoding or "ascii"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _servers(server: dict[str, object]) -> str:
    return json.dumps({"mcpServers": {"perdure": server}})


def _command(home: Home) -> dict[str, object]:
    script = Path(sys.executable).with_name("cortexa-mcp.exe" if sys.platform == "win32" else "cortexa-mcp")
    server: dict[str, object] = {"command": str(script) if script.exists() else "cortexa-mcp"}
    if home.folder != Path.home() / ".perdure":
        server["args"] = ["--home", str(home.folder)]
    return server


def _address(url: str) -> dict[str, object]:
    return {"type": "http", "url": f"{url}/mcp/cortexa", "headers": {"Authorization": "Bearer TOKEN"}}
