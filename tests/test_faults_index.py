"""Indexing and reindexing killed at random points: a second run ends where an uninterrupted one would have."""

import json
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from faults import SIZES
from faults.indexer import index
from faults.processes import Victim, ended
from recollect import Memory, load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]


def make(folder: Path) -> None:
    folder.mkdir()
    rng = random.Random(5)
    for number in range(3):
        rows = [
            {"role": "user", "content": f"log {number} turn {n} {rng.random()}", "timestamp": 1_700_000_000_000 + n}
            for n in range(80)
        ]
        (folder / f"log{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in range(8):
        (folder / f"page{number}.md").write_text(f"page {number}\n" + "some line of text\n" * 60)


def state(store: Path) -> tuple[list[tuple[str, ...]], ...]:
    """What is remembered and indexed, without the numbers that a store hands out."""
    with Memory(store, space="desk", settings=replace(load_settings(), embedder="hashing")) as memory:
        assert all(finding.ok for finding in memory.check())
        rows = memory._store._rows  # type: ignore[attr-defined]
        turns = rows("select z.key, t.record, t.text from turns t join sessions z on z.id = t.session_id")
        files = rows('select path, hash, "offset", line from files')
        chunks = rows("select content, terms, context_terms, coalesce(file_path, '') from chunks")
        return sorted(turns), sorted(files), sorted(chunks)


def run(work: Victim) -> tuple[float, float]:
    """Lets it work to its end; how long it took to index, and in all."""
    with ended([work]):
        assert work.hear() == "ready"
        began = time.monotonic()
        work.tell("go")
        assert work.hear(120) == "indexed"
        indexed = time.monotonic() - began
        assert work.hear(120) == "done"
        return indexed, time.monotonic() - began


def killed(work: Victim, seconds: float) -> str:
    """Kills it after so long; what it was at, or nothing if it was done before."""
    with ended([work]):
        assert work.hear() == "ready"
        work.tell("go")
        time.sleep(seconds)
        work.kill()
        said = list(iter(work.hear, None))
    return {0: "indexing", 1: "reindexing", 2: ""}[len(said)]


def test_killed_indexing_goes_on_and_ends_like_an_uninterrupted_run(tmp_path: Path) -> None:
    make(tmp_path / "logs")
    dice = random.Random(9)

    def start(store: Path) -> Victim:
        return Victim(index, str(store), str(tmp_path / "logs"), str(tmp_path / "home"))

    run(start(tmp_path / "first.db"))
    indexed, whole = run(start(tmp_path / "whole.db"))
    expected = state(tmp_path / "whole.db")
    kills: Counter[str] = Counter()
    stores = 0
    while kills.total() < SIZES.index_kills:
        store = tmp_path / f"killed{stores}.db"
        for longest in (indexed, indexed, indexed, whole, whole):
            if at := killed(start(store), dice.uniform(0.0, longest)):
                kills[at] += 1
        if store.exists():
            with Memory(store, space="desk", settings=replace(load_settings(), embedder="none")) as memory:
                memory.search("page line", mode="keyword")
        run(start(store))
        assert state(store) == expected
        stores += 1
        for path in tmp_path.glob(f"{store.name}*"):
            path.unlink()
    print(f"{stores} stores killed at {dict(kills)}; an uninterrupted run takes {whole:.2f} s")
    assert min(kills["indexing"], kills["reindexing"]) > SIZES.index_kills // 10
