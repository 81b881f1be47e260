"""What a run tells about each format; and, where a folder of real transcripts is named, the same over those."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from readers_corpus import LINE_FORMATS, TALK, as_lines, put
from recollect import Memory
from shell import PYTHON, Shell

REAL = os.environ.get("RECOLLECT_TRANSCRIPTS", "")


def test_a_run_tells_of_each_format_what_was_found_and_what_was_left_out_and_why(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for name, (make, place) in LINE_FORMATS.items():
        put(shell.folder / name, place, as_lines(make(TALK)))
    done = shell("index", ".", "--json").json
    assert set(done["formats"]) == set(LINE_FORMATS)
    for name, counts in done["formats"].items():
        assert (counts["files"], counts["turns"]) == (1, len(TALK)), name
    assert done["formats"]["claude-code"]["left_out"] == {}
    put(shell.folder, "tool.jsonl", as_lines([{"role": "tool", "content": "x"}, {"role": "user", "content": "hello"}]))
    again = shell("index")
    assert "1 tool call or result" in again.out and "jsonl" in again.out
    assert f"1 file indexed, {len(LINE_FORMATS)} unchanged" in again.out


def test_as_many_chunks_are_counted_as_are_stored(tmp_path: Path) -> None:
    """A resumed session begins with a copy of the old one's lines."""
    said = [{"role": "user", "content": f"message {n}", "id": f"m{n}", "session_id": "s"} for n in range(10)]
    put(tmp_path / "logs", "one.jsonl", as_lines(said[:6]))
    put(tmp_path / "logs", "two.jsonl", as_lines(said))
    with Memory(tmp_path / "memory.db", space="desk") as memory:
        done = memory.index(tmp_path / "logs", embed=False)
        assert (done.turns, done.chunks) == (10, 10) and memory.stats()["chunks"] == 10


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of this kind")
def test_a_person_at_a_terminal_sees_how_far_it_is_how_quick_and_how_long_it_will_take(tmp_path: Path) -> None:
    import pty

    shell = Shell(tmp_path)
    for number in range(400):
        (shell.folder / f"page{number}.md").write_text(f"page {number}\n")
    ours, theirs = pty.openpty()
    environ = {**os.environ, **shell.environ, "TERM": "xterm", "COLUMNS": "120"}
    done = subprocess.Popen(
        [*PYTHON, "index", "."], cwd=shell.folder, env=environ, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert done.wait(60) == 0
    assert re.search(rb"indexing.*\b\d+/400\b.*\d/s.*\d:\d\d:\d\d", seen), seen[-2000:]


def everything_said(memory: Memory) -> Counter[str]:
    return Counter(turn.text for session in memory.sessions(limit=10**6) for turn in memory.turns(session))


if REAL:

    def test_real_transcripts_are_read_once(tmp_path: Path) -> None:
        shell = Shell(tmp_path)
        done = shell("index", REAL, "--json").json
        assert done["files"]["skipped"] == []
        assert all(counts["turns"] for name, counts in done["formats"].items() if name != "file"), done["formats"]
        again = shell("index", REAL, "--json").json
        assert (again["files"]["indexed"], again["bytes_read"], again["embedded"]) == (0, 0, 0)

    def test_real_transcripts_that_grow_and_are_rotated_are_told_once(tmp_path: Path) -> None:
        whole = tmp_path / "whole"
        shutil.copytree(REAL, whole)
        with Memory(tmp_path / "clean.db", space="desk") as memory:
            memory.index(whole, embed=False)
            expected = everything_said(memory)
        parts = {path: path.read_bytes() for path in whole.rglob("*.jsonl")}
        with Memory(tmp_path / "grown.db", space="desk") as memory:
            for share in (0.3, 0.62, 1.0):
                for path, content in parts.items():
                    path.write_bytes(content[: int(len(content) * share)])
                memory.index(whole, embed=False)
            assert everything_said(memory) - expected == Counter()
            for path in parts:
                path.rename(path.with_name(f"{path.name}.1"))
                path.write_bytes(b"")
            memory.index(whole, embed=False)
            assert everything_said(memory) - expected == Counter()
            assert json.dumps(sorted(expected - everything_said(memory))) == "[]"
