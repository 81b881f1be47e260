"""Indexing and reindexing killed at random points: a second run ends where an uninterrupted one would have."""

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Memory, load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
KILLS = 100 * int(os.environ.get("RECOLLECT_FAULT_SCALE", "1"))


def make(folder: Path) -> None:
    folder.mkdir()
    rng = random.Random(5)
    for number in range(3):
        rows = [
            {"role": "user", "content": f"log {number} turn {n} {rng.random()}", "timestamp": 1_700_000_000_000 + n}
            for n in range(220)
        ]
        (folder / f"log{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in range(12):
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


def test_killed_indexing_goes_on_and_ends_like_an_uninterrupted_run(tmp_path: Path) -> None:
    make(tmp_path / "logs")
    command = [sys.executable, "-m", "faults.indexer"]
    environment = {**os.environ, "RECOLLECT_EMBEDDER": "hashing", "RECOLLECT_HOME": str(tmp_path / "home")}

    def start(store: Path) -> subprocess.Popen[bytes]:
        arguments = [*command, str(store), str(tmp_path / "logs")]
        return subprocess.Popen(arguments, cwd=Path(__file__).parent, env=environment)

    began = time.monotonic()
    assert start(tmp_path / "whole.db").wait(120) == 0
    whole = time.monotonic() - began
    rng = random.Random(9)
    store, finished = tmp_path / "killed0.db", 0
    for number in range(KILLS):
        if finished and rng.random() < 0.3:  # a fresh store now and then, so that every stage is hit
            store = tmp_path / f"killed{number}.db"
            finished = 0
        running = start(store)
        try:
            running.wait(rng.uniform(0.15, min(whole, 1.5)))
            finished += 1
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        if store.exists() and number % 10 == 0:
            with Memory(store, space="desk", settings=replace(load_settings(), embedder="none")) as memory:
                memory.search("page line", mode="keyword")
    assert start(store).wait(120) == 0
    assert state(store) == state(tmp_path / "whole.db")
