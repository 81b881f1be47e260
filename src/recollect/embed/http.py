"""Embedding by a service: anything that speaks OpenAI's protocol, and Ollama.

A row that comes back is believed only if it belongs to one of our texts, has the right length and holds finite numbers.
A batch that is too large is halved; a single text that is too long is cut in half, a few times at most.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from recollect.embed import EmbedOptions
from recollect.embed.transport import Service, TooLong, check_key, parse_base_url
from recollect.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
_MAX_CUTS = 8
_STAND_IN = "."  # for a text that is empty, which services refuse
_HINT = "check that the model embeds text and that the base URL is right"
_DIMS: Mapping[str, int] = MappingProxyType(
    {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
        "nomic-embed-text": 768,
        "mxbai-embed-large": 1024,
        "all-minilm": 384,
        "bge-m3": 1024,
    }
)


class ServiceEmbedder:
    """What both kinds share: batches, cutting, and distrust of the answer."""

    name = ""
    max_tokens = 0

    def __init__(self, options: EmbedOptions, model: str, service: Service) -> None:
        self._model_name = model
        self._service = service
        self._batch = options.batch or 100
        self._native = _DIMS.get(model.partition(":")[0], 0)
        self._dims = options.dims or self._native
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        shortened = f"/{self._dims}" if self._native and self._dims != self._native else ""
        return f"{self.name}/{self._model_name}{shortened}"

    @property
    def dims(self) -> int:
        """Known beforehand for well-known models; of any other the service is asked once."""
        with self._lock:
            if not self._dims:
                self._dims = self._ask([_STAND_IN], expected=0).shape[1]
            return self._dims

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy as np

        dims = self.dims
        vectors = np.empty((len(texts), dims), np.float32)
        for start in range(0, len(texts), self._batch):
            batch = [_sendable(text) for text in texts[start : start + self._batch]]
            vectors[start : start + len(batch)] = self._fitting(batch, dims)
        return vectors

    def _fitting(self, texts: list[str], dims: int) -> "Floats":
        import numpy as np

        try:
            return self._ask(texts, dims)
        except TooLong as trouble:
            if len(texts) == 1:
                return self._cut(texts[0], dims, trouble)
        half = len(texts) // 2
        return np.concatenate([self._fitting(texts[:half], dims), self._fitting(texts[half:], dims)])

    def _cut(self, text: str, dims: int, trouble: TooLong) -> "Floats":
        for _ in range(_MAX_CUTS):
            text = text[: len(text) // 2]
            if not text.strip():
                break
            try:
                return self._ask([text], dims)
            except TooLong as again:
                trouble = again
        raise EmbedderUnavailable(f"the embedding service finds every text too long: {trouble}", hint=_HINT)

    def _ask(self, texts: list[str], expected: int) -> "Floats":
        return _checked(self._rows(texts), len(texts), expected)

    def _rows(self, texts: list[str]) -> list[Any]:
        raise NotImplementedError


class OpenAIEmbedder(ServiceEmbedder):
    name = "openai"
    max_tokens = 8191

    def __init__(self, options: EmbedOptions, *, sleep: Callable[[float], None] = time.sleep) -> None:
        url = options.base_url or OPENAI_URL
        key = check_key(options.api_key)
        if not key and url.rstrip("/") == OPENAI_URL:
            raise EmbedderUnavailable(
                "OpenAI needs an API key", hint="set OPENAI_API_KEY, or choose the offline embedder minilm"
            )
        service = Service(parse_base_url(url), key, options.timeout_seconds, sleep)
        super().__init__(options, options.model or "text-embedding-3-small", service)

    def _rows(self, texts: list[str]) -> list[Any]:
        body: dict[str, Any] = {"model": self._model_name, "input": texts}
        if self._model_name.startswith("text-embedding-3") and self._dims != self._native:
            body["dimensions"] = self._dims
        answer = self._service.post("/embeddings", body)
        try:
            entries = answer["data"]
            rows = {entry["index"]: entry["embedding"] for entry in entries}
            if len(entries) != len(texts):
                raise ValueError
            return [rows[number] for number in range(len(texts))]
        except (KeyError, TypeError, ValueError) as trouble:
            raise EmbedderUnavailable("the embedding service did not answer text by text", hint=_HINT) from trouble


class OllamaEmbedder(ServiceEmbedder):
    name = "ollama"
    max_tokens = 512  # what the smallest of its usual models reads

    def __init__(self, options: EmbedOptions, *, sleep: Callable[[float], None] = time.sleep) -> None:
        base = parse_base_url(options.base_url or OLLAMA_URL)
        service = Service(base, check_key(options.api_key), options.timeout_seconds, sleep)
        super().__init__(options, options.model or "nomic-embed-text", service)

    def _rows(self, texts: list[str]) -> list[Any]:
        # Ollama would cut a long text without a word; we want to hear of it and cut it ourselves.
        answer = self._service.post("/api/embed", {"model": self._model_name, "input": texts, "truncate": False})
        rows = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise EmbedderUnavailable("the embedding service did not answer text by text", hint=_HINT)
        return rows


def _sendable(text: str) -> str:
    whole = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair would spoil the whole batch
    return whole if whole.strip() else _STAND_IN


def _checked(rows: list[Any], count: int, expected: int) -> "Floats":
    """The rows as unit vectors, refused unless there is one for each text, all of the expected length and finite."""
    import numpy as np

    try:
        vectors = np.asarray(rows, np.float64)
    except (ValueError, TypeError, OverflowError) as trouble:
        raise EmbedderUnavailable("the embedding service did not answer with numbers", hint=_HINT) from trouble
    if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
        raise EmbedderUnavailable("the embedding service did not answer text by text", hint=_HINT)
    if expected and vectors.shape[1] != expected:
        raise EmbedderUnavailable(
            f"the embedding service answered with {vectors.shape[1]} dimensions instead of {expected}", hint=_HINT
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not np.isfinite(lengths).all() or not lengths.all():
        raise EmbedderUnavailable("the embedding service answered with numbers that are no vector", hint=_HINT)
    unit: Floats = (vectors / lengths).astype(np.float32)
    return unit
