"""kill -9 at any moment: nothing acknowledged is lost, nothing comes back, the index equals the notes."""

import itertools
import json
import random
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from faults import SIZES
from faults.founder import found
from faults.journal import read_journal
from faults.model import (
    SPACE,
    Author,
    Seen,
    Step,
    World,
    after,
    check_sound,
    difference,
    outcomes,
    perform,
    seen_in,
    shown,
)
from faults.processes import Victim, ended, wait_until
from faults.writer import WEIGHTS, write
from recollect import Memory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]

ROUNDS = 10  # on each store
WRITERS = 2


class Survivor:
    """A store that is written and killed again and again, and what must be in it."""

    def __init__(self, folder: Path, seed: str, wanted: str) -> None:
        self.folder = folder
        self.store = folder / "memory.db"
        self.worlds: list[World] = [{} for _ in range(WRITERS)]
        self.calls: list[list[tuple[str, ...]]] = [[] for _ in range(WRITERS)]  # the notes of each, in order
        self.acknowledged = 0
        self.killed_at: Counter[str] = Counter()  # the verb that was under way
        self._dice = random.Random(seed)
        self._seed = seed
        self._wanted = wanted

    def settle_in(self) -> None:
        """Notes for each writer to begin with, so that there is something to change; hidden ones if that is wanted."""
        with Memory(self.store, space=SPACE) as memory:
            for writer in range(WRITERS):
                author = Author(f"{self._seed}/{writer}", {}, {"import": 1}, import_sizes=(30,))
                steps = [author.next_step()]
                if self._wanted == "restore":
                    steps += [Step("delete", ((uid, ""),)) for uid, _ in steps[0].texts]
                for step in steps:
                    perform(memory, step)
                    self.worlds[writer] = after(self.worlds[writer], step)
                    self.calls[writer].append(tuple(uid for uid, _ in step.texts))

    def round(self, number: int) -> None:
        journals = [self.folder / f"journal-{number}-{writer}" for writer in range(WRITERS)]
        victims: list[Victim] = []
        with ended(victims):
            for writer, journal in enumerate(journals):
                world = self.folder / f"world-{writer}"
                world.write_text(json.dumps([self.worlds[writer], self.calls[writer]]))
                seed = f"{self._seed}/{number}/{writer}"
                victims.append(Victim(write, str(self.store), str(journal), str(world), seed, self._wanted))
            if self._dice.random() < 0.9:  # else a kill may meet the opening too
                assert [victim.hear() for victim in victims] == ["ready"] * WRITERS
            wait_until(lambda: all(journal.exists() for journal in journals), "the writers to begin")
            time.sleep(self._dice.uniform(0.0, 0.15))
            for victim in victims:  # together, or one while the other goes on
                assert victim.wait(0) is None, "a writer ended by itself"
                victim.kill()
                time.sleep(self._dice.choice((0.0, 0.0, self._dice.uniform(0.0, 0.05))))
        self._judge(journals)

    def _judge(self, journals: list[Path]) -> None:
        began = time.monotonic()
        with Memory(self.store, space=SPACE) as memory:  # a kill at the very start may leave none
            seen = seen_in(memory) if any(space.name == SPACE for space in memory.spaces()) else {}
            assert time.monotonic() - began < 5, "opening took too long"
            for writer, journal in enumerate(journals):
                self.worlds[writer] = self._settled(self.worlds[writer], self.calls[writer], journal, seen)
            everything = {uid: one for world in self.worlds for uid, one in shown(world).items()}
            if everything != seen:
                raise AssertionError(difference(everything, seen))
            if seen:
                check_sound(memory, words=60)

    def _settled(self, world: World, calls: list[tuple[str, ...]], journal: Path, seen: Seen) -> World:
        """The writer's world as it turned out: acknowledged steps for certain, the last one whole or not at all."""
        done, under_way = read_journal(journal)
        for step in done:
            world = after(world, step)
            calls.append(tuple(uid for uid, _ in step.texts))
        self.acknowledged += len(done)
        if under_way is None:
            return world
        self.killed_at[under_way.verb] += 1
        touched = {uid for uid, _ in under_way.texts}
        for outcome in outcomes(world, under_way):
            expected = shown(outcome)
            if all(expected.get(uid) == seen.get(uid) for uid in touched):
                calls.append(tuple(uid for uid in touched if outcome.get(uid) != world.get(uid)))
                return outcome
        raise AssertionError(f"half of a {under_way.verb} is there: {difference(shown(after(world, under_way)), seen)}")


@pytest.mark.parametrize("verb", WEIGHTS)
def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_nothing_half_done(tmp_path: Path, verb: str) -> None:
    killed_at: Counter[str] = Counter()
    acknowledged = 0
    for seed in itertools.count():
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        survivor = Survivor(folder, f"{verb}{seed}", verb)
        if seed % 10:  # else the two begin with nothing, not even a store
            survivor.settle_in()
        for number in range(ROUNDS):
            survivor.round(number)
        killed_at += survivor.killed_at
        acknowledged += survivor.acknowledged
        shutil.rmtree(folder)
        if killed_at[verb] >= SIZES.writer_kills:
            break
    print(f"{verb}: {acknowledged} steps acknowledged; killed at {dict(killed_at)}")
    assert acknowledged > killed_at.total() / 10  # a busy machine does little between two kills


def test_a_store_is_made_whole_or_not_at_all_when_its_makers_are_killed(tmp_path: Path) -> None:
    dice = random.Random(1)
    killed: Counter[str] = Counter()
    rounds = 0
    while killed["at work"] < SIZES.maker_kills:
        killed += _found_and_kill(tmp_path / f"{rounds}" / "memory.db", dice)
        shutil.rmtree(tmp_path / f"{rounds}")
        rounds += 1
    print(f"{rounds} stores made by five at once; makers killed: {dict(killed)}")


def _found_and_kill(store: Path, dice: random.Random) -> Counter[str]:
    """One to five of five makers are killed; how many of them were at work when they died."""
    names = ["".join(dice.choices("bcdfghjklmnpqrtvwxz", k=10)) for _ in range(5)]
    victims = [Victim(found, str(store), name) for name in names]
    doomed = victims[: dice.randint(1, 5)]
    with ended(victims):
        assert [victim.hear() for victim in victims] == ["ready"] * 5
        for victim in victims:
            victim.tell("go")
        for victim in doomed:
            time.sleep(dice.uniform(0, dice.choice((0.004, 0.015, 0.05))))
            victim.kill()
        said = [list(iter(victim.hear, None)) for victim in victims]
        assert all(victim.wait() == 0 for victim in victims if victim not in doomed)
    certain = {f"{name} was here" for name, words in zip(names, said, strict=True) if "acknowledged" in words}
    with Memory(store, space=SPACE) as memory:
        memory.add("one more, so that the space is there")
        there = {note.content for note in memory.list(limit=100)} - {"one more, so that the space is there"}
        assert certain <= there <= {f"{name} was here" for name in names}
        assert all(finding.ok for finding in memory.check())
    assert store.stat().st_nlink == 1, "the store has a second name"
    with Memory(store, space=SPACE, create=False) as memory:
        assert len(memory.list(limit=100)) == len(there) + 1
    stages = {0: "before", 1: "at work", 2: "after"}
    return Counter(stages[len(words)] for victim, words in zip(victims, said, strict=True) if victim in doomed)
