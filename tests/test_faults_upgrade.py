"""A store that is killed while it is brought up to date is old or new, and nothing of it is lost."""

import itertools
import random
import shutil
from collections import Counter
from pathlib import Path

import apsw
import pytest

from faults import SIZES
from faults.model import SPACE
from faults.processes import Patience, Victim, ended
from faults.upgrader import NEWEST, STEPS, upgrade
from recollect import Memory
from recollect.store import SCHEMA_VERSION
from recollect.store.sqlite.migrations import migrate

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SIZES.timeout)]
AT_ONCE = 4
NOTES = 3000


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("template") / "memory.db"
    with Memory(store, space=SPACE) as memory:
        memory.add_many(f"note {number} says {'a word ' * (number % 40)}" for number in range(NOTES))
    return store


def test_a_killed_upgrade_leaves_the_old_store_or_the_new_one(template: Path, tmp_path: Path) -> None:
    patience = Patience(0.03, random.Random(3))
    outcomes: Counter[str] = Counter()
    with Memory(template, space=SPACE) as memory:
        before = list(memory.export())
    for number in itertools.count():
        stores = [tmp_path / f"{number}-{one}.db" for one in range(AT_ONCE)]
        for store in stores:
            shutil.copy(template, store)
            store.chmod(0o600)
        victims = [Victim(upgrade, str(store)) for store in stores]
        with ended(victims):
            assert [victim.hear() for victim in victims] == ["ready"] * AT_ONCE
            for victim in victims:
                victim.tell("go")
                patience.wait()
                victim.kill()
            said = [list(iter(victim.hear, None)) for victim in victims]
        for store, words in zip(stores, said, strict=True):
            found = _judge(store, before)
            assert found == "new" or "done" not in words
            outcomes[found if words == ["begun"] else "not at work"] += 1
            patience.learn(found == "new")
            for path in tmp_path.glob(f"{store.name}*"):
                path.unlink()
        if outcomes["old"] + outcomes["new"] >= SIZES.upgrade_kills:
            break
    print(f"killed while upgrading: {dict(outcomes)}")
    assert min(outcomes["old"], outcomes["new"]) > SIZES.upgrade_kills // 50


def _judge(store: Path, before: list[dict[str, object]]) -> str:
    """Old or new and whole; an old one is brought up to date by the next to try."""
    connection = apsw.Connection(str(store))
    version = connection.pragma("user_version")
    columns = {row[1] for row in connection.execute("pragma table_info(notes)")}
    tables = {row[0] for row in connection.execute("select name from sqlite_schema")}
    assert (version, "colour" in columns, "words" in tables) in ((SCHEMA_VERSION, False, False), (NEWEST, True, True))
    migrate(connection, store, STEPS, NEWEST)
    assert connection.execute("select count(*), count(colour) from notes").fetchall() == [(NOTES, NOTES // 2)]
    assert connection.execute("select count(*) from words").fetchall() == [(NOTES,)]
    assert connection.pragma("quick_check") == "ok"
    connection.execute("alter table notes drop column colour; drop table words")
    connection.pragma("user_version", SCHEMA_VERSION)
    connection.close()
    if random.random() < 0.05:  # as the rest of it is looked at in other suites
        with Memory(store, space=SPACE) as memory:
            assert list(memory.export()) == before
            assert all(finding.ok for finding in memory.check())
    return "old" if version == SCHEMA_VERSION else "new"
