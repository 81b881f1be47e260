"""Commands that change notes: update, delete, restore, undo, pin, unpin, link, unlink."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command
from recollect.interfaces.cli.fields import note_fields, note_options
from recollect.interfaces.cli.words import given_text
from recollect.types import Note

_ids = click.argument("ids", nargs=-1, required=True, metavar="ID...")


@command(
    "update",
    'recollect update 17 "We chose PostgreSQL 18 for billing"',
    "recollect update 17 --kind decision --tag billing,database",
    "recollect update 17 - --expect-rev 3 < note.txt",
)
@click.argument("ref", metavar="ID")
@click.argument("text", nargs=-1)
@note_options
@click.option("--expect-rev", type=int, metavar="N", help="Only if the note is still at this revision.")
def update_command(door: Door, ref: str, text: tuple[str, ...], expect_rev: int | None, **given: Any) -> None:
    """Change a note; the old text stays in its history.

    TEXT replaces the text; - reads it from standard input. Options replace what they name: --tag replaces all tags.
    """
    fields = note_fields(given)
    # Scripts run with some standard input always: it is the new text only when nothing else is to be changed.
    content = given_text(text, read_when_absent=not fields)
    if content is not None:
        fields["content"] = content
    with door.memory() as memory:
        note = memory.update(ref, expected_rev=expect_rev, allow_secrets=given["allow_secrets"], **fields)
    _answer(door, "updated", [note])


@command("delete", "recollect delete 17", "recollect delete 17 18 19")
@_ids
def delete_command(door: Door, ids: tuple[str, ...]) -> None:
    """Hide notes; restore or undo brings them back."""
    _all(door, "deleted", ids, lambda memory, refs: memory.delete_many(refs))


@command("restore", "recollect restore 17")
@_ids
def restore_command(door: Door, ids: tuple[str, ...]) -> None:
    """Bring deleted notes back."""
    _all(door, "restored", ids, lambda memory, refs: memory.restore_many(refs))


@command("pin", "recollect pin 17")
@_ids
def pin_command(door: Door, ids: tuple[str, ...]) -> None:
    """Keep notes from being evicted."""
    _all(door, "pinned", ids, lambda memory, refs: memory.pin_many(refs))


@command("unpin", "recollect unpin 17")
@_ids
def unpin_command(door: Door, ids: tuple[str, ...]) -> None:
    """Take the pin off notes."""
    _all(door, "unpinned", ids, lambda memory, refs: memory.pin_many(refs, False))


@command("link", "recollect link 17 18", "recollect link 17 18 --kind replaces")
@click.argument("ref", metavar="ID")
@click.argument("to", metavar="TO")
@click.option("--kind", default="related", show_default=True, metavar="KIND", help="What the link means.")
def link_command(door: Door, ref: str, to: str, kind: str) -> None:
    """Link a note to another."""
    with door.memory() as memory:
        note = memory.link(ref, to, kind)
    _answer(door, "linked", [note])


@command("unlink", "recollect unlink 17 18")
@click.argument("ref", metavar="ID")
@click.argument("to", metavar="TO")
def unlink_command(door: Door, ref: str, to: str) -> None:
    """Remove the links from a note to another."""
    with door.memory() as memory:
        note = memory.unlink(ref, to)
    _answer(door, "unlinked", [note])


@command("undo", "recollect undo", "recollect log", "recollect undo 0198c9a2-7d1e-7001-8f00-5d0f6a3c2b11")
@click.argument("operation", required=False)
def undo_command(door: Door, operation: str | None) -> None:
    """Take an operation back, by default the newest.

    It works while every note that the operation touched is as the operation left it. An undo can be undone.
    """
    with door.memory() as memory:
        notes = memory.undo(operation)

    def show() -> None:
        screen.say(f"undone; {screen.plural(len(notes), 'note')} as before")
        for note in notes:
            screen.say(f"#{note.id} is {note.state}: {screen.one_line(note.title)}")

    door.answer({"notes": [answers.brief_json(note) | {"rev": note.rev} for note in notes]}, show)


def _all(door: Door, verb: str, ids: Sequence[str], act: Callable[[Any, Sequence[str]], Sequence[Note]]) -> None:
    """In one operation: all of them or none, and one undo takes it back."""
    with door.memory() as memory:
        notes = act(memory, ids)
    _answer(door, verb, notes)


def _answer(door: Door, verb: str, notes: Sequence[Note]) -> None:
    """One note is an object, several are a list of them."""
    rows = [answers.brief_json(note) | {"rev": note.rev} for note in notes]

    def show() -> None:
        for note in notes:
            screen.say(f"{verb} #{note.id}: {screen.one_line(note.title)}")

    door.answer(rows[0] if len(rows) == 1 else {"notes": rows}, show)
