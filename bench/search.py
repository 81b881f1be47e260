"""A search from a cold start: process to printed answer, with the bundled model, in a store of 1,000 notes.

    python bench/search.py [--notes 1000] [--rounds 15] [--out file.json]

Beside it, in turns, the imports that no such program avoids (`import numpy, onnxruntime`), and then the same search
again and again in one process that stays. Only the ratio means anything. Nothing here asserts.
"""

import argparse
import compileall
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import recollect
from recollect import Memory

BASE = [sys.executable, "-c", "import numpy, onnxruntime"]
QUERIES = ("which UI theme do they like?", "when does the release train leave", "who owns the billing service")
# Runs the command line in this process, then says how much memory it took at most.
MEASURED = """
import resource, sys
from recollect.__main__ import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def notes(count: int) -> list[str]:
    rng = random.Random(3)
    people = ("Ana", "Bo", "Chen", "Dita", "Emre")
    verbs = ("prefers", "asked for", "postponed", "tested", "wrote down", "paid for", "moved", "reviewed")
    things = ("the dark theme", "a faster build", "the release notes", "billing exports", "the tea kitchen",
              "weekly backups", "a second monitor", "the onboarding talk", "train tickets", "the logo")  # fmt: skip
    return [f"{rng.choice(people)} {rng.choice(verbs)} {rng.choice(things)} in week {n}." for n in range(count)]


def wall_ms(command: list[str], environment: dict[str, str]) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return (time.perf_counter() - start) * 1000, done.stderr


def memory_mb(said: str) -> float:
    """`ru_maxrss` is in kilobytes, on macOS in bytes."""
    return int(said.split()[-1]) / (1024**2 if sys.platform == "darwin" else 1024)


def measure(folder: Path, count: int, rounds: int) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["RECOLLECT_HOME"] = str(folder)
    compileall.compile_dir(str(Path(recollect.__file__).parent), quiet=1)  # installed programs run from compiled files
    store = folder / "search.db"
    with Memory(store, space="user") as memory:
        memory.add_many(notes(count))
        memory.embed_pending()
        memory.search(QUERIES[0])
        warm = [_timed(memory, f"{QUERIES[n % 3]} {n}") for n in range(60)]
    times: dict[str, list[float]] = {"imports": [], "search": []}
    most = 0.0
    for number in range(rounds):
        times["imports"].append(wall_ms(BASE, environment)[0])
        where = ["--store", str(store), "--space", "user", "--json"]
        spent, said = wall_ms([sys.executable, "-c", MEASURED, "search", QUERIES[number % 3], *where], environment)
        times["search"].append(spent)
        most = max(most, memory_mb(said))
    medians = {name: round(statistics.median(values), 1) for name, values in times.items()}
    return {
        "notes": count, "rounds": rounds, "cold_ms": medians, "ratio": round(medians["search"] / medians["imports"], 2),
        "memory_mb": round(most, 1), "warm_ms": round(statistics.median(warm), 2),
    }  # fmt: skip


def _timed(memory: Memory, query: str) -> float:
    start = time.perf_counter()
    memory.search(query)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        os.environ["RECOLLECT_HOME"] = folder
        result = measure(Path(folder), options.notes, options.rounds)
    cold = result["cold_ms"]
    print(f"cold search over {result['notes']:,} notes: {cold['search']:.0f} ms, {result['ratio']:.2f} times the bare "
          f"imports of numpy and onnxruntime ({cold['imports']:.0f} ms)")  # fmt: skip
    print(f"most memory: {result['memory_mb']:.0f} MB; a search in a process that stays: {result['warm_ms']:.1f} ms")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
