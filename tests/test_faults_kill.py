"""kill -9 at any moment: nothing acknowledged is lost, nothing comes back, the index equals the notes."""

import json
import random
import time
from pathlib import Path

import pytest

from faults import SCALE
from faults.journal import read_journal
from faults.model import SPACE, Seen, World, after, check_sound, difference, outcomes, seen_in, shown
from faults.processes import Worker, ended, start, tell, wait_ready, wait_until
from recollect import Memory

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 * SCALE)]

STORES = 10 * SCALE
ROUNDS = 10  # on each store
WRITERS = 2


class Survivor:
    """A store that is written and killed again and again, and what must be in it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.store = folder / "memory.db"
        self.worlds: list[World] = [{} for _ in range(WRITERS)]
        self.acknowledged = self.unknown = 0
        self._dice = random.Random(seed)
        self._seed = seed

    def round(self, number: int) -> None:
        journals = [self.folder / f"journal-{number}-{writer}" for writer in range(WRITERS)]
        workers: list[Worker] = []
        with ended(workers):
            for writer, journal in enumerate(journals):
                world = self.folder / f"world-{writer}"
                world.write_text(json.dumps(self.worlds[writer]))
                seed = f"{self._seed}/{number}/{writer}"
                workers.append(start("faults.writer", self.store, journal, world, seed))
            wait_until(lambda: all(journal.exists() for journal in journals), "the writers to begin")
            time.sleep(self._dice.uniform(0.0, 0.3))
            for worker in workers:  # together, or one while the other goes on
                assert worker.poll() is None, f"a writer ended by itself: {worker.communicate()[1]}"
                worker.kill()
                time.sleep(self._dice.choice((0.0, 0.0, self._dice.uniform(0.0, 0.1))))
        self._judge(journals)

    def _judge(self, journals: list[Path]) -> None:
        began = time.monotonic()
        with Memory(self.store, space=SPACE) as memory:  # a kill at the very start may leave none
            seen = seen_in(memory) if any(space.name == SPACE for space in memory.spaces()) else {}
            assert time.monotonic() - began < 5, "opening took too long"
            for writer, journal in enumerate(journals):
                self.worlds[writer] = self._settled(self.worlds[writer], journal, seen)
            everything = {uid: one for world in self.worlds for uid, one in shown(world).items()}
            if everything != seen:
                raise AssertionError(difference(everything, seen))
            if seen:
                check_sound(memory, words=150)

    def _settled(self, world: World, journal: Path, seen: Seen) -> World:
        """The writer's world as it turned out: acknowledged steps for certain, the last one whole or not at all."""
        done, under_way = read_journal(journal)
        for step in done:
            world = after(world, step)
        self.acknowledged += len(done)
        if under_way is None:
            return world
        self.unknown += 1
        touched = {uid for uid, _ in under_way.texts}
        for outcome in outcomes(world, under_way):
            expected = shown(outcome)
            if all(expected.get(uid) == seen.get(uid) for uid in touched):
                return outcome
        raise AssertionError(f"half of a {under_way.verb} is there: {difference(shown(after(world, under_way)), seen)}")


@pytest.mark.parametrize("seed", range(STORES))
def test_a_killed_writer_loses_nothing_acknowledged_and_leaves_nothing_half_done(tmp_path: Path, seed: int) -> None:
    survivor = Survivor(tmp_path, seed)
    for number in range(ROUNDS):
        survivor.round(number)
    print(f"{ROUNDS} rounds: {survivor.acknowledged} acknowledged, {survivor.unknown} unknown at the kill")
    assert survivor.acknowledged > ROUNDS


@pytest.mark.parametrize("seed", range(12 * SCALE))
def test_a_store_is_made_whole_or_not_at_all_when_its_makers_are_killed(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    store = tmp_path / "new" / "memory.db"
    names = ["".join(dice.choices("bcdfghjklmnpqrtvwxz", k=10)) for _ in range(5)]
    workers: list[Worker] = []
    with ended(workers):
        workers.extend(start("faults.founder", store, name) for name in names)
        wait_ready(workers)
        tell(workers, "go")
        doomed = workers[: dice.randint(1, 5)]
        for worker in doomed:
            time.sleep(dice.uniform(0, 0.06))
            worker.kill()
        answers = [worker.communicate(timeout=60) for worker in workers]
    for worker, (_, trouble) in zip(workers, answers, strict=True):
        assert worker in doomed or worker.returncode == 0, trouble
    certain = {f"{name} was here" for name, (said, _) in zip(names, answers, strict=True) if "acknowledged" in said}
    with Memory(store, space=SPACE) as memory:
        memory.add("one more, so that the space is there")
        found = {note.content for note in memory.list(limit=100)} - {"one more, so that the space is there"}
        assert certain <= found <= {f"{name} was here" for name in names}
        assert all(finding.ok for finding in memory.check())
    assert store.stat().st_nlink == 1, "the store has a second name"
    print(f"{len(doomed)} of 5 makers killed, {len(certain)} acknowledged, left over: {_left_over(store)}")
    with Memory(store, space=SPACE, create=False) as memory:
        assert len(memory.list(limit=100)) == len(found) + 1


def _left_over(store: Path) -> list[str]:
    return sorted(path.name for path in store.parent.iterdir() if path.name.endswith(".new"))
