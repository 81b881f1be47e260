"""The power goes at any moment: with durability full every acknowledged change is there, and the file is sound."""

import random
import shutil
from pathlib import Path

import pytest

from faults import SIZES
from faults.disk import Io, RecordingDisk, after_power_cut, in_use, put_back
from faults.model import SPACE, Author, World, check_sound, difference, perform, seen_in, shown
from recollect import Memory
from recollect.config import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]

CUTS = SIZES.power_cuts // SIZES.power_scripts  # in each script
STEPS = 60
SURVIVAL = ("none", "some", "some", "all")
WEIGHTS = {"add": 5, "update": 4, "delete": 2, "undo": 2, "restore": 1, "import": 1, "erase": 1}


class Recording:
    """A script that ran on a recording disk: every I/O operation, and how far they went when each step was done."""

    def __init__(self, folder: Path, durability: str, seed: int) -> None:
        self.folder = folder
        self.store = folder / "memory.db"
        self.settings = load_settings(durability=durability)
        author = Author(seed, {}, WEIGHTS, import_sizes=(5, 30))
        with Memory(self.store, space=SPACE, settings=self.settings) as memory:
            memory.add("bootstrapword: the space is made before the power can go")
            self.first = {note.uid: ((note.state, note.content),) for note in memory.list()}
        self.start = {str(path): path.read_bytes() for path in folder.iterdir()}
        assert set(self.start) == {str(self.store)}
        disk = RecordingDisk()
        self.log: list[Io] = disk.log
        self.worlds: list[World] = [{}]
        self.acknowledged_at = [0]
        with in_use(disk, checkpoint_pages=60):
            while len(self.worlds) <= STEPS:
                with Memory(self.store, space=SPACE, settings=self.settings) as memory:
                    for _ in range(15):
                        step = author.next_step()
                        perform(memory, step)
                        author.happened(step)
                        self.worlds.append(author.world)
                        self.acknowledged_at.append(len(self.log))

    def cuts(self, dice: random.Random) -> list[int]:
        """Half of them right after an acknowledgement, where a lost one shows, the rest anywhere."""
        anywhere = dice.choices(range(1, len(self.log) + 1), k=CUTS // 2)
        return sorted(dice.choices(self.acknowledged_at, k=CUTS - len(anywhere)) + anywhere)

    def steps_done(self, cut: int) -> int:
        return sum(1 for at in self.acknowledged_at if at <= cut) - 1

    def found_after(self, cut: int, survival: str, folder: Path, dice: random.Random) -> int:
        """Cuts the power, opens what is left, and says after which step the store stands."""
        folder.mkdir()
        put_back(after_power_cut(self.start, self.log[:cut], survival, dice), self.folder, folder)
        with Memory(folder / "memory.db", space=SPACE, settings=self.settings, create=False) as memory:
            check_sound(memory, words=10)
            seen = seen_in(memory)
        done = self.steps_done(cut)
        steps: list[int] = [done, done + 1, *reversed(range(done))]
        for step in steps:
            if step < len(self.worlds) and shown(self.first | self.worlds[step]) == seen:
                return step
        expected = shown(self.first | self.worlds[done])
        raise AssertionError(
            f"after cut {cut} ({survival}) the store is in no known state: {difference(expected, seen)}"
        )


def _lost(folder: Path, durability: str) -> list[int]:
    """Cuts the power in every script; how many acknowledged steps each cut lost."""
    lost = []
    operations = 0
    for script in range(SIZES.power_scripts):
        (folder / f"{script}").mkdir()
        recording = Recording(folder / f"{script}", durability, seed=1 + script)
        operations += len(recording.log)
        dice = random.Random(1 + script)
        for number, cut in enumerate(recording.cuts(dice)):
            after = folder / f"{script}-{number}"
            found = recording.found_after(cut, SURVIVAL[number % len(SURVIVAL)], after, dice)
            lost.append(max(0, recording.steps_done(cut) - found))
            shutil.rmtree(after)
        shutil.rmtree(recording.folder)
    told = f"{sum(map(bool, lost))} lost up to {max(lost)} acknowledged steps"
    print(f"{durability}: {len(lost)} cuts in {operations} I/O operations of {SIZES.power_scripts} scripts; {told}")
    return lost


def test_a_power_cut_loses_no_acknowledged_change_and_damages_nothing(tmp_path: Path) -> None:
    assert not any(_lost(tmp_path, "full"))


def test_with_durability_normal_a_power_cut_may_lose_the_newest_changes_but_damages_nothing(tmp_path: Path) -> None:
    """Also shows that the test above can see a loss."""
    assert any(_lost(tmp_path, "normal"))
