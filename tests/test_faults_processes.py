"""Many processes and threads on one store: nothing lost, nobody is told that it is locked, nobody waits long."""

import json
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from faults import SIZES
from faults.crowd import read, write
from faults.model import SPACE, Seen, check_sound, difference, seen_in, shown
from faults.processes import Worker, ended, start, tell, wait_ready
from recollect import Memory
from recollect.errors import StoreUnavailable

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]

SECONDS = SIZES.crowd_seconds
# Over half an hour, on a machine that has more to do than this, a few may wait longer; nobody near giving up (30 s).
LONGEST_WAIT = 2.0 if SECONDS <= 30 else 10.0
SLOW_SHARE = 1 / 1000


def test_eight_writers_and_eight_readers_share_a_store_without_noticing(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    Memory(store, space=SPACE).close()
    workers: list[Worker] = []
    with ended(workers):
        workers.extend(start("faults.crowd", ("writer", "reader")[n % 2], store, SECONDS, n) for n in range(16))
        wait_ready(workers)
        tell(workers, "go")
        answers = [worker.communicate(timeout=SECONDS + 300) for worker in workers]
    for worker, (_, trouble) in zip(workers, answers, strict=True):
        assert worker.returncode == 0, trouble
    reports = [json.loads(said) for said, _ in answers]
    writes, reads = (sum(report["calls"] for report in reports[role::2]) for role in (0, 1))
    longest, slow = max(report["longest"] for report in reports), sum(report["slow"] for report in reports)
    print(f"{writes} writes and {reads} reads in {SECONDS} s; {slow} took over 2 s, the longest {longest:.3f} s")
    expected: Seen = {uid: tuple(note) for report in reports for uid, note in report["notes"].items()}
    _same_and_sound(store, expected)
    assert longest < LONGEST_WAIT
    assert slow <= (writes + reads) * SLOW_SHARE


def _same_and_sound(store: Path, expected: Seen) -> None:
    with Memory(store, space=SPACE) as memory:
        seen = seen_in(memory)
        if seen != expected:
            raise AssertionError(difference(expected, seen))
        check_sound(memory, words=100)


def test_eight_threads_share_one_memory(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with Memory(store, space=SPACE) as memory, ThreadPoolExecutor(8) as pool:
        memory.start_session("made first, so that the space is there")
        writers = [pool.submit(write, memory, 3.0, number) for number in range(4)]
        readers = [pool.submit(read, memory, 3.0, number) for number in range(4)]
        worlds = [writer.result()[1] for writer in writers]
        longest = max([reader.result().longest for reader in readers] + [w.result()[0].longest for w in writers])
    print(f"{sum(map(len, worlds))} notes by 4 threads; the longest call took {longest:.3f} s")
    _same_and_sound(store, {uid: note for world in worlds for uid, note in shown(world).items()})
    assert longest < LONGEST_WAIT


def _add_some(store: str, name: str) -> None:
    with Memory(store, space=SPACE) as memory:
        for number in range(20):
            memory.add(f"{name} says {number}")


def test_a_spawned_child_works_beside_its_parent(tmp_path: Path) -> None:
    store = str(tmp_path / "memory.db")
    with Memory(store, space=SPACE) as memory:
        memory.add("the parent was first")
        children = [
            multiprocessing.get_context("spawn").Process(target=_add_some, args=(store, name))
            for name in ("ann", "bob")
        ]
        for child in children:
            child.start()
        memory.add("the parent goes on")
        for child in children:
            child.join(60)
            assert child.exitcode == 0
        assert memory.stats()["notes"] == 42


FORKED = ("written before the fork", "the child's first", "the child's second, after its parent has closed")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_keeps_what_it_wrote_after_its_parent_has_closed_the_store(tmp_path: Path) -> None:
    """SQLite's locks do not cross a fork: a child that relied on its parent's would write into a log that is gone."""
    store = tmp_path / "memory.db"
    memory = Memory(store, space=SPACE)
    memory.add(FORKED[0])
    go_read, go_write = os.pipe()
    said_read, said_write = os.pipe()
    child = os.fork()
    if not child:
        os.close(go_write)
        os.close(said_read)
        _work_as_child(memory, go_read, said_write)
    os.close(go_read)
    os.close(said_write)
    try:
        assert os.read(said_read, 1) == b"1"
        memory.close()
        os.write(go_write, b"1")
        assert os.read(said_read, 1) == b"2"
        assert _texts(store) == set(FORKED)
    finally:
        os.close(go_write)
        os.close(said_read)
        status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 0
    assert _texts(store) == set(FORKED)


def _work_as_child(memory: Memory, go: int, said: int) -> NoReturn:
    status = 1
    try:
        for number, text in enumerate(FORKED[1:], 1):
            memory.add(text)
            os.write(said, str(number).encode())
            os.read(go, 1)
        status = 0
    finally:
        os._exit(status)


def _texts(store: Path) -> set[str]:
    with Memory(store, space=SPACE) as memory:
        assert all(finding.ok for finding in memory.check())
        return {note.content for note in memory.list(limit=100)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_forked_in_the_middle_of_a_transaction_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add(FORKED[0])

        def rows() -> Iterator[dict[str, str]]:
            with memory._store.snapshot():
                child = os.fork()
                if not child:
                    status = 1
                    try:
                        Memory(store, space=SPACE)
                    except StoreUnavailable as trouble:
                        status = 0 if "spawn" in trouble.hint else 2
                    finally:
                        os._exit(status)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            yield {"content": FORKED[1]}

        memory.import_notes(rows())
        assert _texts(store) == set(FORKED[:2])
