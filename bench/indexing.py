"""Indexing throughput: transcripts made up here, through Memory.index, with and without embedding.

    python bench/indexing.py [--megabytes 100] [--embed-megabytes 1] [--out file.json]

Prints MB/s and turns/s, the peak memory of the indexing process, and what an appended line costs afterwards.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--embed-megabytes", type=float, default=1)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--run", nargs=2, metavar=("FOLDER", "EMBED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(index(Path(options.run[0]), options.run[1] == "1")))
        return
    result = {
        "keyword": measured(options.megabytes, embed=False),
        "with_vectors": measured(options.embed_megabytes, embed=True),
    }
    for name, run in result.items():
        print(
            f"{name:<14}{run['megabytes']:>7.1f} MB  {run['turns']:>8,} turns  {run['mb_per_s']:>7.2f} MB/s  "
            f"{run['turns_per_s']:>8.0f} turns/s  peak memory {run['peak_mb']:.0f} MB  "
            f"one more line: {run['tail_bytes']} bytes read in {run['tail_ms']:.0f} ms"
        )
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


def measured(megabytes: float, *, embed: bool) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-indexing-"))
    try:
        size = make(folder / "logs", megabytes)
        command = [sys.executable, __file__, "--run", str(folder), "1" if embed else "0"]
        run: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        run["megabytes"] = size / 1e6
        run["mb_per_s"] = size / 1e6 / run["seconds"]
        run["turns_per_s"] = run["turns"] / run["seconds"]
        return run
    finally:
        shutil.rmtree(folder)


def make(folder: Path, megabytes: float) -> int:
    """Transcripts in the generic form, about 10 MB each, of made-up sentences."""
    folder.mkdir(parents=True)
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnoprstuvw", k=rng.randint(2, 9))) for _ in range(20_000)]
    total = number = 0
    while total < megabytes * 1e6:
        path = folder / f"session{number}.jsonl"
        with path.open("w", encoding="utf-8") as log:
            while log.tell() < min(10e6, megabytes * 1e6):
                log.write(line(" ".join(rng.choices(words, k=rng.randint(5, 120)))))
        total += path.stat().st_size
        number += 1
    return total


def line(text: str) -> str:
    return json.dumps({"role": "user", "content": text, "timestamp": "2026-01-01T00:00:00Z"}) + "\n"


def index(folder: Path, embed: bool) -> dict[str, Any]:
    from recollect import Memory

    with Memory(folder / "memory.db", space="bench") as memory:
        started = time.perf_counter()
        done = memory.index(folder / "logs", embed=embed)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
        with sorted((folder / "logs").iterdir())[0].open("a", encoding="utf-8") as log:
            log.write(line("one more line"))
        started = time.perf_counter()
        tail = memory.index(folder / "logs", embed=False)
        return {
            "seconds": seconds, "turns": done.turns, "peak_mb": peak, "tail_bytes": tail.bytes_read,
            "tail_ms": (time.perf_counter() - started) * 1000,
        }  # fmt: skip


if __name__ == "__main__":
    main()
