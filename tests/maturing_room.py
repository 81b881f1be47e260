"""What the tests of maturing share: a clock set by hand, and a Memory that can be opened again, on both engines.

Use the fixtures with `pytest_plugins = ["postgres_server", "maturing_room"]`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory, load_settings

Open = Callable[..., Memory]


class Clock:
    """Every look at it is a millisecond later."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def open_memory(request: pytest.FixtureRequest, memory_folder: Path, clock: Clock) -> Iterator[Open]:
    """Opens the same store again and again."""
    databases = request.getfixturevalue("databases") if request.param == "postgres" else None
    place = databases.fresh() if databases is not None else memory_folder / "memory.db"
    settings = load_settings(home=memory_folder / "home", embedder="none", durability="normal")
    opened = []

    def make(space: str = "desk", **options: Any) -> Memory:
        memory = Memory(place, space=space, settings=replace(settings, **options), clock=clock)
        opened.append(memory)
        return memory

    yield make
    for memory in opened:
        memory.close()
    if databases is not None:
        databases.recycle(place)


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    return open_memory()
