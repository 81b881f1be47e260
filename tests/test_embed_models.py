"""The embedders that run here: the bundled model, hashing, and how they are opened."""

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recollect.embed import EMBEDDERS, Embedder, EmbedOptions, open_embedder
from recollect.embed.hashing import HashingEmbedder, fnv1a
from recollect.embed.onnx import BUNDLED, OnnxEmbedder
from recollect.errors import ConfigInvalid, EmbedderUnavailable

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture(scope="module")
def minilm() -> OnnxEmbedder:
    return OnnxEmbedder()


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8")
    return done.stdout.strip()


def opened(name: str, **options: Any) -> Embedder:
    embedder = open_embedder(name, options=EmbedOptions(**options))
    assert embedder is not None
    return embedder


def test_the_bundled_model_is_true_to_its_float_original(minilm: OnnxEmbedder) -> None:
    texts = json.loads((FIXTURES / "embed_texts.json").read_text(encoding="utf-8"))["fidelity"]
    reference = np.load(FIXTURES / "minilm_reference.npz")["embeddings"]
    cosines = (minilm.embed(texts) * reference).sum(1)
    assert cosines.mean() >= 0.995
    assert cosines.min() >= 0.98


def test_vectors_are_float32_rows_of_length_one(minilm: OnnxEmbedder) -> None:
    vectors = minilm.embed(["one", "", "x " * 2000, "日本語"])
    assert vectors.shape == (4, 384) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert minilm.embed([]).shape == (0, 384)


def test_like_is_near_like(minilm: OnnxEmbedder) -> None:
    question, cat, tax = minilm.embed(["where does the cat sleep", "the kitten naps on the sofa", "quarterly tax form"])
    assert question @ cat > question @ tax + 0.2


def test_a_text_has_the_same_vector_whatever_is_embedded_beside_it(minilm: OnnxEmbedder) -> None:
    texts = ["short", "a somewhat longer text about a database migration", "words " * 300]
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    np.testing.assert_array_equal(minilm.embed(texts), alone)
    np.testing.assert_array_equal(minilm.embed(texts[::-1])[::-1], alone)


def test_only_the_first_256_tokens_are_read(minilm: OnnxEmbedder) -> None:
    first = "memory " * 254
    long, other = minilm.embed([first, first + "entirely different words"])
    np.testing.assert_array_equal(long, other)


def test_threads_load_one_model_and_agree() -> None:
    embedder = OnnxEmbedder()
    texts = [f"note number {number}" for number in range(12)]
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(embedder.embed(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


def test_opening_an_embedder_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from recollect.embed import EmbedOptions, open_embedder\n"
        "for name in ('minilm', 'hashing', 'openai', 'ollama', 'none'):\n"
        "    embedder = open_embedder(name, options=EmbedOptions(api_key='k'))\n"
        "    if embedder: embedder.model, embedder.dims, embedder.max_tokens, embedder.name\n"
        "print([name for name in ('numpy', 'onnxruntime', 'importlib.metadata') if name in sys.modules])\n"
    )
    assert run_python(code) == "[]"


def test_the_contract_module_alone_does_not_import_a_http_client() -> None:
    code = "import sys, recollect.embed; print([n for n in ('http.client', 'ssl', 'json') if n in sys.modules])"
    assert run_python(code) == "[]"


def test_the_model_is_named_after_its_weights(minilm: OnnxEmbedder) -> None:
    assert minilm.model.startswith("minilm-l6-v2-int8@")
    assert (minilm.name, minilm.dims, minilm.max_tokens) == ("minilm", 384, 256)
    minilm.verify_files()


def copy_of_model(folder: Path) -> Path:
    return Path(shutil.copytree(BUNDLED, folder / "model"))


@pytest.mark.parametrize("name", ["model.onnx", "words.npy", "vocab.txt"])
def test_a_missing_or_short_model_file_is_reported_on_first_use(tmp_path: Path, name: str) -> None:
    folder = copy_of_model(tmp_path)
    embedder = OnnxEmbedder(folder)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-1])
    with pytest.raises(EmbedderUnavailable, match="damaged"):
        embedder.embed(["hello"])
    (folder / name).unlink()
    with pytest.raises(EmbedderUnavailable, match="missing") as caught:
        embedder.embed(["hello"])
    assert "reinstall" in caught.value.hint
    (folder / name).write_bytes(whole)
    assert embedder.embed(["hello"]).shape == (1, 384)


def test_a_changed_byte_is_found_when_the_files_are_verified(tmp_path: Path) -> None:
    folder = copy_of_model(tmp_path)
    raw = bytearray((folder / "words.npy").read_bytes())
    raw[-5] ^= 1
    (folder / "words.npy").write_bytes(raw)
    with pytest.raises(EmbedderUnavailable, match=r"words\.npy is damaged"):
        OnnxEmbedder(folder).verify_files()


def test_a_model_that_is_no_model_is_reported(tmp_path: Path) -> None:
    folder = copy_of_model(tmp_path)
    (folder / "model.onnx").write_bytes(bytes((folder / "model.onnx").stat().st_size))
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        OnnxEmbedder(folder).embed(["hello"])


def test_a_folder_without_a_model_is_reported_on_opening(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable):
        OnnxEmbedder(tmp_path)


def test_fnv1a_gives_the_published_values() -> None:
    assert fnv1a("") == 0xCBF29CE484222325
    assert fnv1a("a") == 0xAF63DC4C8601EC8C
    assert fnv1a("foobar") == 0x85944171F73967E8


def test_hashing_is_the_same_in_another_process() -> None:  # B-09, B-28
    code = (
        "from recollect.embed.hashing import HashingEmbedder\n"
        "print(HashingEmbedder().embed(['the deploy failed, deploy again', '日本語']).tobytes().hex())\n"
    )
    here = HashingEmbedder().embed(["the deploy failed, deploy again", "日本語"]).tobytes().hex()
    assert run_python(code) == here


def test_hashing_finds_shared_words_and_ignores_stop_words() -> None:
    embedder = HashingEmbedder()
    query, shared, other = embedder.embed(["deploying the server", "the servers were deployed", "the cake and the tea"])
    assert query.shape == (256,) and query.dtype == np.float32
    assert query @ shared > 0.9
    assert abs(query @ other) < 0.1


def test_hashing_weighs_a_repeated_term_by_one_plus_its_logarithm() -> None:
    once, twice = HashingEmbedder().embed(["deploy server", "deploy deploy server"])
    weights = sorted(np.abs(twice[twice != 0]))
    assert weights[1] / weights[0] == pytest.approx(1 + np.log(2), rel=1e-5)
    assert once @ once == pytest.approx(1)


def test_hashing_gives_terms_both_signs() -> None:
    vector = HashingEmbedder().embed([" ".join(f"word{number}" for number in range(100))])[0]
    assert (vector > 0).sum() > 20 and (vector < 0).sum() > 20


def test_hashing_gives_a_text_without_words_no_direction() -> None:
    assert not HashingEmbedder().embed([""]).any()
    assert HashingEmbedder().embed([]).shape == (0, 256)


def test_none_is_no_embedder() -> None:
    assert open_embedder("none", options=EmbedOptions()) is None


@pytest.mark.parametrize("name", ["minilm", "hashing"])
def test_an_embedder_answers_to_the_name_it_was_opened_by(name: str) -> None:
    embedder = opened(name, threads=2)
    assert embedder.name == name
    assert embedder.embed(["hello"]).shape == (1, embedder.dims)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        open_embedder("minlm", options=EmbedOptions())
    assert all(name in caught.value.hint for name in EMBEDDERS)


PLUGIN = """
class Own:
    name, model, dims, max_tokens = "own", "own-1", 2, 10
    def __init__(self, options): self.options = options
    def embed(self, texts): raise NotImplementedError
"""


def test_an_installed_package_may_bring_an_embedder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_embedder.py").write_text(PLUGIN, encoding="utf-8")
    info = tmp_path / "own_embedder-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-embedder\nVersion: 1\n", encoding="utf-8")
    points = "[recollect.embedders]\nown = own_embedder:Own\nbroken = own_embedder:Missing\ngone = no_such_module:X\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = opened("own", model="m")
    assert own.model == "own-1"
    assert SimpleNamespace(**vars(own)).options.model == "m"
    for name in ("broken", "gone"):
        with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
            open_embedder(name, options=EmbedOptions())
    with pytest.raises(ConfigInvalid, match="nobody") as caught:
        open_embedder("nobody", options=EmbedOptions())
    assert "own" in caught.value.hint
