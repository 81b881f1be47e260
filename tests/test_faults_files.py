"""Store files that are missing, foreign, cut, damaged, locked away or out of room: a typed error, and nothing worse."""

import contextlib
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from faults import SIZES
from faults.disk import Disk, Io, in_use
from faults.journal import read_journal
from faults.model import SPACE, after, all_events, check_sound, difference, outcomes, seen_in, shown
from faults.processes import ended, start, wait_ready, wait_until
from recollect import Memory, RecollectError
from recollect.config import load_settings
from recollect.errors import NotFound, StoreCorrupt, StoreForeign, StoreUnavailable

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]
posix_only = pytest.mark.skipif(os.name != "posix", reason="rights and signals of POSIX")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store of some size, as bytes."""
    store = tmp_path_factory.mktemp("template") / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add_many(f"{letter * 9} is remembered, {'word ' * 200}" for letter in "bcdfghjklmnpqrst")
    return store.read_bytes()


def _refused(store: Path, error: type[RecollectError] | tuple[type[RecollectError], ...]) -> RecollectError:
    """Opening fails with this error and a hint, and leaves the file and its folder as they were."""
    before = {path.name: path.read_bytes() for path in store.parent.iterdir() if path.is_file()}
    with pytest.raises(error) as caught:
        Memory(store, space=SPACE)
    assert caught.value.hint
    assert {path.name: path.read_bytes() for path in store.parent.iterdir() if path.is_file()} == before
    return caught.value


# -- what lies at the path ------------------------------------------------------------------------------------------


def test_a_missing_store_is_not_made_when_that_was_not_asked(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        Memory(tmp_path / "memory.db", create=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"Dear diary,\n" * 500, b"\0" * 4096, b"SQLite format 3\0" + b"x" * 84]
)
def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    store = tmp_path / "memory.db"
    store.write_bytes(content)
    _refused(store, StoreForeign)


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    connection = apsw.Connection(str(store))
    connection.execute("create table diary (day, entry); insert into diary values (1, 'rain')")
    connection.close()
    _refused(store, StoreForeign)


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path, template: bytes) -> None:
    store = tmp_path / "memory.db"
    store.write_bytes(template)
    connection = apsw.Connection(str(store))
    connection.pragma("user_version", 999)
    connection.close()
    assert "newer" in _refused(store, StoreForeign).message


def test_a_folder_in_place_of_the_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    _refused(tmp_path / "memory.db", StoreForeign)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("not a folder")
    with pytest.raises(StoreUnavailable):
        Memory(tmp_path / "folder" / "memory.db", space=SPACE)
    assert (tmp_path / "folder").read_text() == "not a folder"


def test_a_store_that_lost_its_tail_is_refused_wherever_it_was_cut(tmp_path: Path, template: bytes) -> None:
    dice = random.Random(1)
    store = tmp_path / "memory.db"
    for length in [1, 16, 99, 100, 512, 4095, 4096, len(template) - 1, len(template) - 4096] + [
        dice.randrange(1, len(template)) for _ in range(SIZES.cut_files)
    ]:
        store.write_bytes(template[:length])
        _refused(store, (StoreForeign, StoreCorrupt))


def _survives(memory: Memory, originals: dict[str, str]) -> None:
    """Each answer is right or an error of ours."""
    for uid, text in originals.items():
        with contextlib.suppress(RecollectError):
            assert memory.get(uid).content == text
        with contextlib.suppress(RecollectError):
            memory.search(text.split()[0], mode="keyword")
    for call in (
        memory.list,
        memory.stats,
        memory.check,
        lambda: memory.add("one more"),
        lambda: list(memory.export()),
    ):
        with contextlib.suppress(RecollectError):
            call()


@pytest.mark.parametrize("where", ["header", "anywhere"])
def test_random_damage_never_gives_a_wrong_text_or_a_foreign_error(tmp_path: Path, template: bytes, where: str) -> None:
    store = tmp_path / "memory.db"
    store.write_bytes(template)
    with Memory(store, space=SPACE) as memory:
        originals = {note.uid: note.content for note in memory.list(limit=100)}
    template = store.read_bytes()
    refused = 0
    for seed in range(SIZES.scratched):
        dice = random.Random(f"{where}{seed}")
        damaged = bytearray(template)
        for _ in range(dice.choice((1, 4, 30))):
            damaged[dice.randrange(100 if where == "header" else len(damaged))] ^= dice.randrange(1, 256)
        store.write_bytes(damaged)
        try:
            with Memory(store, space=SPACE) as memory:
                _survives(memory, originals)
        except (StoreForeign, StoreCorrupt, StoreUnavailable):
            refused += 1
        for path in tmp_path.iterdir():
            path.unlink()
    print(f"{refused} of {SIZES.scratched} damaged stores were refused at open")


def test_a_value_that_damage_turned_into_another_kind_is_told(tmp_path: Path) -> None:
    from recollect.store.relational.chunks import CHUNK_JOINS, CHUNK_SELECT, chunk_of
    from recollect.store.relational.rows import NOTE_FROM, NOTE_SELECT, note_of

    with Memory(tmp_path / "memory.db", space=SPACE) as memory:
        memory.add("a table of oak", tags=["wood"], metadata={"legs": 4})
        (note,) = memory._store._rows(NOTE_SELECT + NOTE_FROM)  # type: ignore[attr-defined]
        (chunk,) = memory._store._rows(f"{CHUNK_SELECT}from chunks c {CHUNK_JOINS}")  # type: ignore[attr-defined]
    assert (note_of(note).tags, chunk_of(chunk).terms.split()[-1]) == (("wood",), "oak")
    for row, reading in ((note, note_of), (chunk, chunk_of)):
        for column in range(len(row)):
            with pytest.raises(StoreCorrupt, match="of the wrong kind"):
                reading((*row[:column], b"oak", *row[column + 1 :]))
    tags = next(column for column, value in enumerate(note) if value == '["wood"]')
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        note_of((*note[:tags], '["woo', *note[tags + 1 :]))


# -- rights ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def street() -> Iterator[Path]:
    """A folder that a user without rights can reach, unlike those of the test run."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o700)
    shutil.rmtree(folder)


def _strangers_answers(action: str, store: Path, *limit: object) -> dict[str, Any]:
    worker = start("faults.stranger", action, store, *limit)
    with ended([worker]):
        said, trouble = worker.communicate(timeout=60)
    assert worker.returncode == 0, trouble
    answers: dict[str, Any] = json.loads(said)
    return answers


def _given_away(folder: Path) -> Path:
    """A store of one note, owned by whoever the stranger is."""
    store = folder / "home" / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add("what is remembered here")
    if os.getuid() == 0:
        for path in (store.parent, store):
            os.chown(path, 65534, 65534)
    return store


@posix_only
@pytest.mark.parametrize(
    ("folder_mode", "file_mode", "expected"),
    [
        (0o700, 0o600, {"open": "ok", "read": "ok", "search": "ok", "get": "ok", "write": "ok"}),
        (0o700, 0o400, {"open": "ok", "read": "ok", "search": "ok", "get": "ok", "write": "StoreReadOnly"}),
        (0o500, 0o400, None),
        (0o500, 0o600, None),
        (0o700, 0o000, None),
        (0o000, 0o600, None),
    ],
)
def test_without_rights_reading_works_or_says_why_not(
    street: Path, folder_mode: int, file_mode: int, expected: dict[str, str] | None
) -> None:
    store = _given_away(street)
    store.chmod(file_mode)
    store.parent.chmod(folder_mode)
    answers = _strangers_answers("use", store)
    print(oct(folder_mode), oct(file_mode), answers)
    if expected is not None:
        assert answers == expected
    else:
        assert answers["open"] != "ok" or answers["write"] in ("StoreReadOnly", "StoreUnavailable")
    store.parent.chmod(0o700)
    store.chmod(0o600)
    with Memory(store, space=SPACE) as memory:
        check_sound(memory, words=0)


@posix_only
def test_a_store_cannot_be_made_where_nothing_may_be_written(street: Path) -> None:
    street.chmod(0o555)
    for store in (street / "memory.db", street / "below" / "memory.db"):
        answers = _strangers_answers("use", store)
        assert answers == {"open": "StoreReadOnly"}, answers
    assert not list(street.iterdir())


@posix_only
def test_everything_is_private_whatever_the_umask(tmp_path: Path) -> None:
    store = tmp_path / "one" / "two" / "memory.db"
    before = os.umask(0)
    try:
        with Memory(store, space=SPACE) as memory:
            memory.add("private words")
            memory.backup(store.with_name("copy.db"))
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("memory.db", "memory.db-wal", "memory.db-shm", "copy.db"), 0o600)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (store.parent, store.parent.parent)] == [0o700, 0o700]


@posix_only
def test_the_second_name_that_a_killed_maker_leaves_is_removed(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    Memory(store, space=SPACE).close()
    os.link(store, tmp_path / ".memory.db.1-00000000.new")
    (tmp_path / ".memory.db.1-00000001.new").write_text("of a maker that is still at work")
    Memory(store, space=SPACE).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".memory.db.1-00000001.new", "memory.db"]


# -- room -----------------------------------------------------------------------------------------------------------


def _check_fill(store: Path, answers: dict[str, Any]) -> None:
    assert answers["acknowledged"] > 2, answers
    assert answers["full"] in ("StoreFull", "StoreUnavailable")
    assert answers["read"] == answers["acknowledged"]
    assert answers["search"] == "ok"
    assert answers["again"] == answers["full"]
    with Memory(store, space=SPACE) as memory:
        assert len(memory.list(limit=1000)) == answers["acknowledged"]
        assert all(finding.ok for finding in memory.check())
        memory.add("there is room again")


@posix_only
def test_a_file_that_may_grow_no_more_stops_writing_and_keeps_everything(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    Memory(store, space=SPACE).close()
    answers = _strangers_answers("fill", store, 1_000_000)
    print(answers)
    _check_fill(store, answers)


class SmallDisk(Disk):
    """A disk of so many bytes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def on_io(self, io: Io) -> None:
        if io.what == "write" and io.path:
            others = sum(path.stat().st_size for path in Path(io.path).parent.iterdir() if str(path) != io.path)
            here = Path(io.path).stat().st_size if Path(io.path).exists() else 0
            if others + max(here, io.offset + len(io.content)) > self.size:
                raise apsw.FullError("no space")


@contextlib.contextmanager
def _small_mount(folder: Path, size: str = "2m") -> Iterator[bool]:
    """A real file system of so much, where the machine lets us make one."""
    folder.mkdir()
    mount = shutil.which("mount") if sys.platform == "linux" and os.getuid() == 0 else None
    done = mount and subprocess.run([mount, "-t", "tmpfs", "-o", f"size={size}", "recollect-test", folder], check=False)
    if not done or done.returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", folder], check=True)


@posix_only
def test_on_a_full_disk_reading_goes_on_and_writing_comes_back_with_the_room(tmp_path: Path) -> None:
    from faults.stranger import fill

    with _small_mount(tmp_path / "small") as mounted:
        store = tmp_path / "small" / "memory.db"
        ballast = tmp_path / "small" / "ballast"
        ballast.write_bytes(b"x" * 800_000)
        if mounted:
            answers = fill(str(store))
        else:
            with in_use(SmallDisk(2_000_000), checkpoint_pages=1000):
                answers = fill(str(store))
        print("tmpfs" if mounted else "a pretended disk", answers)
        assert answers["full"] == "StoreFull"
        ballast.unlink()
        _check_fill(store, answers)


@contextlib.contextmanager
def _full_disk(folder: Path) -> Iterator[tuple[Memory, Path]]:
    """A store of 900 notes that was cleaned up, on a disk without room, and what takes the room."""
    with _small_mount(folder / "small", size="40m") as mounted:
        if not mounted:
            pytest.skip("this machine lets us mount no file system")
        store, stuffing = folder / "small" / "memory.db", folder / "small" / "stuffing"
        with Memory(store, space=SPACE, settings=load_settings(home=folder / "home")) as memory:
            memory.add_many(f"note {number} {'words of it ' * 200}" for number in range(900))
            memory.cleanup()
            assert (folder / "small" / "memory.db-ballast").stat().st_size == 1_000_000
            with contextlib.suppress(OSError), stuffing.open("wb", buffering=0) as stream:
                while stream.write(b"x" * 4096) == 4096:
                    pass
            yield memory, stuffing
            assert all(finding.ok for finding in memory.check())


@posix_only
def test_on_a_full_disk_deleting_still_works_and_makes_room(tmp_path: Path) -> None:
    with _full_disk(tmp_path) as (memory, _):
        with pytest.raises(StoreUnavailable):
            memory.add_many(f"more {number} {'words of it ' * 200}" for number in range(100))
        for note in memory.list(limit=20):
            memory.delete(note)
        assert not (tmp_path / "small" / "memory.db-ballast").exists()
        assert len(memory.list(limit=1000)) == 880
        memory.add("room for a short note again")


@posix_only
def test_on_a_full_disk_a_clean_up_is_done_in_parts_that_are_one_operation(tmp_path: Path) -> None:
    with _full_disk(tmp_path) as (memory, stuffing):
        cleaned = memory.cleanup(max_notes=700)
        assert (cleaned.notes, cleaned.evicted) == (900, 305)
        assert cleaned.freed_bytes > 305 * 2400 and cleaned.disk_bytes > 1_000_000
        assert len(memory.list(limit=1000)) == 595
        memory.add("room for a short note again")
        stuffing.unlink()
        memory.undo(cleaned.operation)
        assert len(memory.list(limit=1000)) == 901


def test_giving_room_back_to_the_disk_needs_little_room_itself(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", auto_backups=0)
    store = tmp_path / "store" / "memory.db"
    with Memory(store, space=SPACE, settings=settings) as memory:
        notes = memory.add_many(f"number {number} {'words of it ' * 250}" for number in range(600))
        memory.erase(notes[:450])
    size = store.stat().st_size
    with (
        in_use(SmallDisk(size + 3_200_000), checkpoint_pages=1000),
        Memory(store, space=SPACE, settings=settings) as memory,
    ):
        assert memory.cleanup().disk_bytes > size // 3
        assert all(finding.ok for finding in memory.check())


# -- time -----------------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back_does_not_change_the_order_of_what_happened(tmp_path: Path) -> None:
    day = 86_400_000
    now = [1_800_000_000_000]
    with Memory(tmp_path / "memory.db", space=SPACE, clock=lambda: now[0]) as memory:
        uids = []
        for number, jump in enumerate((0, -day, -3650 * day, day, 3650 * day, -day)):
            now[0] += jump
            uids.append(memory.add(f"number {number}, after a jump of {jump}").uid)
        assert [event.uid for event in all_events(memory) if event.rev] == uids
        now[0] -= day
        changed = memory.update(uids[-1], content="changed a day before it was written")
        assert changed.updated_ms >= changed.created_ms
        assert [operation[0].uid for operation in memory.operations()][:3] == [uids[-1], uids[-1], uids[-2]]
        (undone,) = memory.undo()
        assert (undone.uid, undone.rev) == (uids[-1], 3)
        now[0] -= day
        (again,) = memory.undo()
        assert (again.uid, again.content) == (uids[-1], "changed a day before it was written")
        assert [revision.rev for revision in memory.history(uids[-1])] == [1, 2, 3]
        assert len(memory.list()) == 6
        assert all(finding.ok for finding in memory.check())


# -- Ctrl-C ---------------------------------------------------------------------------------------------------------


@posix_only
@pytest.mark.parametrize("verb", ["add_many", "import"])
def test_an_interrupt_leaves_the_store_sound_and_the_memory_usable(tmp_path: Path, verb: str) -> None:
    dice = random.Random(verb)
    for number in range(SIZES.interrupts):
        store, journal = tmp_path / f"{number}" / "memory.db", tmp_path / f"journal-{number}"
        worker = start("faults.interrupted", store, journal, verb)
        with ended([worker]):
            wait_ready([worker])
            wait_until(lambda path=journal: path.stat().st_size > 0, "the work to begin")  # type: ignore[misc]
            time.sleep(dice.uniform(0.0, 0.4))
            worker.send_signal(signal.SIGINT)
            said, trouble = worker.communicate(timeout=60)
        assert said == "acknowledged\n", trouble
        _judge_interrupted(store, journal, verb)


def _judge_interrupted(store: Path, journal: Path, verb: str) -> None:
    done, under_way = read_journal(journal)
    world: Any = {}
    for step in done:
        world = after(world, step)
    with Memory(store, space=SPACE) as memory:
        seen = {uid: one for uid, one in seen_in(memory).items() if one[2].endswith("one of many")}
        assert len(seen_in(memory)) == len(seen) + 2
        allowed = [world] if under_way is None else list(outcomes(world, under_way))
        if verb == "add_many" and under_way is not None:
            allowed = [world, after(world, under_way)]
        if not any(shown(one) == seen for one in allowed):
            raise AssertionError(difference(shown(world), seen))
        check_sound(memory, words=20)


# -- what must not be in the bytes ----------------------------------------------------------------------------------

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def _bytes_of(folder: Path) -> bytes:
    """Everything in the folder, read by another process: closing the files here would drop SQLite's locks."""
    script = "import pathlib,sys;[sys.stdout.buffer.write(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).iterdir()]"
    return subprocess.run([sys.executable, "-c", script, folder], check=True, capture_output=True).stdout


def test_a_secret_is_in_no_byte_of_the_store(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", space=SPACE) as memory:
        note = memory.add(
            f"the token is {SECRET} for now", title=f"about {SECRET}", tags=[SECRET], context=SECRET, source=SECRET,
            metadata={"token": SECRET, SECRET: [SECRET]},
        )  # fmt: skip
        memory.update(note, content=f"now the token is {SECRET}, again")
        memory.search(f"token {SECRET}", mode="keyword")
        session = memory.start_session(SECRET, title=SECRET)
        memory.end_session(session, summary=SECRET)
        memory.import_notes([{"content": f"imported {SECRET}"}])
        held = _bytes_of(tmp_path)
        assert b"the token is" in held
        for form in (SECRET, SECRET.lower(), SECRET[4:], SECRET[4:].lower()):
            assert form.encode() not in held
    assert SECRET.encode() not in _bytes_of(tmp_path)


def _erase_what(memory: Memory) -> dict[str, Any]:
    note = memory.add("Quokkaberry is a word; so is the tag", tags=["wombatleaf"], metadata={"key": "numbatseed"})
    memory.add("something that stays, among others")
    memory.update(note, content="Bilbyroot took its place")
    memory.delete(note)
    memory.restore(note)
    return dict(memory.erase([note]))


WORDS = (b"quokkaberr", b"wombatleaf", b"numbatseed", b"bilbyroot")


def test_an_erased_word_is_in_no_byte_of_the_store(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", space=SPACE) as memory:
        memory.add_many(f"{number} other notes, so that pages are shared" for number in range(200))
        done = _erase_what(memory)
        assert not done["pending"]
        held = _bytes_of(tmp_path).lower()
        assert b"something that stays" in held
        assert [word for word in WORDS if word in held] == []


def test_an_erasure_says_that_it_is_pending_while_a_reader_holds_old_pages(tmp_path: Path) -> None:
    settings = load_settings(busy_timeout_seconds=0.5)
    with Memory(tmp_path / "memory.db", space=SPACE, settings=settings) as memory:
        memory.add("so that there is something to read")
        with Memory(tmp_path / "memory.db", space=SPACE) as reader:
            with reader._store.snapshot():
                reader.list()
                assert _erase_what(memory)["pending"]
                assert any(word in _bytes_of(tmp_path).lower() for word in WORDS)
            assert not memory.erase([memory.add("another word")])["pending"]
        held = _bytes_of(tmp_path).lower()
        assert [word for word in WORDS if word in held] == []


# -- where the file lies --------------------------------------------------------------------------------------------

MOUNTS = """\
/dev/vda / ext4 rw 0 0
server:/home /mnt/home nfs4 rw 0 0
//nas/share /mnt/my\\040share cifs rw 0 0
/dev/vdb /mnt/home/local ext4 rw 0 0
drvfs /mnt/c 9p rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/home/ana", ""), ("/mnt/home", "nfs4"), ("/mnt/home/ana", "nfs4"), ("/mnt/homeless", ""), ("/mnt/c/x", "9p"),
     ("/mnt/my share/x", "cifs"), ("/mnt/home/local/x", "ext4")],
)  # fmt: skip
def test_the_innermost_mount_says_what_a_folder_is_on(folder: str, kind: str) -> None:
    from recollect.store.sqlite.places import file_system

    assert file_system(folder, MOUNTS) == kind


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are listed in /proc")
def test_a_store_on_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.store.sqlite import places

    Memory(tmp_path / "memory.db", space=SPACE).close()
    table = tmp_path / "mounts"
    table.write_text(f"{MOUNTS}server:/x {tmp_path} nfs rw 0 0\n")
    monkeypatch.setattr(places, "MOUNTS", str(table))
    for name in ("memory.db", "new.db"):
        with pytest.raises(StoreUnavailable, match="network file system") as caught:
            Memory(tmp_path / name, space=SPACE)
        assert "PostgreSQL" in caught.value.hint
    assert not (tmp_path / "new.db").exists()


@posix_only
@pytest.mark.parametrize("how", ["replaced", "removed"])
def test_a_file_that_was_replaced_under_us_is_noticed(tmp_path: Path, template: bytes, how: str) -> None:
    store = tmp_path / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add("in the first file")
        store.unlink()
        if how == "replaced":
            store.write_bytes(template)
            store.chmod(0o600)
        with pytest.raises(StoreUnavailable, match="replaced or removed"):
            memory.add("would be lost")
        with pytest.raises(StoreUnavailable, match="replaced or removed"):
            memory.cleanup()
