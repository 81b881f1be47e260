"""Writing 10,000 notes with given 384-d vectors: recollect beside Node (better-sqlite3 + sqlite-vec + FTS5).

    python bench/writes.py [--notes 10000] [--rounds 5] [--out file.json]

Everything runs in one go on one machine, in turn, and the median of the rounds is printed; only ratios mean anything.
"The store alone" is `Store.apply` with prepared changes; "Memory" is `Memory.add_many` from plain text, which also
redacts, classifies, tokenises, hashes and signs. The command line is measured as whole processes.
"""

import argparse
import compileall
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import recollect
from recollect import Draft, Memory
from recollect.ids import new_uid, now_ms
from recollect.store import Change, Operation
from recollect.write import Limits, change, prepare

DIMS = 384
HERE = Path(__file__).parent
BASE = [sys.executable, "-c", "import apsw, click, dataclasses, json"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="recollect-bench-"))
    os.environ["RECOLLECT_HOME"] = str(folder / "home")
    try:
        report(measure(folder, options.notes, options.rounds), options.out)
    finally:
        shutil.rmtree(folder)


def measure(folder: Path, count: int, rounds: int) -> dict[str, Any]:
    texts, vectors = corpus(count)
    node = node_reference(folder, texts, vectors)
    runs: dict[str, list[dict[str, float]]] = {"node": [], "store": [], "memory": []}
    for number in range(rounds):
        if node is not None:
            runs["node"].append(node(number))
        runs["store"].append(store_alone(folder / f"store{number}.db", texts, vectors))
        runs["memory"].append(through_memory(folder / f"memory{number}.db", texts, vectors))
    medians = {
        name: {key: statistics.median(run[key] for run in done) for key in done[0]}
        for name, done in runs.items()
        if done
    }
    return {"notes": count, "rounds": rounds, **medians, "command_line": command_line(folder)}


def corpus(count: int) -> tuple[list[str], np.ndarray[Any, Any]]:
    """Texts of about 36 words drawn by Zipf's law from a made-up vocabulary, and random unit vectors."""
    rng = random.Random(7)
    syllables = ["ka", "lo", "mi", "ren", "to", "vas", "ni", "pel", "dor", "ash", "qui", "zen"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    texts = [" ".join(rng.choices(words, weights, k=36)) + f" {number}." for number in range(count)]
    vectors = np.random.default_rng(7).normal(size=(count, DIMS)).astype("<f4")
    return texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def timed(work: Callable[[], object]) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def prepared(texts: list[str], vectors: np.ndarray[Any, Any]) -> list[Change]:
    limits = Limits()
    at = now_ms()
    return [
        change(prepare(Draft(text), "user", limits, at).note, 0, limits, rechunk=True, vector=row.tobytes())
        for text, row in zip(texts, vectors, strict=True)
    ]


def store_alone(path: Path, texts: list[str], vectors: np.ndarray[Any, Any]) -> dict[str, float]:
    changes = prepared(texts, vectors)
    with Memory(path, space="user") as memory:
        memory.add("warm")
        store = memory._store
        store.set_active_model("given", DIMS)
        (space,) = [space.id for space in store.spaces()]
        return timed(lambda: store.apply(Operation(new_uid(), "add", "bench", now_ms()), space, changes))


def single(memory: Memory, text: str) -> float:
    return timed(lambda: memory.add(text))["wall"]


def through_memory(path: Path, texts: list[str], vectors: np.ndarray[Any, Any]) -> dict[str, float]:
    drafts = [Draft(text, vector=row.tobytes()) for text, row in zip(texts, vectors, strict=True)]
    with Memory(path, space="user") as memory:
        memory.add("warm")
        memory._store.set_active_model("given", DIMS)
        result = timed(lambda: memory.add_many(drafts))
        singles = sorted(single(memory, f"one {text}") for text in texts[:200])
    return {**result, "single_ms": singles[100] * 1000}


def node_reference(
    folder: Path, texts: list[str], vectors: np.ndarray[Any, Any]
) -> Callable[[int], dict[str, float]] | None:
    """Installs the two npm packages into a temporary folder; None, with a word why, where that fails."""
    if shutil.which("npm") is None:
        print("no npm here: the Node reference is left out")
        return None
    home = folder / "node"
    home.mkdir()
    (home / "package.json").write_text('{"private": true}')
    print("installing better-sqlite3 and sqlite-vec from npm …", flush=True)
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "better-sqlite3", "sqlite-vec"],
        cwd=home,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(f"npm failed, the Node reference is left out:\n{done.stderr[-500:]}")
        return None
    (home / "notes.jsonl").write_text("\n".join(json.dumps(text) for text in texts))
    (home / "vectors.f32").write_bytes(vectors.tobytes())

    def run(number: int) -> dict[str, float]:
        place = home / f"round{number}"
        place.mkdir()
        command = ["node", str(HERE / "reference" / "writes.mjs"), "notes.jsonl", "vectors.f32", str(place)]
        answer = json.loads(subprocess.run(command, cwd=home, check=True, capture_output=True, text=True).stdout)
        return {**answer["bulk"], "single_ms": answer["single_ms"]}

    return run


def command_line(folder: Path, rounds: int = 15) -> dict[str, float]:
    """Median wall time of whole processes, interleaved with the imports that no such Python program avoids."""
    store = ["--store", str(folder / "cli.db"), "--space", "user"]
    call = [sys.executable, "-m", "recollect"]
    # Installed programs run from compiled files; so do these.
    compileall.compile_dir(str(Path(recollect.__file__).parent), quiet=1)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([*call, "add", "the first note", *store], check=True, capture_output=True, env=environment)
    times: dict[str, list[float]] = {"imports": [], "get": [], "add": []}
    for number in range(rounds):
        for name, command in (
            ("imports", BASE),
            ("get", [*call, "get", "1", *store]),
            ("add", [*call, "add", f"note number {number}", *store]),
        ):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) * 1000 for name, values in times.items()}


def report(result: dict[str, Any], out: Path | None) -> None:
    node = result.get("node")
    print(f"\n{result['notes']:,} notes with {DIMS}-d vectors, median of {result['rounds']} rounds")
    print(f"{'':<28}{'CPU s':>8}{'wall s':>8}{'CPU ÷ Node':>12}{'one durable add':>18}")
    for name, title in (
        ("node", "Node, row+FTS5+vec0"),
        ("store", "recollect, store alone"),
        ("memory", "recollect, Memory.add_many"),
    ):
        if name in result:
            run = result[name]
            ratio = f"{run['cpu'] / node['cpu']:.2f}" if node else "-"
            single = f"{run['single_ms']:.2f} ms" if "single_ms" in run else "-"
            print(f"{title:<28}{run['cpu']:>8.2f}{run['wall']:>8.2f}{ratio:>12}{single:>18}")
    line = result["command_line"]
    print(f"\nwhole processes, median wall: bare imports {line['imports']:.0f} ms", end="")
    for name in ("get", "add"):
        print(f", recollect {name} {line[name]:.0f} ms ({line[name] / line['imports']:.2f}x)", end="")
    print()
    if out is not None:
        out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
