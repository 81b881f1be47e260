"""The daily log mirrors what was remembered and can fail without harm."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Memory, load_settings
from recollect.dailylog import folder_of

DAY_MS = 86_400_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    return tmp_path / "home"


def memory_at(home: Path, clock: list[int], **options: object) -> Memory:
    settings = replace(load_settings(home=home), daily_log=True, **options)  # type: ignore[arg-type]
    return Memory(home / "m.db", space="desk", settings=settings, clock=lambda: clock[0])


def test_a_line_a_note_and_a_file_a_day(home: Path) -> None:
    clock = [1_700_006_399_000]  # one second before midnight
    with memory_at(home, clock) as memory:
        memory.add("We chose PostgreSQL\nfor billing", source="manual")
        memory.add("We chose PostgreSQL\nfor billing")  # a duplicate is not news
        memory.add("from a file", source="file-index")
        clock[0] += 2000
        memory.add("x" * 300)
    first, second = sorted(folder_of(home, "desk").iterdir())
    assert first.read_text() == (
        f"# Daily Log - {first.stem}\n\n- **23:59:59** [decision] (manual) We chose PostgreSQL for billing\n"
    )
    assert second.read_text().endswith(f"- **00:00:01** [observation] (manual) {'x' * 200}…\n")
    assert second.stem > first.stem


def test_a_clock_that_was_set_back_writes_to_its_own_day(home: Path) -> None:
    clock = [1_700_000_000_000]
    with memory_at(home, clock) as memory:
        memory.add("today")
        clock[0] -= 3 * DAY_MS
        memory.add("three days earlier")
    assert len(list(folder_of(home, "desk").iterdir())) == 2


def test_a_log_that_cannot_be_written_does_not_refuse_the_note(home: Path) -> None:
    home.mkdir()
    (home / ".recollect").write_text("in the way")
    with memory_at(home, [1_700_000_000_000]) as memory:
        note = memory.add("kept all the same")
        assert note.created and "daily log" in note.notice
        assert memory.get(note.id).content == "kept all the same"


def test_the_log_is_never_indexed(home: Path) -> None:
    with memory_at(home, [1_700_000_000_000]) as memory:
        memory.add("only once")
        memory.index(home, embed=False)
        assert len(memory.search("only once", mode="keyword")) == 1


def test_it_is_off_unless_asked_for(home: Path) -> None:
    with Memory(home / "m.db", space="desk", settings=load_settings(home=home)) as memory:
        memory.add("quiet")
    assert not (home / ".recollect").exists()
