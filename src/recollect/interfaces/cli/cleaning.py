"""`recollect cleanup`."""

from typing import TYPE_CHECKING

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.upkeep.cleanup import Cleaned

_AGED = {
    "expired": ("hide", "hid", "note whose time has passed"),
    "purged": ("remove", "removed", "note hidden for longer than the grace"),
    "promoted": ("promote", "promoted", "note to knowledge"),
    "demoted": ("demote", "demoted", "note from knowledge"),
    "revisions": ("remove", "removed", "old version"),
    "events": ("remove", "removed", "old event"),
    "accesses": ("remove", "removed", "logged use"),
    "cache": ("remove", "removed", "cached embedding"),
    "pairs": ("remove", "removed", "doubtful or unused tool pair"),
}


@command("cleanup", "recollect cleanup", "recollect cleanup --dry-run", "recollect cleanup --max-notes 50000 --force")
@click.option("--max-notes", type=int, metavar="N", help="Most live notes; the setting by default.")
@click.option("--max-bytes", type=int, metavar="N", help="Most bytes of live notes; the setting by default.")
@click.option("--force", is_flag=True, help="Evict down to 85 % although no bound was passed.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def cleanup_command(door: Door, max_notes: int | None, max_bytes: int | None, force: bool, dry_run: bool) -> None:
    """Bring the store back within its bounds.

    Over a bound, the least recently accessed notes are evicted until 85 % are left. Decisions, pinned notes and those
    of an active session stay. Undo takes it back.
    """
    with door.memory() as memory:
        done = memory.cleanup(max_notes=max_notes, max_bytes=max_bytes, force=force, dry_run=dry_run)
        settings = memory.settings
    bounds = (max_notes or settings.max_notes, max_bytes or settings.max_bytes)
    door.answer(answers.plain(done) | {"max_notes": bounds[0], "max_bytes": bounds[1]}, lambda: _show(done, bounds))


def _show(done: "Cleaned", bounds: tuple[int, int]) -> None:
    notes = screen.plural(done.evicted, "note")
    if done.dry_run:
        within = f"; {_state(done, bounds)}" if not done.evicted else ""
        screen.say(f"would evict {notes} ({screen.size(done.freed_bytes)}){within}")
    elif done.evicted:
        screen.say(f"evicted {notes}, freed {screen.size(done.freed_bytes)}")
    else:
        screen.say(f"evicted nothing, freed 0 bytes; {_state(done, bounds)}")
    for name, (would, did, what) in _AGED.items():
        count = getattr(done, name)
        if count:
            screen.say(f"{f'would {would}' if done.dry_run else did} {_many(count, what)}")
    if done.operation:
        screen.say(f"to take it back: recollect undo {done.operation}")


def _state(done: "Cleaned", bounds: tuple[int, int]) -> str:
    return (
        f"{screen.plural(done.notes, 'note')} with {screen.size(done.bytes)} are within {bounds[0]} notes "
        f"and {screen.size(bounds[1])}"
    )


def _many(count: int, what: str) -> str:
    """`3 notes hidden for longer…`: the plural goes to the first noun."""
    noun, _, rest = what.partition(" ") if what.startswith("note ") else (what, "", "")
    return f"{screen.plural(count, noun)} {rest}".rstrip()
