"""The power goes at any moment: with durability full every acknowledged change is there, and the file is sound."""

import random
from pathlib import Path

import pytest

from faults import SCALE
from faults.disk import Io, RecordingDisk, after_power_cut, in_use, put_back
from faults.model import SPACE, Author, World, check_sound, difference, perform, seen_in, shown
from recollect import Memory
from recollect.config import load_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 * SCALE)]

CUTS = 200 * SCALE
STEPS = 40 + 20 * SCALE
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


def _lost(recording: Recording, folder: Path) -> list[tuple[int, str, int]]:
    """Every cut that lost acknowledged steps, with how many."""
    dice = random.Random(1)
    lost = []
    for number, cut in enumerate(recording.cuts(dice)):
        survival = SURVIVAL[number % len(SURVIVAL)]
        found = recording.found_after(cut, survival, folder / f"cut-{number}", dice)
        if found < recording.steps_done(cut):
            lost.append((cut, survival, recording.steps_done(cut) - found))
    return lost


def test_a_power_cut_loses_no_acknowledged_change_and_damages_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    recording = Recording(tmp_path / "store", "full", seed=1)
    lost = _lost(recording, tmp_path)
    print(f"{CUTS} cuts in {len(recording.log)} I/O operations of {len(recording.worlds) - 1} steps")
    assert not lost


def test_with_durability_normal_a_power_cut_may_lose_the_newest_changes_but_damages_nothing(tmp_path: Path) -> None:
    """Also shows that the test above can see a loss."""
    (tmp_path / "store").mkdir()
    lost = _lost(Recording(tmp_path / "store", "normal", seed=1), tmp_path)
    print(f"{len(lost)} of {CUTS} cuts lost up to {max(count for _, _, count in lost)} acknowledged steps")
    assert lost
