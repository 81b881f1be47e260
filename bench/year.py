"""A year of use on a clock of its own: 200 notes and 2,000 accesses a day, cleaned up every day.

    python bench/year.py [--days 365] [--max-notes 20000] [--out file.json]

Prints the store once a month: live notes, hidden ones, versions, events, accesses, and the file's size. A store that is
bounded stops growing once its periods have passed; the last line compares the end with the middle of the year.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from recollect import Memory
from recollect.config import load_settings
from recollect.policies import DAY_MS
from recollect.store import Use

START = 1_800_000_000_000
NOTES, CHANGES, ACCESSES = 200, 20, 2000
WORDS = [f"{a}{b}" for a in ("tea", "toast", "billing", "deploy", "garden", "invoice") for b in range(200)]


def day(memory: Memory, number: int, dice: random.Random, recent: list[int]) -> None:
    """A day's work: notes, a few changes and expiries, and reading, mostly of what is new."""
    at = memory._clock()
    drafts = [" ".join(dice.choices(WORDS, k=30)) + f" {number}-{one}" for one in range(NOTES)]
    added = memory.add_many(drafts)
    recent.extend(note.id for note in added)
    del recent[: -50 * NOTES]
    for note in dice.sample(list(added), CHANGES):
        memory.update(note, content=f"{note.content}, changed")
    memory.add(f"only for today {number}", expires_ms=at + DAY_MS // 2)
    memory._store.record_use([Use(dice.choice(recent), "get", at) for _ in range(ACCESSES)])


def numbers(memory: Memory) -> dict[str, Any]:
    store = memory._store
    stats = store.stats([space.id for space in store.spaces()])
    rows = store._rows  # type: ignore[attr-defined]
    return {
        "live": stats["notes"], "hidden": sum(stats["states"].values()) - stats["notes"], "events": stats["events"],
        "versions": rows("select count(*) from revisions")[0][0],
        "log of use": rows("select count(*) from accesses")[0][0], "megabytes": round(stats["file_bytes"] / 1e6, 1),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--max-notes", type=int, default=20_000)
    parser.add_argument("--history-days", type=int, default=90)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    now, dice, recent, months = [START], random.Random(1), list[int](), []
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(
            home=Path(folder), store=f"{folder}/memory.db", space="user", embedder="none", durability="normal",
            max_notes=given.max_notes, history_days=given.history_days, auto_backups=0,
        )  # fmt: skip
        with Memory(settings=settings, clock=lambda: now[0]) as memory:
            cleaning = 0.0
            for number in range(1, given.days + 1):
                now[0] += DAY_MS
                day(memory, number, dice, recent)
                began = time.perf_counter()
                memory.cleanup()
                cleaning += time.perf_counter() - began
                if number % 30 == 0 or number == given.days:
                    months.append({"day": number, **numbers(memory)})
                    print(months[-1], flush=True)
            sound = all(finding.ok for finding in memory.check())
    middle = min(months, key=lambda one: abs(one["day"] - given.days / 2))
    growth = months[-1]["megabytes"] / middle["megabytes"]
    print(
        f"sound: {sound}; the file at the end is {growth:.2f} of the middle; {cleaning / given.days:.2f} s a clean-up"
    )
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(json.dumps({"months": months, "sound": sound, "growth": growth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
