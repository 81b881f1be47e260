"""A storm of files under a watched folder: bounded memory, and in the end the same as a clean scan."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recollect import Memory

FILES = 10_000
MOST_MB = 200  # of the watching process; it needs 50 to do nothing
LINUX = sys.platform == "linux"


def contents(memory: Memory) -> set[tuple[str, str]]:
    rows = memory._store._rows("select f.path, c.content from chunks c join files f on f.id = c.file_id")  # type: ignore[attr-defined]
    return set(map(tuple, rows))


def peak_mb(process: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) / 1000


def open_descriptors(process: int) -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


@pytest.mark.slow
def test_ten_thousand_files_in_five_seconds_end_like_a_clean_scan(tmp_path: Path) -> None:
    pages, store = tmp_path / "pages", tmp_path / "memory.db"
    pages.mkdir()
    environ = {**os.environ, "RECOLLECT_EMBEDDER": "none", "RECOLLECT_DURABILITY": "normal"}
    command = [sys.executable, "-m", "recollect", "watch", str(pages), "--store", str(store), "--space", "desk"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert watcher.stdout is not None and "ready" in watcher.stdout.readline()
        time.sleep(0.5)
        before = open_descriptors(watcher.pid) if LINUX else 0
        started = time.monotonic()
        for number in range(FILES):
            folder = pages / f"{number % 50}"
            folder.mkdir(exist_ok=True)
            (folder / f"page{number}.md").write_text(f"zeppelin{number} over the lake\n")
            if number % 10 == 9:  # some change again, some go again
                (folder / f"page{number}.md").write_text(f"airship{number} over the lake\n")
            if number % 10 == 5:
                (folder / f"page{number}.md").unlink()
        assert time.monotonic() - started < 30, "this machine is too slow for a storm"
        expected = {(str(path), path.read_text()) for path in pages.rglob("*.md")}
        with Memory(store, space="desk") as memory:
            until = time.monotonic() + 150
            while memory.stats()["chunks"] != len(expected) and time.monotonic() < until:
                time.sleep(0.5)
            time.sleep(3)  # the pass that follows a burst
            assert watcher.poll() is None
            assert contents(memory) == expected and len(expected) == FILES * 9 // 10
            again = memory.index(pages, embed=False)
            assert (again.indexed, again.removed, again.unchanged) == (0, 0, len(expected))
        if LINUX:
            assert peak_mb(watcher.pid) < MOST_MB
            assert open_descriptors(watcher.pid) <= before + 10
    finally:
        watcher.terminate()
        watcher.communicate(timeout=30)
