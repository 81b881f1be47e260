"""A store that is killed while it is brought up to date is old or new, and nothing of it is lost."""

import gzip
import math
import random
import shutil
from pathlib import Path

import apsw
import pytest

from faults import SIZES
from faults.model import SPACE
from faults.processes import Patience, Victim, killed
from faults.upgrader import NEWEST, STEPS, upgrade
from recollect import Memory
from recollect.store import SCHEMA_VERSION
from recollect.store.sqlite.migrations import migrate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]
RELEASED = sorted((Path(__file__).parent / "fixtures" / "stores").glob("schema-*.db.gz"))
STARTS = ("newest", *(path.name for path in RELEASED))
NOTES = 3000


@pytest.fixture(params=STARTS)
def template(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of every schema that was released, and one of the newest with more in it."""
    store = tmp_path_factory.mktemp("template") / "memory.db"
    if request.param != "newest":
        store.write_bytes(gzip.decompress(next(path for path in RELEASED if path.name == request.param).read_bytes()))
        return store
    with Memory(store, space=SPACE) as memory:
        memory.add_many(f"note {number} says {'a word ' * (number % 40)}" for number in range(NOTES))
    return store


def test_a_killed_upgrade_leaves_the_old_store_or_the_new_one(template: Path, tmp_path: Path) -> None:
    patience = Patience(0.03, random.Random(3))
    dice = random.Random(4)
    sides: set[str] = set()
    version, before = _version(template), _exported(_copied(template, tmp_path / "first.db"))

    def judge(store: Path) -> str:
        found = _judge(store, version, len(before))
        sides.add(found)
        if dice.random() < 0.05:  # as the rest of it is looked at in other suites
            assert _exported(store) == before
        return found

    outcomes = killed(
        template, tmp_path, lambda store: Victim(upgrade, str(store)), judge, patience,
        kills=math.ceil(SIZES.upgrade_kills / len(STARTS)), whole="new",
    )  # fmt: skip
    print(f"killed while upgrading from schema {version}: {dict(outcomes)}")
    assert sides == {"old", "new"}


def _copied(template: Path, store: Path) -> Path:
    shutil.copy(template, store)
    store.chmod(0o600)
    return store


def _version(store: Path) -> int:
    connection = apsw.Connection(str(store))
    version: int = connection.pragma("user_version")
    connection.close()
    return version


def _judge(store: Path, version: int, notes: int) -> str:
    """Old or new and whole; an old one is brought up to date by the next to try. Ends as the newest real schema."""
    connection = apsw.Connection(str(store))
    columns = {row[1] for row in connection.execute("pragma table_info(notes)")}
    names = {row[0] for row in connection.execute("select name from sqlite_schema")}
    found = (connection.pragma("user_version"), "colour" in columns, "words" in names)
    assert found in ((version, False, False), (NEWEST, True, True))
    migrate(connection, store, STEPS, NEWEST)
    even = connection.execute("select count(*) from notes where id % 2 = 0").fetchall()[0][0]
    assert connection.execute("select count(*), count(colour) from notes").fetchall() == [(notes, even)]
    assert connection.execute("select count(*) from words").fetchall() == [(notes,)]
    assert connection.pragma("quick_check") == "ok"
    connection.execute("alter table notes drop column colour; drop table words")
    connection.pragma("user_version", SCHEMA_VERSION)
    connection.close()
    return "old" if found[0] == version else "new"


def _exported(store: Path) -> list[dict[str, object]]:
    with Memory(store, space="all") as memory:
        assert all(finding.ok for finding in memory.check())
        assert memory.verify().ok
        return list(memory.export(states=["live", "superseded", "expired", "evicted", "deleted"]))
