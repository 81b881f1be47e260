"""The n-th write, sync, truncation or deletion fails, for every n: a typed error, no damage, nothing lost."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from faults import SIZES
from faults.disk import FailingDisk, in_use
from faults.model import SPACE, Step, World, after, check_sound, difference, perform, seen_in, shown
from recollect import Memory, RecollectError
from recollect.ids import new_uid

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]

# With two of four modes IOERR for even n and FULL for odd n, each once and persistent.
MODES = [(full, persistent) for persistent in (False, True) for full in (False, True)]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small store with a past; every run works on a copy of it."""
    store = tmp_path_factory.mktemp("template") / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add("bootstrapword: the space is there from the start")
    return store


@dataclass
class Run:
    """The script on a disk that fails, and which states of the store are right after it."""

    world: World
    possible: list[World] = field(default_factory=list)  # left by failed steps since the last acknowledged one
    errors: int = 0

    def play(self, store: Path, script: list[list[Step]]) -> None:
        for steps in script:
            try:
                memory = Memory(store, space=SPACE)
            except RecollectError:
                self.errors += 1
                continue
            self._settle(memory)
            for step in steps:
                self._try(memory, step)
            memory.close()

    def _settle(self, memory: Memory) -> None:
        """A commit that failed at its sync is in the log all the same; whoever opens the store next may find it."""
        seen = seen_in(memory)
        found = [world for world in (self.world, *self.possible) if shown(world) == seen]
        if not found:
            raise AssertionError(difference(shown(self.world), seen))
        self.world, self.possible = found[0], []

    def _try(self, memory: Memory, step: Step) -> None:
        if not _makes_sense(self.world, step):
            return  # it builds on one that failed
        then = after(self.world, step)
        try:
            perform(memory, step)
        except RecollectError as trouble:
            assert trouble.hint
            self.errors += 1
            seen = seen_in(memory)  # reading goes on; a failed call has happened whole or not at all
            assert seen in (shown(self.world), shown(then)), difference(shown(self.world), seen)
            if seen == shown(then):
                self.world, self.possible = then, []
            else:
                self.possible.append(then)  # only a later commit covers its place in the log
        else:
            self.world, self.possible = then, []

    def judge(self, store: Path) -> None:
        with Memory(store, space=SPACE, create=False) as memory:
            self._settle(memory)
            check_sound(memory, words=5)


def _makes_sense(world: World, step: Step) -> bool:
    if step.verb in ("add", "import"):
        return True
    wanted = {"update": "live", "delete": "live", "restore": "deleted", "undo": "deleted"}.get(step.verb)
    images = [world.get(uid) for uid, _ in step.texts]
    return all(one is not None and (wanted is None or one[-1][0] == wanted) for one in images)


def _script() -> list[list[Step]]:
    """Every verb that writes; the store is closed and opened again in between."""
    return [life for repeat in range(SIZES.failing_lives) for life in _two_lives("bcd"[repeat] * 4)]


def _two_lives(mark: str) -> list[list[Step]]:
    one, two, three = new_uid(), new_uid(), new_uid()
    return [
        [
            Step("add", ((one, f"firstword{mark} in the beginning"),)),
            Step("update", ((one, f"changedword{mark} later on"),)),
            Step("import", ((two, f"secondword{mark} from elsewhere"), (three, f"thirdword{mark} from there too"))),
            Step("delete", ((one, ""),)),
        ],
        [
            Step("undo", ((one, ""),)),
            Step("erase", ((two, ""),)),
            Step("delete", ((three, ""),)),
            Step("restore", ((three, ""),)),
        ],
    ]


def _play(template: Path, folder: Path, fail_at: int, full: bool, persistent: bool) -> tuple[int, int]:
    """How many operations the script made, and how many calls failed."""
    folder.mkdir()
    store = folder / "memory.db"
    shutil.copy(template, store)
    os.chmod(store, 0o600)
    with Memory(store, space=SPACE) as memory:
        run = Run({note.uid: ((note.state, note.content),) for note in memory.list()})
    disk = FailingDisk()
    disk.fail_at, disk.full, disk.persistent = fail_at, full, persistent
    with in_use(disk, checkpoint_pages=40):
        run.play(store, _script())
    run.judge(store)
    shutil.rmtree(folder)
    return disk.count, run.errors


def test_every_failing_io_operation_gives_a_typed_error_and_loses_nothing(template: Path, tmp_path: Path) -> None:
    total, errors = _play(template, tmp_path / "whole", 0, False, False)
    assert not errors
    assert total >= 250
    runs = failed_calls = 0
    for number in range(1, total + 1):
        for full, persistent in MODES if SIZES.failing_modes == len(MODES) else MODES[number % 2 :: 2]:
            failed_calls += _play(template, tmp_path / f"{runs}", number, full, persistent)[1]
            runs += 1
    print(f"{runs} runs of a script of {total} I/O operations; {failed_calls} calls failed")
    assert failed_calls > runs / 4
