"""Native libraries that one daemon loads must bear each other, in whatever order they are first used."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

MODULES = ("usearch.index", "onnxruntime", "tokenizers", "apsw")


@pytest.mark.parametrize("order", list(itertools.permutations(MODULES, 3)), ids=" ".join)
def test_lk9_the_native_libraries_can_be_loaded_in_any_order(order: tuple[str, ...]) -> None:
    code = "\n".join(f"import {module}" for module in order)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{' then '.join(order)}: exit {done.returncode}"
