"""`recollect promote`, `demote` and `mature`: notes between tiers, by hand and by rule."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command
from recollect.types import Note

if TYPE_CHECKING:
    from recollect.tiers import Matured

_ids = click.argument("ids", nargs=-1, required=True, metavar="ID...")


@command("promote", "recollect promote 17", "recollect promote 17 18")
@_ids
def promote_command(door: Door, ids: tuple[str, ...]) -> None:
    """Raise notes by a tier.

    What is on the scratchpad becomes a note, a note becomes knowledge. Undo takes it back.
    """
    _each(door, ids, lambda memory, ref: memory.promote(ref))


@command("demote", "recollect demote 17")
@_ids
def demote_command(door: Door, ids: tuple[str, ...]) -> None:
    """Lower notes by a tier, from knowledge to a note."""
    _each(door, ids, lambda memory, ref: memory.demote(ref))


def _each(door: Door, ids: tuple[str, ...], act: Callable[[Any, str], Note]) -> None:
    with door.memory() as memory:
        notes = [act(memory, ref) for ref in ids]
    rows = [answers.brief_json(note) | {"tier": note.tier, "rev": note.rev} for note in notes]

    def show() -> None:
        for note in notes:
            screen.say(f"#{note.id}: {screen.one_line(note.title)} is {note.tier} now")

    door.answer(rows[0] if len(rows) == 1 else {"notes": rows}, show)


@command("mature", "recollect mature --dry-run", "recollect mature")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
def mature_command(door: Door, dry_run: bool) -> None:
    """Move notes between tiers by rule.

    What was read at least twice and is well retained becomes knowledge; knowledge that is doubted or superseded becomes
    a note again. Long-lived processes do this by themselves.
    """
    with door.memory() as memory:
        done = memory.mature(dry_run=dry_run)
    door.answer(answers.plain(done), lambda: _show(done))


def _show(done: "Matured") -> None:
    if not done.moved:
        return screen.say("nothing to move")
    for move in done.moved:
        word = "promote" if move.to == "semantic" else "demote"
        said = f"would {word}" if done.dry_run else f"{word}d"
        screen.say(f"{said} #{move.id}: {screen.one_line(move.title)} ({move.why})")
    if done.operation:
        screen.say(f"to take it back: recollect undo {done.operation}")
    return None
