"""The bundled model: all-MiniLM-L6-v2 as int8 on onnxruntime, offline.

Texts run one at a time. The int8 graph scales each matrix by its own range, so a text in a batch would get a slightly
different vector with every set of neighbours; alone it always gets the same one. On one thread that is also the
quicker way, for nothing is padded. The model loads at the first text, once, whichever thread comes first.

Loading compares the sizes of the files only, which tells a broken installation from a whole one at no cost;
`verify_files` reads them whole and is for `recollect doctor`.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.embed.wordpiece import WordPiece
from recollect.embed.wordpiece import bundled as bundled_tokenizer
from recollect.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

BUNDLED = Path(__file__).parent / "model"
_REINSTALL = "reinstall recollect: pip install --force-reinstall --no-deps recollect"


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: WordPiece
    words: Any  # memory-mapped rows of scale and int8 values: only the rows in use are read
    session: Any


class OnnxEmbedder:
    name = "minilm"
    latin_only = True  # of other scripts it knows single characters at best

    def __init__(self, folder: Path = BUNDLED, threads: int = 1) -> None:
        self._folder = folder
        self._threads = max(1, threads)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        try:
            meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
            self._files: dict[str, dict[str, Any]] = meta["files"]
            self.model = str(meta["model"])
            self.dims = int(meta["dims"])
            self.max_tokens = int(meta["max_tokens"])
        except (OSError, ValueError, KeyError) as trouble:
            raise EmbedderUnavailable("the embedding model's description cannot be read", hint=_REINSTALL) from trouble

    def embed(self, texts: Sequence[str]) -> "Floats":
        import numpy as np

        loaded = self._load()
        vectors = np.empty((len(texts), self.dims), np.float32)
        for row, text in enumerate(texts):
            ids = loaded.tokenizer.encode(text, self.max_tokens)
            words = loaded.words[ids]
            vectors[row] = loaded.session.run(None, {"words": words["values"] * words["scale"][:, None]})[0]
        return vectors

    def verify_files(self) -> None:
        """Reads the model whole and compares it with its checksums; raises EmbedderUnavailable."""
        import hashlib

        for name, expected in self._files.items():
            try:
                digest = hashlib.sha256((self._folder / name).read_bytes()).hexdigest()
            except OSError as trouble:
                raise EmbedderUnavailable(f"the model file {name} cannot be read", hint=_REINSTALL) from trouble
            if digest != expected["sha256"]:
                raise EmbedderUnavailable(f"the model file {name} is damaged", hint=_REINSTALL)

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._check_sizes()
                self._loaded = self._open()
            return self._loaded

    def _check_sizes(self) -> None:
        for name, expected in self._files.items():
            try:
                size = (self._folder / name).stat().st_size
            except OSError as trouble:
                raise EmbedderUnavailable(f"the model file {name} is missing", hint=_REINSTALL) from trouble
            if size != expected["bytes"]:
                raise EmbedderUnavailable(f"the model file {name} is damaged", hint=_REINSTALL)

    def _open(self) -> _Loaded:
        try:
            import numpy as np
            import onnxruntime as ort
        except ImportError as trouble:
            raise EmbedderUnavailable(
                f"the embedding runtime cannot be imported: {trouble}", hint="pip install onnxruntime numpy"
            ) from trouble
        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only: warnings of the runtime would go to the user's terminal
        try:
            session = ort.InferenceSession(
                str(self._folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            words = np.load(self._folder / "words.npy", mmap_mode="r", allow_pickle=False)
            # The same one that cut the texts, where it is there already.
            ours = self._folder == BUNDLED
            tokenizer = bundled_tokenizer() if ours else WordPiece.from_file(self._folder / "vocab.txt")
        except Exception as trouble:  # the runtime's errors have no parent of their own
            raise EmbedderUnavailable(f"the embedding model cannot be loaded: {trouble}", hint=_REINSTALL) from trouble
        return _Loaded(tokenizer, words, session)


@cache
def bundled(threads: int) -> OnnxEmbedder:
    """The bundled model, once for a process: however many stores it opens, the weights are in memory once."""
    return OnnxEmbedder(threads=threads)
