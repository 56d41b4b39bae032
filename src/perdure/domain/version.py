"""Which perdure this is, said in one place: the build reads it here, for the installed metadata costs the bridge 20 ms."""

from __future__ import annotations

VERSION = "0.1.0"
