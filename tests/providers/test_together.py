"""Native libraries that one daemon loads must bear each other, in whatever order they are first used."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

USES = {
    "graph": "from perdure.engines.sqlite.vector_graph import usearch_index; usearch_index.Index(ndim=8)",
    "model": "from perdure.providers.onnx import BundledEmbedder; BundledEmbedder().embed_query('a question')",
    "judge": "from perdure.providers.onnx import BundledReranker; BundledReranker().score('who', ['me'])",
}


@pytest.mark.parametrize("order", list(itertools.permutations(USES)), ids=" ".join)
def test_lk9_graph_and_models_bear_each_other_in_any_order(order: tuple[str, ...]) -> None:
    code = "\n".join(USES[use] for use in order)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{' then '.join(order)}: exit {done.returncode}: {done.stderr[-500:]}"
