"""`recollect demo`: the main job on a store of its own, in a folder that is gone afterwards.

It is a promise that is kept or broken: whatever it says is found must be found, else it exits with 1.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.types import Hit

NOTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("We chose PostgreSQL for billing because invoices need real transactions.", {"tags": ["billing"]}),
    ("Fixed the crash in the importer: empty lines are skipped now.", {"tags": ["importer"]}),
    ("Ana prefers short answers with the command to type.", {"kind": "preference"}),
    ("The nightly export runs at 02:00 UTC on the small server.", {"tags": ["operations"]}),
    ("Customers are charged on the first day of every month.", {"tags": ["billing"]}),
    ("Learned that the mobile app caches avatars for a week.", {"kind": "discovery"}),
    ("Release 2.4 renamed getUserById to findUser in the public API.", {"tags": ["api"], "importance": 8}),
    ("Deploy with `make ship`; it waits until every health check is green.", {"tags": ["operations"]}),
)
ELSEWHERE = "The staging password lives in the team vault, entry staging-db."


class Question(NamedTuple):
    query: str
    wanted: str  # how the note that must be found begins
    by_meaning: bool = False


QUESTIONS = (
    Question("billing database", "We chose PostgreSQL"),
    Question("getUserById", "Release 2.4"),
    Question("team vault staging", "The staging password"),
    Question("when do clients pay their subscription fee", "Customers are charged", by_meaning=True),
)


@command("demo", "recollect demo", "recollect demo --json")
def demo_command(door: Door) -> int:
    """See recollect at work on a store of its own."""
    say = screen.remark if door.as_json else screen.say
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="recollect-demo-", ignore_cleanup_errors=True))
        quiet = door._replace(store=str(Path(folder) / "memory.db"), space="user")
        say(f"A store of its own: {quiet.store}\n")
        added = _add_elsewhere(quiet)
        say(f"An earlier process (now ended) remembered:\n  #{added} {ELSEWHERE}\n")
        memory = stack.enter_context(quiet.memory(create=True))
        found, missing = _play(memory, say)
    for row in found:
        row["written_by"] = "an earlier process" if row["id"] == added else "this process"
    if all(row["id"] != added for row in found):
        missing.append("what the earlier process wrote")
    value = {"found": found, "missing": missing}
    door.answer(value, lambda: _show(found, missing))
    return answers.EXIT_UNEXPECTED if missing else answers.EXIT_OK


def _play(memory: "Memory", say: Any) -> tuple[list[dict[str, Any]], list[str]]:
    say(f"This process remembers {len(NOTES)} notes:")
    for text, fields in NOTES:
        added = memory.add(text, **fields)
        say(f"  #{added.id} {added.kind}: {text}")
    found, missing = _ask(memory, say)
    return found, missing + _change_and_undo(memory, say)


def _add_elsewhere(door: Door) -> int:
    """In a process of its own, which is gone before we go on."""
    import json

    start = [sys.executable, "-m", "recollect", "add", "--store", str(door.store), "--space", "user", "--json", "--"]
    run = subprocess.run([*start, ELSEWHERE], stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    answer = json.loads(run.stdout or b"{}")
    if run.returncode != 0:
        raise RuntimeError(f"the second process failed: {answer.get('error', run.stderr.decode(errors='replace'))}")
    number: int = answer["id"]
    return number


def _ask(memory: "Memory", say: Any) -> tuple[list[dict[str, Any]], list[str]]:
    found, missing = [], []
    for question in QUESTIONS:
        answer = memory.search(question.query, limit=3)
        hit = next((hit for hit in answer.hits if hit.title.startswith(question.wanted)), None)
        say(f"\n? {question.query}   [{answer.mode}]")
        _tell(answer.hits, say)
        if hit is not None:
            found.append({"query": question.query, **answers.hit_json(hit)})
        elif question.by_meaning and answer.mode == "keyword":
            say("  (shares no word with the note: needs search by meaning, which is not available here)")
            for notice in answer.notices:
                say(f"  ({notice})")
        else:
            missing.append(question.query)
    return found, missing


def _tell(hits: "Sequence[Hit]", say: Any) -> None:
    for hit in hits:
        say(f"  {hit.score:.2f}  #{hit.id} {hit.title}")


def _change_and_undo(memory: "Memory", say: Any) -> list[str]:
    """An update, and the way back."""
    note = memory.list(limit=1, tags=["api"])[0]
    changed = memory.update(note.id, content="Release 2.4 renamed getUserById to fetchUser in the public API.")
    say(f"\nUpdated #{note.id}, now at revision {changed.rev}: {changed.content}")
    memory.undo()
    back = memory.get(note.id)
    say(f"Undone: {back.content}")
    return [] if back.content == note.content else ["undo"]


def _show(found: list[dict[str, Any]], missing: list[str]) -> None:
    screen.say("\nWhat was asked and what was found:")
    screen.table(
        ("score", "asked", "found", "found by", "written by"),
        [
            (f"{row['score']:.2f}", row["query"], row["title"], ", ".join(row["matched_by"]), row["written_by"])
            for row in found
        ],
    )
    for query in missing:
        screen.say(f"NOT FOUND: {query}")
    screen.say(
        "\nNow your own:\n"
        '  recollect add "something worth remembering"\n'
        '  recollect search "worth remembering"\n'
        "  recollect --help"
    )
