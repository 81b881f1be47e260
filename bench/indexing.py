"""Indexing throughput: transcripts made up here, through Memory.index, with and without embedding.

    python bench/indexing.py [--megabytes 100] [--embed-megabytes 1] [--out file.json]

The sentences are drawn from the words of the documentation, and all of it is said by somebody: real transcripts, which
are mostly what tools printed, go faster. Prints MB/s and turns/s by the wall clock and by the processor's time (they
differ on a machine that is shared), the peak memory of the indexing process, and what one more line costs afterwards.
Embedding is measured on less text; its rate does not depend on how much there is.
"""

import argparse
import json
import os
import platform
import random
import re
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
    runs = {
        "keyword": measured(options.megabytes, embed=False),
        "with_vectors": measured(options.embed_megabytes, embed=True),
    }
    for name, run in runs.items():
        print(
            f"{name:<14}{run['megabytes']:>7.1f} MB  {run['turns']:>8,} turns  {run['mb_per_s']:>7.2f} MB/s "
            f"({run['mb_per_cpu_s']:.2f} by CPU)  {run['turns_per_s']:>8.0f} turns/s ({run['turns_per_cpu_s']:.0f})  "
            f"peak memory {run['peak_mb']:.0f} MB  one more line: {run['tail_bytes']} bytes read in "
            f"{run['tail_ms']:.0f} ms"
        )
    if options.out:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
        machine = {
            "system": platform.system(),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "load": load,
        }
        command = " ".join(["python", "bench/indexing.py", *sys.argv[1:]])
        options.out.write_text(json.dumps({"command": command, "machine": machine, **runs}, indent=2) + "\n")


def measured(megabytes: float, *, embed: bool) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-indexing-"))
    try:
        size = make(folder / "logs", megabytes)
        command = [sys.executable, __file__, "--run", str(folder), "1" if embed else "0"]
        run: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        run["megabytes"] = size / 1e6
        run["mb_per_s"] = size / 1e6 / run["seconds"]
        run["mb_per_cpu_s"] = size / 1e6 / run["cpu_seconds"]
        run["turns_per_s"] = run["turns"] / run["seconds"]
        run["turns_per_cpu_s"] = run["turns"] / run["cpu_seconds"]
        return run
    finally:
        shutil.rmtree(folder)


def make(folder: Path, megabytes: float) -> int:
    """Transcripts in the generic form, about 10 MB each, of made-up sentences."""
    folder.mkdir(parents=True)
    rng = random.Random(1)
    pages = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))
    words = [word for page in pages for word in re.findall(r"[A-Za-z]+[,.?]?", page.read_text(encoding="utf-8"))]
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
        started, cpu = time.perf_counter(), time.process_time()
        done = memory.index(folder / "logs", embed=embed)
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
        with sorted((folder / "logs").iterdir())[0].open("a", encoding="utf-8") as log:
            log.write(line("one more line"))
        started = time.perf_counter()
        tail = memory.index(folder / "logs", embed=False)
        return {
            "seconds": seconds, "cpu_seconds": cpu_seconds, "turns": done.turns, "peak_mb": peak,
            "tail_bytes": tail.bytes_read, "tail_ms": (time.perf_counter() - started) * 1000,
        }  # fmt: skip


if __name__ == "__main__":
    main()
