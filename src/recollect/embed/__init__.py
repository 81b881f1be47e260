"""Embedders: text in, vectors out. Every embedder does the whole contract, whether it runs here or asks a service.

Opening one is cheap: nothing heavy is imported and no service is asked before the first text is embedded. Vectors of
different models must never meet, so `model` names the weights, and everything that stores a vector stores it too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from recollect.errors import ConfigInvalid, EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np

__all__ = ["EMBEDDERS", "EmbedOptions", "Embedder", "open_embedder"]

EMBEDDERS = ("minilm", "hashing", "openai", "ollama", "none")
_GROUP = "recollect.embedders"


class Embedder(Protocol):
    """What recollect asks of an embedder. It may be called from several threads at once."""

    @property
    def name(self) -> str:
        """The name it is chosen by, such as `minilm`."""

    @property
    def model(self) -> str:
        """The identity of its vectors: the same weights give the same identity, other weights another."""

    @property
    def dims(self) -> int:
        """The length of its vectors."""

    @property
    def max_tokens(self) -> int:
        """The longest text it reads whole, in its own tokens."""

    def embed(self, texts: Sequence[str]) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """One row per text, float32, each of length one. Raises EmbedderUnavailable."""


@dataclass(frozen=True, slots=True)
class EmbedOptions:
    """How to open an embedder. Empty text and zero mean the embedder's own default."""

    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    dims: int = 0
    threads: int = 1
    timeout_seconds: float = 30.0
    batch: int = 0


def open_embedder(name: str, *, options: EmbedOptions) -> Embedder | None:
    """The embedder of that name; None for `none`. A name that is not ours is looked up among installed packages."""
    if name == "none":
        return None
    if name == "minilm":
        from recollect.embed.onnx import bundled

        return bundled(options.threads)
    if name == "hashing":
        from recollect.embed.hashing import HashingEmbedder

        return HashingEmbedder()
    if name == "openai":
        from recollect.embed.http import OpenAIEmbedder

        return OpenAIEmbedder(options)
    if name == "ollama":
        from recollect.embed.http import OllamaEmbedder

        return OllamaEmbedder(options)
    return _open_installed(name, options)


def _open_installed(name: str, options: EmbedOptions) -> Embedder:
    from importlib.metadata import entry_points

    found = {entry.name: entry for entry in entry_points(group=_GROUP)}
    if name not in found:
        known = ", ".join((*EMBEDDERS, *sorted(found)))
        raise ConfigInvalid(f"there is no embedder named {name!r}", hint=f"choose one of: {known}")
    try:
        opener = found[name].load()
    except (ImportError, AttributeError) as trouble:
        raise EmbedderUnavailable(
            f"the embedder {name!r} is installed but cannot be loaded: {trouble}",
            hint="reinstall the package that brings it, or choose another embedder",
        ) from trouble
    embedder: Embedder = opener(options)
    return embedder
