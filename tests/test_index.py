"""Indexing through Memory: what is read, what is read again, and what stays when a file goes."""

import contextlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory


def line(number: int, text: str, role: str = "user") -> str:
    stamp = f"2026-01-01T00:{number // 60:02}:{number % 60:02}Z"
    return json.dumps({"role": role, "content": text, "timestamp": stamp}) + "\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "store" / "memory.db", space="desk")


def found(memory: Memory, query: str) -> list[str]:
    return [hit.snippet for hit in memory.search(query, mode="keyword")]


def test_the_favourite_language_is_found_after_a_restart(tmp_path: Path, notes: Path) -> None:
    (notes / "chat.jsonl").write_text(line(1, "My favourite programming language is TypeScript"))
    with Memory(tmp_path / "m.db", folder=tmp_path) as memory:
        assert memory.index(notes).turns == 1
    with Memory(tmp_path / "m.db", folder=tmp_path) as memory:
        hit = memory.search("favourite programming language")[0]
        assert "TypeScript" in hit.snippet and hit.kind == "turn" and hit.path.endswith("chat.jsonl")
        again = memory.index(notes)
        assert (again.unchanged, again.bytes_read, again.embedded) == (1, 0, 0)


def test_a_changed_file_replaces_its_chunks_and_a_deleted_one_takes_them_along(memory: Memory, notes: Path) -> None:
    page = notes / "page.md"
    page.write_text("The harbour opens at nine\n")
    assert memory.index(notes).formats["file"]["chunks"] == 1
    assert memory.search("harbour", mode="keyword")[0].lines == (1, 1)
    page.write_text("The museum opens at ten\n")
    memory.index(notes)
    assert found(memory, "harbour") == [] and len(found(memory, "museum")) == 1
    page.unlink()
    assert memory.index(notes).removed == 1
    assert found(memory, "museum") == []


def test_touching_a_file_changes_nothing(memory: Memory, notes: Path) -> None:
    page = notes / "page.md"
    page.write_text("The harbour opens at nine\n")
    memory.index(notes)
    page.touch()
    assert (memory.index(notes).indexed, memory.index(notes).unchanged) == (0, 1)


def test_only_the_tail_of_a_grown_transcript_is_read(memory: Memory, notes: Path) -> None:
    log = notes / "chat.jsonl"
    log.write_text("".join(line(n, f"sentence number {n} about nothing much") for n in range(5000)))
    assert memory.index(notes, embed=False).turns == 5000
    tail = line(5000, "the zeppelin landed in Friedrichshafen")
    with log.open("a") as stream:
        stream.write(tail)
    done = memory.index(notes, embed=False)
    assert (done.turns, done.bytes_read) == (1, len(tail))
    assert found(memory, "zeppelin")[0] == "the zeppelin landed in Friedrichshafen"


def test_one_more_line_of_fifty_megabytes_costs_one_line(memory: Memory, notes: Path) -> None:
    """Most of a real transcript is what tools printed."""
    session = {"sessionId": "5e55", "cwd": "/srv/tree", "timestamp": "2026-01-01T00:00:00Z"}
    printed = {"type": "tool_result", "tool_use_id": "t", "content": "x" * 5_000_000}

    def record(number: int, content: object) -> str:
        return json.dumps({**session, "type": "user", "uuid": f"u{number}", "message": {"content": content}}) + "\n"

    log = notes / "5e55.jsonl"
    with log.open("w") as stream:
        for number in range(10):
            stream.write(record(2 * number, f"question number {number}") + record(2 * number + 1, [printed]))
    assert log.stat().st_size > 50_000_000
    first = memory.index(notes, embed=False)
    assert (first.turns, first.left_out) == (10, {"claude-code": {"tool call or result": 10}})
    with log.open("a") as stream:
        stream.write(record(20, "the zeppelin landed in Friedrichshafen"))
    done = memory.index(notes, embed=False)
    assert (done.turns, done.bytes_read) == (1, len(record(20, "the zeppelin landed in Friedrichshafen")))
    assert found(memory, "zeppelin")[0] == "the zeppelin landed in Friedrichshafen"


def test_any_sqlite_shell_can_read_what_was_indexed(memory: Memory, notes: Path) -> None:
    """The standard library's own SQLite stands for any shell: the tables by name, and the text as text."""
    (notes / "chat.jsonl").write_text(line(1, "My favourite programming language is TypeScript"))
    memory.index(notes)
    memory.close()
    shell = sqlite3.connect(f"file:{memory.settings.store}?mode=ro", uri=True)
    try:
        names = {name for (name,) in shell.execute("select name from sqlite_master where type = 'table'")}
        assert {"files", "chunks", "chunks_fts", "embedding_cache"} <= names
        assert shell.execute("select content from chunks").fetchall() == [
            ("My favourite programming language is TypeScript",)
        ]
        assert shell.execute("select path from files").fetchall() == [(str(notes / "chat.jsonl"),)]
        assert shell.execute("select count(*) from embedding_cache").fetchone() == (1,)
    finally:
        shell.close()


def test_what_is_taken_back_in_a_later_pass_goes(memory: Memory, notes: Path) -> None:
    log = notes / "session-1.jsonl"
    head = {"sessionId": "5e55", "projectHash": "ab", "startTime": "2026-01-01T00:00:00Z"}
    said = [
        {"id": "m1", "type": "user", "timestamp": "2026-01-01T00:00:01Z", "content": "which airship is it?"},
        {"id": "m2", "type": "gemini", "timestamp": "2026-01-01T00:00:02Z", "content": "the zeppelin, I believe"},
    ]
    log.write_text("".join(json.dumps(record) + "\n" for record in (head, *said)))
    memory.index(notes, embed=False)
    assert found(memory, "zeppelin")
    with log.open("a") as stream:
        stream.write(json.dumps({"$rewindTo": "m1"}) + "\n")
    memory.index(notes, embed=False)
    assert found(memory, "zeppelin") == []
    with log.open("a") as stream:
        stream.write(json.dumps({**said[1], "id": "m3", "content": "the blimp"}) + "\n")
    memory.index(notes, embed=False)
    assert found(memory, "blimp") and found(memory, "zeppelin") == []


def test_turns_outlive_their_transcript(memory: Memory, notes: Path) -> None:
    log = notes / "chat.jsonl"
    log.write_text(line(1, "the zeppelin landed"))
    memory.index(notes)
    log.unlink()
    memory.index(notes)
    assert len(found(memory, "zeppelin")) == 1


def test_a_torn_line_waits_for_its_end(memory: Memory, notes: Path) -> None:
    log = notes / "chat.jsonl"
    whole = line(2, "the café is closed").encode()
    log.write_bytes(line(1, "first").encode() + whole[:25])
    assert memory.index(notes).turns == 1
    log.write_bytes(line(1, "first").encode() + whole)
    assert memory.index(notes).turns == 1
    assert found(memory, "café")[0] == "the café is closed"


def test_secrets_in_files_and_transcripts_are_redacted(memory: Memory, notes: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    (notes / "page.md").write_text(f"token: {token}\nzeppelin\n")
    (notes / "chat.jsonl").write_text(line(1, f"use {token} for the zeppelin"))
    memory.index(notes)
    assert len(found(memory, "zeppelin")) == 2
    assert not any(token in text for text in found(memory, "zeppelin"))


def test_links_devices_and_secret_files_are_left_alone(memory: Memory, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("zeppelin outside\n")
    (notes / "link.md").symlink_to(tmp_path / "outside.md")
    (notes / ".env").write_text("zeppelin=1\n")
    (notes / "big.md").write_text("zeppelin " * 200_000)
    done = memory.index(notes)
    assert {reason for _, reason in done.skipped} == {"symbolic link", "larger than the cap"} and done.ignored == 1
    assert found(memory, "zeppelin") == []


def test_two_who_index_the_same_folder_end_with_one_copy(memory: Memory, notes: Path, tmp_path: Path) -> None:
    (notes / "chat.jsonl").write_text("".join(line(n, f"word{n} zeppelin") for n in range(50)))
    (notes / "page.md").write_text("zeppelin page\n")
    others = [threading.Thread(target=lambda: memory.index(notes, embed=False)) for _ in range(3)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert memory.stats()["turns"] == 50
    assert len(memory.search("zeppelin", mode="keyword", limit=100, owners="file")) == 1


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4)),
        st.tuples(st.just("tear"), st.integers(1, 110)),  # bytes: some of these cut a character in two
        st.tuples(st.just("mend"), st.just(0)),
        st.tuples(st.just("truncate"), st.integers(0, 2)),
        st.tuples(st.just("replace"), st.integers(1, 3)),
        st.tuples(st.just("rotate"), st.integers(1, 3)),
        st.tuples(st.just("sync"), st.just(0)),
    ),
    max_size=8,
)


class Log:
    """A transcript that is written, torn, cut, replaced and rotated, byte by byte as an agent would."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self.rest = b""
        path.parent.mkdir()
        path.touch()

    def new(self, number: int) -> bytes:
        numbers = range(self.count, self.count + number)
        rows = [{"role": "user", "content": f"café 日本語 {n}", "timestamp": 1_767_225_600_000 + n} for n in numbers]
        self.count += number
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()

    def whole(self) -> list[bytes]:
        """The lines that are ended; what is torn after them is lost, as when an agent starts anew."""
        return [row for row in self.path.read_bytes().splitlines(True) if row.endswith(b"\n")]

    def do(self, name: str, number: int) -> None:
        rest, self.rest = self.rest, b""
        if name == "append":
            self.path.write_bytes(b"".join(self.whole()) + self.new(number))
        elif name == "tear":
            row = self.new(1)
            self.path.write_bytes(b"".join(self.whole()) + row[:number])
            self.rest = row[number:]
        elif name == "mend":
            self.path.write_bytes(self.path.read_bytes() + rest)
        elif name == "truncate":
            self.path.write_bytes(b"".join(self.whole()[:number]))
        elif name == "replace":
            self.path.write_bytes(self.new(number))
        elif name == "rotate":
            for old in range(9, 0, -1):
                if (earlier := self.path.with_name(f"chat.jsonl.{old}")).exists():
                    earlier.rename(self.path.with_name(f"chat.jsonl.{old + 1}"))
            self.path.rename(self.path.with_name("chat.jsonl.1"))
            self.path.write_bytes(self.new(number))

    def complete(self) -> set[str]:
        """What can be read now, in this file and those that it was before."""
        found = set()
        for path in self.path.parent.iterdir():
            for row in path.read_bytes().splitlines():
                with contextlib.suppress(ValueError):
                    found.add(json.loads(row)["content"])
        return found


@settings(max_examples=200, deadline=None)
@given(operations=OPERATIONS)
def test_each_complete_message_is_indexed_exactly_once(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    """Whatever happens to the file between two passes; what was seen complete at a pass stays known."""
    folder = tmp_path_factory.mktemp("history")
    log = Log(folder / "logs" / "chat.jsonl")
    expected: set[str] = set()
    with Memory(folder / "memory.db", space="desk") as memory:
        for name, number in [*operations, ("sync", 0)]:
            if name == "sync":
                expected |= log.complete()
                memory.index(log.path.parent, embed=False)
            else:
                log.do(name, number)
        said = [turn.text for session in memory.sessions() for turn in memory.turns(session)]
    assert sorted(said) == sorted(expected)


def test_reindexing_in_place_leaves_the_same_answers(memory: Memory, notes: Path) -> None:
    (notes / "chat.jsonl").write_text("".join(line(n, f"zeppelin {n} over the lake") for n in range(5)))
    (notes / "page.md").write_text("zeppelin page\n")
    memory.add("a zeppelin note")
    memory.index(notes)
    before = [(hit.snippet, hit.score) for hit in memory.search("zeppelin lake")]
    done = memory.reindex(force=True)
    assert (done["rechunked"], done["embedded"]) == (7, 7)
    assert [(hit.snippet, hit.score) for hit in memory.search("zeppelin lake")] == before
    assert memory.reindex()["rechunked"] == 0


def eventually(check: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if check():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_a_watched_folder_is_followed(memory: Memory, notes: Path) -> None:
    stop, ready = threading.Event(), threading.Event()
    watcher = threading.Thread(
        target=lambda: memory.watch(notes, stop=stop, report=lambda done, first: ready.set()), daemon=True
    )
    watcher.start()
    assert ready.wait(20)
    time.sleep(0.5)
    (notes / "new.md").write_text("the zeppelin arrives\n")
    assert eventually(lambda: len(found(memory, "zeppelin")) == 1)
    (notes / "new.md").unlink()
    assert eventually(lambda: found(memory, "zeppelin") == [])
    stop.set()
    watcher.join(10)
    assert not watcher.is_alive()
