"""A merge, a consolidation or a superseding that is killed happened whole or not at all."""

import itertools
import random
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from faults import SIZES
from faults.believer import believe
from faults.model import SPACE
from faults.processes import Victim, ended
from recollect import Memory
from recollect.config import load_settings
from recollect.types import STATES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]
AT_ONCE = 5
KILLS = SIZES.belief_kills
PAIRS, SUBJECTS = 40, 20
LETTERS = "abcdfghijklmnopqrtuv"  # an e or s at the end would be cut off as an ending
# verb: about how long it takes, and what it leaves
VERBS = {
    "merge": (0.12, Counter(live=PAIRS + 3 * SUBJECTS, superseded=PAIRS)),
    "consolidate": (0.15, Counter(live=2 * PAIRS + SUBJECTS, superseded=3 * SUBJECTS)),
    "supersede": (0.03, Counter(live=2 * PAIRS + 3 * SUBJECTS, superseded=1)),
}
BEFORE = Counter(live=2 * PAIRS + 3 * SUBJECTS)


def _texts() -> list[str]:
    found = []
    for number in range(PAIRS):
        word = LETTERS[number % 20] + LETTERS[number // 20]
        text = f"zeta{word} qmol{word} brik{word} dosh{word} fenk{word} kept"
        found += [text, f"{text} lamp{word}"]
    for letter in LETTERS[:SUBJECTS]:
        found += [f"hurk{letter} valm{letter} is nolb{letter}{end}" for end in ("a", "b", "c")]
    return found


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("template") / "memory.db"
    with Memory(store, space=SPACE, settings=load_settings(embedder="none")) as memory:
        memory.add_many(_texts())
    return store


@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_leaves_before_or_after_and_nothing_between(template: Path, tmp_path: Path, verb: str) -> None:
    dice = random.Random(5)
    outcomes: Counter[str] = Counter()
    longest, after = VERBS[verb]
    for number in itertools.count():
        stores = [tmp_path / f"{number}-{one}" / "memory.db" for one in range(AT_ONCE)]
        for store in stores:
            store.parent.mkdir()
            shutil.copy(template, store)
            store.chmod(0o600)
        victims = [Victim(believe, str(store), str(tmp_path / "home"), verb) for store in stores]
        with ended(victims):
            assert [victim.hear() for victim in victims] == ["ready"] * AT_ONCE
            for victim in victims:
                victim.tell("go")
                assert victim.hear() == "begun"
                time.sleep(dice.uniform(0.3, 1.0) * longest)
                victim.kill()
            said = [list(iter(victim.hear, None)) for victim in victims]
        for store, words in zip(stores, said, strict=True):
            found = _judge(store, after)
            assert found == "after" or "done" not in words
            outcomes[found if not words else "not at work"] += 1
            longest *= 0.75 if found == "after" else 1.3  # so that kills come when it is about to be done
            shutil.rmtree(store.parent)
        if outcomes["before"] + outcomes["after"] >= KILLS or number > 20 * KILLS:
            break
    print(f"killed at {verb}: {dict(outcomes)}")
    assert outcomes["before"] + outcomes["after"] >= KILLS


def _judge(store: Path, after: Counter[str]) -> str:
    with Memory(store, space=SPACE, settings=load_settings(embedder="none")) as memory:
        notes = memory.list(limit=1000, states=STATES)
        states = Counter(note.state for note in notes)
        assert memory.verify().ok and all(finding.ok for finding in memory.check())
        assert states in (BEFORE, after), states
        known = {note.uid for note in notes}
        for note in notes:
            assert (note.state == "superseded") == (note.superseded_by in known) == (note.valid_to_ms is not None)
        if states == BEFORE:
            assert all(not note.links for note in notes)
            return "before"
        operation = memory.operations(limit=1)[0][0].operation
        memory.undo(operation)
        assert Counter(note.state for note in memory.list(limit=1000)) == BEFORE
        return "after"
