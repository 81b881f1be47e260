"""Indexing through Memory on both engines: what is read, read on, replaced, removed, forgotten and cut anew."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.types import Chunk

pytest_plugins = ["postgres_server"]


def line(number: int, text: str) -> str:
    return json.dumps({"role": "user", "content": text, "timestamp": f"2026-01-01T00:00:{number:02}Z"}) + "\n"


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "memory.db")
    return str(request.getfixturevalue("databases").empty())


@pytest.fixture
def memory(address: str) -> Iterator[Memory]:
    with Memory(address, space="desk") as memory:
        yield memory


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "chat.jsonl").write_text(line(1, "the zeppelin landed") + line(2, "it left again"))
    (folder / "page.md").write_text("the harbour opens at nine\n")
    return folder


def found(memory: Memory, query: str) -> list[str]:
    return [hit.snippet for hit in memory.search(query, mode="keyword")]


def test_what_was_indexed_is_found_and_not_read_again(memory: Memory, notes: Path) -> None:
    done = memory.index(notes)
    assert (done.indexed, done.turns, done.embedded, done.skipped) == (2, 2, 3, ())
    assert found(memory, "zeppelin") and found(memory, "harbour")
    assert "harbour" in memory.search("when can boats come in?", mode="vector", owners="file")[0].snippet
    again = memory.index(notes)
    assert (again.unchanged, again.bytes_read, again.embedded) == (2, 0, 0)


def test_an_appended_line_is_all_that_is_read(memory: Memory, notes: Path) -> None:
    memory.index(notes)
    with (notes / "chat.jsonl").open("a") as log:
        log.write(line(3, "the airship is late"))
    done = memory.index(notes)
    assert (done.turns, done.bytes_read) == (1, len(line(3, "the airship is late")))
    assert found(memory, "airship")


def test_an_edit_replaces_and_a_deletion_removes_but_what_was_said_stays(memory: Memory, notes: Path) -> None:
    memory.index(notes)
    (notes / "page.md").write_text("the museum opens at ten\n")
    memory.index(notes)
    assert not found(memory, "harbour") and found(memory, "museum")
    (notes / "page.md").unlink()
    (notes / "chat.jsonl").unlink()
    assert memory.sync().removed == 2
    assert not found(memory, "museum") and found(memory, "zeppelin")


def test_what_was_forgotten_does_not_come_back_with_the_next_pass(memory: Memory, notes: Path) -> None:
    memory.index(notes)
    memory.forget(sessions=[memory.sessions()[0].uid], sources=[str(notes / "page.md")])
    assert not found(memory, "zeppelin") and not found(memory, "harbour")
    with (notes / "chat.jsonl").open("a") as log:
        log.write(line(3, "the airship is late"))
    (notes / "page.md").write_text("the harbour opens at eight\n")
    for force in (False, True):
        memory.index(notes, force=force)
        assert not found(memory, "zeppelin airship") and not found(memory, "harbour")


def test_reindexing_leaves_the_same_answers(memory: Memory, notes: Path) -> None:
    memory.index(notes)
    before = [(hit.snippet, hit.lines) for hit in memory.search("zeppelin harbour")]
    assert memory.reindex(force=True)["rechunked"] == 3
    assert [(hit.snippet, hit.lines) for hit in memory.search("zeppelin harbour")] == before and len(before) >= 2


@pytest.mark.slow
def test_processes_that_index_the_same_folder_at_once_end_with_one_copy(address: str, notes: Path) -> None:
    for number in range(20):
        (notes / f"page{number}.md").write_text(f"the pier {number} is closed\n")
        (notes / f"chat{number}.jsonl").write_text("".join(line(n, f"word {n} of talk {number}") for n in range(30)))
    with Memory(address, space="desk") as memory:
        memory.add("so that the store is there")
    command = [sys.executable, "-m", "recollect", "index", str(notes), "--store", address, "--space", "desk"]
    racers = [
        subprocess.Popen([*command, "--no-embed", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    answers = [racer.communicate(timeout=120) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0], answers
    assert not any(json.loads(out)["files"]["skipped"] for out, _ in answers)
    with Memory(address, space="desk") as memory:
        assert memory.stats()["turns"] == 20 * 30 + 2 and len(memory.sessions()) == 21
        for session in memory.sessions():
            turns = memory.turns(session)
            assert [turn.position for turn in turns] == list(range(1, len(turns) + 1))
            assert len({turn.record for turn in turns}) == len(turns)
        pages = memory.search("pier", mode="keyword", limit=100, owners="file")
        assert len(pages) == len({hit.path for hit in pages}) == 20
        assert all(isinstance(memory.passage(hit.id), Chunk) for hit in pages)
        again = memory.index(notes, embed=False)
        assert (again.indexed, again.unchanged, again.turns) == (0, 42, 0)
