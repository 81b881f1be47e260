"""A promotion by rule and an overflow of the scratchpad that are killed happened whole or not at all."""

import random
from collections import Counter
from pathlib import Path

import pytest

from faults import SIZES
from faults.maturer import PAD_TOKENS, mature
from faults.model import SPACE
from faults.processes import Patience, Victim, killed
from recollect import Memory
from recollect.config import load_settings
from recollect.types import STATES, TIERS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]
KILLS = SIZES.maturing_kills
READ, UNREAD, JOTTED = 120, 30, 60
BEFORE = Counter(scratchpad=JOTTED, episodic=READ + UNREAD)
# verb: about how long it takes, and what it leaves
VERBS = {
    "mature": (0.06, Counter(scratchpad=JOTTED, episodic=UNREAD, semantic=READ)),
    "overflow": (0.06, Counter(scratchpad=1, episodic=READ + UNREAD + JOTTED)),
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("template") / "memory.db"
    settings = load_settings(embedder="none", scratchpad_tokens=PAD_TOKENS, scratchpad_minutes=0)
    with Memory(store, space=SPACE, settings=settings) as memory:
        notes = memory.add_many(f"note {number} about {number % 7} things" for number in range(READ + UNREAD))
        for _ in range(2):
            memory._used([note.id for note in notes[:READ]], "get")
        for number in range(JOTTED):
            memory.scratchpad.put(f"item {number} of a long list of things to look at one after the other")
    return store


@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_leaves_before_or_after_and_nothing_between(template: Path, tmp_path: Path, verb: str) -> None:
    seconds, after = VERBS[verb]
    patience = Patience(seconds, random.Random(7))

    def victim(store: Path) -> Victim:
        return Victim(mature, verb, str(store), str(tmp_path / "home"))

    outcomes = killed(
        template, tmp_path, victim, lambda store: _judge(store, after), patience, kills=KILLS,
        at_work=lambda words: "begun" in words,
    )  # fmt: skip
    print(f"killed while at {verb}: {dict(outcomes)}")
    assert min(outcomes["before"], outcomes["after"]) > KILLS // 20


def _judge(store: Path, after: Counter[str]) -> str:
    with Memory(store, space=SPACE) as memory:
        notes = memory.list(limit=1000, states=STATES, tiers=TIERS)
        tiers = Counter(note.tier for note in notes)
        assert {note.state for note in notes} == {"live"}
        assert tiers in (BEFORE, after), tiers
        assert memory.stats()["chunks"] >= tiers["episodic"] + tiers["semantic"]
        assert all(finding.ok for finding in memory.check())
        return "before" if tiers == BEFORE else "after"
