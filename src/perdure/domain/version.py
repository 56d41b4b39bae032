"""Which perdure this is: the one place that says so (the build reads it; asking the installed metadata costs the bridge 20 ms)."""

from __future__ import annotations

VERSION = "0.1.0"
