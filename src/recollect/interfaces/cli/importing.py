"""`recollect import`."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.cli import screen, words
from recollect.interfaces.cli.door import Door, command
from recollect.interfaces.cli.formats import Rows

if TYPE_CHECKING:
    from recollect.memory import Memory

SHOWN = 10  # reasons on a terminal; JSON has all of them


@command(
    "import",
    "recollect import notes.jsonl",
    "recollect import notes.jsonl --dry-run",
    "ssh laptop recollect export | recollect import -",
)
@click.argument("file", required=False)
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
def import_command(door: Door, file: str | None, dry_run: bool) -> None:
    """Take in notes that export wrote.

    FILE is JSON Lines or JSON; - reads standard input. A note is known by its uid, so importing twice changes nothing.
    What cannot be read is skipped, with the reason.
    """
    rows = Rows(_text(file))
    if not len(rows):
        raise InvalidInput("there is nothing to import", hint="`recollect export --output notes.jsonl` makes a file")
    with ExitStack() as stack:
        memory = stack.enter_context(_tried(door, stack) if dry_run else door.memory(create=True))
        advance = stack.enter_context(screen.progress("importing", len(rows)))
        done = memory.import_notes(rows, progress=advance, dry_run=dry_run)
    skipped = [{"row": row, "reason": rows.troubles.get(row, reason)} for row, reason in done.skipped]
    value: dict[str, Any] = {
        "imported": done.new, "updated": done.updated, "restored": done.restored, "unchanged": done.unchanged,
        "skipped": skipped, "dry_run": dry_run, "operation": None if dry_run else done.operation,
    }  # fmt: skip
    door.answer(value, lambda: _show(value))


def _tried(door: Door, stack: ExitStack) -> "Memory":
    """The store as it is; where there is none yet, an empty one that is thrown away: a dry run makes nothing."""
    try:
        return door.memory()
    except NotFound:
        folder = stack.enter_context(TemporaryDirectory(prefix="recollect-"))
        return door._replace(store=str(Path(folder) / "memory.db")).memory(create=True)


def _text(file: str | None) -> str:
    if file is None or file == "-":
        found = words.given_text(() if file is None else ("-",))
        if found is None:
            raise InvalidInput("there is no file to import", hint="recollect import notes.jsonl, or pipe one in")
        return found
    try:
        content = Path(file).read_bytes()
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or trouble
        raise InvalidInput(f"cannot read {file}: {reason}", hint="check the path") from trouble
    return words.decoded(content, file)


def _show(value: dict[str, Any]) -> None:
    lead = "would import" if value["dry_run"] else "imported"
    screen.say(
        f"{lead} {screen.plural(value['imported'], 'note')}; updated {value['updated']}, restored {value['restored']}, "
        f"unchanged {value['unchanged']}, skipped {len(value['skipped'])}"
    )
    for row in value["skipped"][:SHOWN]:
        screen.say(f"  row {row['row']}: {row['reason']}")
    if len(value["skipped"]) > SHOWN:
        screen.say(f"  and {len(value['skipped']) - SHOWN} more; --json lists all")
