"""Starting real worker processes, and never leaving one behind.

A worker is an interpreter of its own. A victim is made to be killed, by the thousand: where the system can, it is
forked from a process that has everything loaded and never opened a store.
"""

import contextlib
import itertools
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

TESTS = Path(__file__).resolve().parent.parent
Worker = subprocess.Popen[str]
AT_ONCE = 5  # victims


class Mortal(Protocol):
    def kill(self) -> None: ...
    def communicate(self) -> Any: ...


def start(module: str, *arguments: object) -> Worker:
    """A module of this folder in an interpreter of its own."""
    paths = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    environment = dict(os.environ) | {"PYTHONPATH": paths, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", module, *map(str, arguments)],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextlib.contextmanager
def ended(workers: Sequence[Mortal]) -> Iterator[None]:
    """Whatever happens inside, no worker outlives it."""
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.communicate()


def wait_ready(workers: list[Worker]) -> None:
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"


def tell(workers: list[Worker], line: str) -> None:
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(f"{line}\n")
        worker.stdin.flush()


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.002)


# What victims use, also what is imported only when first used.
_LOADED = (
    "pytest", "recollect", "recollect.memory", "recollect.write", "recollect.undo", "recollect.transfer",
    "recollect.search", "recollect.policies", "recollect.index", "recollect.rechunking", "recollect.embed.hashing",
    "recollect.upkeep.cleanup", "recollect.store.opening", "recollect.store.sqlite", "recollect.text.tokens",
    "recollect.backup", "faults.writer", "faults.cleaner", "faults.founder", "faults.indexer", "faults.upgrader",
)  # fmt: skip


@cache
def _nursery() -> Any:
    """Where victims come from. Its first process takes the search path from the environment alone."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(list(_LOADED))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in (str(TESTS), *sys.path) if path)
    try:
        made.Process(target=int).start()
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
    return made


class Victim:
    """Runs `work(line, *arguments)`; what it says on the line is heard here, also after its death."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        self._line, there = multiprocessing.Pipe()
        self._process = _nursery().Process(target=work, args=(there, *arguments), daemon=True)
        self._process.start()
        there.close()

    def hear(self, seconds: float = 60) -> Any:
        """The next thing it says; None when it died without a word more."""
        assert self._line.poll(seconds), f"a victim said nothing for {seconds} s"
        try:
            return self._line.recv()
        except (EOFError, ConnectionResetError):
            return None

    def tell(self, word: str) -> None:
        self._line.send(word)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, seconds: float = 60) -> int | None:
        """Its exit code, or None while it lives."""
        self._process.join(seconds)
        code: int | None = self._process.exitcode
        return code

    def communicate(self) -> None:
        self.wait()
        self._line.close()


class Patience:
    """How long to let a victim work: so that about a third are killed too late, however busy the machine is."""

    def __init__(self, seconds: float, dice: random.Random) -> None:
        self._seconds = seconds
        self._dice = dice

    def wait(self) -> None:
        time.sleep(self._dice.uniform(0.0, self._seconds))

    def learn(self, too_late: bool) -> None:
        self._seconds *= 0.9 if too_late else 1.05


def killed(
    template: Path, folder: Path, victim: Callable[[Path], Victim], judge: Callable[[Path], str], patience: Patience,
    *, kills: int, whole: str = "after", at_work: Callable[[list[str]], bool] = lambda words: words == ["begun"],
) -> Counter[str]:  # fmt: skip
    """Lets a few at a time work on a copy of a store each and kills them, until `kills` of them were at work.

    Counts what `judge` found; who said that it was done must have left the `whole` of it.
    """
    outcomes: Counter[str] = Counter()
    for number in itertools.count():
        stores = [folder / f"{number}-{one}" / "memory.db" for one in range(AT_ONCE)]
        for store in stores:
            store.parent.mkdir()
            shutil.copy(template, store)
            store.chmod(0o600)
        victims = [victim(store) for store in stores]
        with ended(victims):
            assert [one.hear() for one in victims] == ["ready"] * AT_ONCE
            for one in victims:
                one.tell("go")
                patience.wait()
                one.kill()
            said = [list(iter(one.hear, None)) for one in victims]
        for store, words in zip(stores, said, strict=True):
            found = judge(store)
            assert found == whole or "done" not in words
            outcomes[found if at_work(words) else "not at work"] += 1
            patience.learn(found == whole)
            shutil.rmtree(store.parent)
        if outcomes.total() - outcomes["not at work"] >= kills:
            return outcomes
    raise AssertionError("counting does not end")
