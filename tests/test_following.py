"""What was indexed once is followed: which places, for which space, and nobody waits for it."""

import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Memory, load_settings
from recollect.following import followed
from recollect.index import Indexer


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "museum.md").write_text("the museum opens at ten\n")
    return folder


def opened(tmp_path: Path, space: str = "desk", folder: Path | None = None) -> Memory:
    settings = replace(load_settings(home=tmp_path / "home", space=space), embedder="none")
    return Memory(tmp_path / "memory.db", settings=settings, folder=folder or tmp_path)


def eventually(check: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def test_a_sync_reads_what_is_new_changed_and_gone_and_nothing_else(tmp_path: Path, pages: Path) -> None:
    with opened(tmp_path) as memory:
        (pages / "pier.md").write_text("the pier is closed\n")
        (pages / "hill.md").write_text("the hill is steep\n")
        memory.index(pages)
        (pages / "theatre.md").write_text("the theatre is new\n")
        (pages / "pier.md").write_text("the pier is open again\n")
        (pages / "hill.md").unlink()
        done = memory.sync()
        assert (done.indexed, done.unchanged, done.removed) == (2, 1, 1)
        assert memory.sync().bytes_read == 0
        assert "open again" in memory.search("pier")[0].snippet


def test_a_sync_keeps_to_the_space_that_the_folder_was_indexed_for(tmp_path: Path, pages: Path) -> None:
    """Whoever does it: a server of another space must not draw what it finds to itself."""
    with opened(tmp_path, "desk") as memory:
        memory.index(pages)
    (pages / "theatre.md").write_text("the theatre is new\n")
    with opened(tmp_path, "kitchen") as other:
        assert other.sync().indexed == 1
        assert len(other.search("theatre")) == 0
    with opened(tmp_path, "desk") as memory:
        assert len(memory.search("theatre")) == 1


def test_what_names_no_folder_goes_where_it_went_the_first_time(tmp_path: Path, pages: Path) -> None:
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    said = '{"role": "user", "content": "%s", "timestamp": "2026-01-01T00:00:00Z"}\n'
    (pages / "one.jsonl").write_text(said % "the zeppelin landed")
    with opened(tmp_path, "auto", project) as memory:
        memory.index(pages, follow=True)
        home = memory.sessions()[0].space
        assert home == "project"
    (pages / "two.jsonl").write_text(said % "the zeppelin left")
    with opened(tmp_path, "auto", tmp_path) as elsewhere:
        elsewhere.sync()
    with opened(tmp_path, "all") as memory:
        assert {session.space for session in memory.sessions()} == {home} and len(memory.sessions()) == 2


def test_single_files_and_what_was_indexed_once_only_are_not_followed(tmp_path: Path, pages: Path) -> None:
    with opened(tmp_path) as memory:
        memory.index(pages / "museum.md")
        memory.index(pages, follow=False)
        assert followed(memory._store) == ()


def test_a_folder_is_on_the_list_once_and_covers_those_inside(tmp_path: Path, pages: Path) -> None:
    (pages / "more").mkdir()
    with opened(tmp_path) as memory:
        memory.index(pages / "more")
        memory.index(pages)
        memory.index(pages / "more", pages)
        assert [one.path for one in followed(memory._store)] == [str(pages)]


def test_a_forgotten_folder_is_not_followed_any_more(tmp_path: Path, pages: Path) -> None:
    with opened(tmp_path) as memory:
        memory.index(pages)
        memory.forget(sources=[str(pages)], dry_run=True)
        assert followed(memory._store)
        memory.forget(sources=[str(pages)])
        (pages / "theatre.md").write_text("the theatre is new\n")
        assert memory.sync().indexed == 0 and followed(memory._store) == ()


def test_a_folder_that_is_not_there_keeps_its_place_in_the_index(tmp_path: Path, pages: Path) -> None:
    """A disk that is not mounted is no deletion."""
    with opened(tmp_path) as memory:
        memory.index(pages)
        pages.rename(tmp_path / "away")
        assert memory.sync().removed == 0 and len(memory.search("museum")) == 1
        (tmp_path / "away").rename(pages)
        assert memory.sync().unchanged == 1


def test_a_search_never_waits_for_a_sync(tmp_path: Path, pages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the background is held up inside a sync, searches answer, and what they ask for is done afterwards."""
    held, entered, rounds = threading.Event(), threading.Event(), []

    def slow(self: Indexer, *args: object, **options: object) -> object:
        entered.set()
        held.wait(30)
        rounds.append(1)
        return run(self, *args, **options)  # type: ignore[arg-type]

    with opened(tmp_path) as memory:
        memory.index(pages)
        run = Indexer.run
        monkeypatch.setattr(Indexer, "run", slow)
        worker = memory.background().start()
        assert entered.wait(20)
        started = time.monotonic()
        assert len(memory.search("museum")) == 1
        assert time.monotonic() - started < 5 and not rounds
        held.set()
        assert eventually(lambda: len(rounds) == 2)  # the one at the start, and the one that the search asked for
        worker.stop()


def test_two_processes_do_not_sync_at_once(tmp_path: Path, pages: Path) -> None:
    with opened(tmp_path) as memory, opened(tmp_path) as other:
        memory.index(pages)
        assert memory._store.lease("background", "somebody else", 10**15, 60_000)
        worker = other.background(interval_seconds=0.1).start()
        time.sleep(1)
        assert worker.rounds == 0
        memory._store.lease("background", "somebody else", 0, 0)
        assert eventually(lambda: worker.rounds > 0)
        worker.stop()


def test_a_server_keeps_what_was_indexed_up_to_date(tmp_path: Path, pages: Path) -> None:
    from recollect.interfaces.mcp.opening import LateMemory

    with opened(tmp_path) as memory:
        memory.index(pages)
    server = LateMemory(lambda: opened(tmp_path), background=True)
    try:
        (pages / "theatre.md").write_text("the theatre is new\n")
        assert eventually(lambda: len(server().search("theatre")) == 1)
        (pages / "pier.md").write_text("the pier is closed\n")
        assert eventually(lambda: len(server().search("pier")) == 1)
    finally:
        server.close()
