"""A clean-up that is killed happened whole or not at all."""

import random
from collections import Counter
from pathlib import Path

import pytest

from faults import SIZES
from faults.cleaner import clean
from faults.model import SPACE
from faults.processes import Patience, Victim, killed
from recollect import Draft, Memory
from recollect.types import STATES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("template") / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add_many(
            Draft(f"note {number} about {number % 7} and {number % 11}", pinned=number < 20) for number in range(600)
        )
    return store


def test_a_killed_cleanup_leaves_before_or_after_and_nothing_between(template: Path, tmp_path: Path) -> None:
    patience = Patience(0.12, random.Random(5))

    def victim(store: Path) -> Victim:
        return Victim(clean, str(store), str(tmp_path / "home"), 500)

    outcomes = killed(template, tmp_path, victim, _judge, patience, kills=SIZES.cleanup_kills)
    print(f"killed while cleaning up: {dict(outcomes)}")
    assert min(outcomes["before"], outcomes["after"]) > SIZES.cleanup_kills // 50


def _judge(store: Path) -> str:
    with Memory(store, space=SPACE) as memory:
        states = Counter(note.state for note in memory.list(limit=1000, states=STATES))
        assert all(finding.ok for finding in memory.check())
        assert len(memory.list(limit=100, pinned=True)) == 20
        assert memory.stats()["chunks"] == states["live"]
        assert states in (Counter(live=600), Counter(live=425, evicted=175)), states
        return "before" if states["live"] == 600 else "after"
