"""Commands about belief: supersede, reinforce, contradict, contradictions, duplicates, consolidate."""

from collections.abc import Sequence
from typing import Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command
from recollect.interfaces.cli.words import given_text
from recollect.types import Note

_times = click.option("--times", type=int, default=1, show_default=True, metavar="N", help="How much evidence.")
_limit = click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Most to show.")


@command(
    "supersede",
    "recollect supersede 17 42",
    'recollect supersede 17 "Ana works at Globex" --at 2026-03-01',
)
@click.argument("old", metavar="OLD")
@click.argument("new", nargs=-1, required=True, metavar="NEW")
@click.option("--text", is_flag=True, help="NEW is a text, even if it reads as an id.")
@click.option("--at", metavar="WHEN", help="Since when the new one is true; by default since it was made.")
def supersede_command(door: Door, old: str, new: tuple[str, ...], text: bool, at: str | None) -> None:
    """Let a note or a new text take the place of a note.

    The old note stays, hidden; `recollect search --as-of` finds it. NEW is a note's id, or the text that is true now,
    which takes kind, tags and links of the old one; - reads it from standard input.
    """
    said = given_text(new)
    if said is None:
        raise InvalidInput("there is no text", hint="give a note's id, or the text that is true now")
    with door.memory() as memory:
        done = memory.beliefs.supersede(old, said, as_text=text, at=at)
    value = {"old": _row(done.old), "new": _row(done.new), "operation": done.operation, "notice": done.notice}

    def show() -> None:
        screen.say(f"#{done.new.id} supersedes #{done.old.id}: {screen.one_line(done.new.title)}")
        if done.notice:
            screen.remark(done.notice)

    door.answer(value, show)


def _row(note: Note) -> dict[str, Any]:
    times = {"valid_from_at": answers.iso(note.valid_from_ms), "valid_to_at": answers.iso(note.valid_to_ms)}
    return answers.brief_json(note) | {"rev": note.rev, "confidence": note.confidence, **times}


@command("reinforce", "recollect reinforce 17", "recollect reinforce 17 --times 3")
@click.argument("ref", metavar="ID")
@_times
def reinforce_command(door: Door, ref: str, times: int) -> None:
    """Say that something was confirmed.

    Confidence rises by 0.1 for each piece of evidence, by at most half of what is missing.
    """
    with door.memory() as memory:
        note = memory.beliefs.reinforce(ref, times)
    door.answer(_row(note), lambda: screen.say(f"#{note.id} has a confidence of {note.confidence:g}"))


@command("contradict", "recollect contradict 17", "recollect contradict 17 --by 42")
@click.argument("ref", metavar="ID")
@_times
@click.option("--by", metavar="ID", help="The note that speaks against it; the two are linked.")
def contradict_command(door: Door, ref: str, times: int, by: str | None) -> None:
    """Say that something speaks against a note.

    Confidence falls by 0.1 for each piece of evidence; below 0.3 it is no longer semantic. It stays; to put another in
    its place use `recollect supersede`.
    """
    with door.memory() as memory:
        note = memory.beliefs.contradict(ref, times, by=by)
    door.answer(_row(note), lambda: screen.say(f"#{note.id} has a confidence of {note.confidence:g}"))


@command("contradictions", "recollect contradictions", "recollect contradictions 42", "recollect supersede 17 42")
@click.argument("ref", metavar="[ID]", required=False)
@_limit
@click.option("--min-score", type=float, default=0.5, show_default=True, metavar="0-1", help="Leave weaker ones out.")
def contradictions_command(door: Door, ref: str | None, limit: int, min_score: float) -> None:
    """List notes that say different things of the same.

    They are candidates, the surest first: `recollect supersede OLD NEW` decides one. Nothing is decided by itself.
    """
    with door.memory() as memory:
        beliefs = memory.beliefs
        found = beliefs.contradictions(ref, limit=limit, min_score=min_score)
    rows = [
        {"older": _row(one.older), "newer": _row(one.newer), "score": one.score, "subject": one.subject,
         "was": one.was, "now": one.now, "reasons": list(one.reasons)}
        for one in found
    ]  # fmt: skip

    def show() -> None:
        if not found:
            return screen.say("no contradictions found")
        return screen.table(
            ("older", "newer", "score", "was", "now", "about", "why"),
            [(one.older.id, one.newer.id, f"{one.score:.2f}", one.was, one.now, one.subject, one.reasons[-1])
             for one in found],
        )  # fmt: skip

    door.answer({"contradictions": rows, "notice": beliefs.notice}, show)
    _remark(door, beliefs.notice)


@command("duplicates", "recollect duplicates", "recollect duplicates --merge", "recollect undo")
@click.option("--merge", is_flag=True, help="Merge what is shown: the richest stays, the others are superseded by it.")
@_limit
def duplicates_command(door: Door, merge: bool, limit: int) -> None:
    """List notes that say the same, and merge them.

    Found by meaning where notes have vectors, else by their words. `recollect undo` takes a merge back.
    """
    with door.memory() as memory:
        beliefs = memory.beliefs
        done = beliefs.merge_duplicates(limit=limit, dry_run=not merge)
    rows = [
        {"keep": _row(group.keep), "others": [_row(note) for note in group.others], "scores": list(group.scores),
         "by": group.by}
        for group in done.groups
    ]  # fmt: skip

    def show() -> None:
        if not done.groups:
            return screen.say("no duplicates found")
        screen.table(
            ("keep", "other", "alike", "title of the one to keep", "title of the other"),
            [(group.keep.id, note.id, f"{score:.2f}", group.keep.title, note.title)
             for group in done.groups for note, score in zip(group.others, group.scores, strict=True)],
        )  # fmt: skip
        hidden = f"merged; {screen.plural(done.hidden, 'note')} hidden"
        return screen.say(hidden if merge else "nothing changed: --merge merges them")

    door.answer({"groups": rows, "merged": merge, "operation": done.operation, "notice": beliefs.notice}, show)
    _remark(door, beliefs.notice)


@command(
    "consolidate", "recollect consolidate --dry-run", "recollect consolidate --sessions", "recollect undo"
)
@click.option("--dry-run", is_flag=True, help="Only show what would be made.")
@click.option("--sessions", is_flag=True, help="Old sessions instead of notes; what was said in them stays.")
@click.option("--older-than", type=float, metavar="DAYS", help="Only what is older; 7 days by default, sessions 30.")
@click.option("--least", type=int, default=3, show_default=True, metavar="N", help="How many notes make a subject.")
@click.option("--hide-sources", is_flag=True, help="Let the new notes supersede those that they were made of.")
def consolidate_command(
    door: Door, dry_run: bool, sessions: bool, older_than: float | None, least: int, hide_sources: bool
) -> None:
    """Gather old notes on one subject, or old sessions, in one note each.

    The new notes are semantic, quote their sources with dates and counts, and link to them. Sources stay.
    """
    with door.memory() as memory:
        done = memory.consolidate(
            sessions=sessions, older_than_days=older_than, least=least, hide_sources=hide_sources, dry_run=dry_run
        )
    rows = [
        {"subject": one.subject, "title": one.draft.title, "content": one.draft.content,
         "sources": [note.id for note in one.notes], "session": one.session.uid if one.session else None}
        for one in done.gathered
    ]  # fmt: skip
    made = [_row(note) for note in done.made]
    value = {"gathered": rows, "made": made, "hidden": done.hidden, "dry_run": dry_run, "operation": done.operation,
             "notice": done.notice}  # fmt: skip
    door.answer(value, lambda: _show_gathered(done.gathered, done.made, dry_run))
    _remark(door, done.notice)


def _show_gathered(gathered: Sequence[Any], made: Sequence[Note], dry_run: bool) -> None:
    if not gathered:
        return screen.say("nothing to gather")
    for at, one in enumerate(gathered):
        name = "would be made" if dry_run else f"#{made[at].id}"
        sources = ", ".join(f"#{note.id}" for note in one.notes) or f"session {one.session.uid}"
        screen.say(f"{name} from {sources}")
        screen.say(one.draft.content)
        screen.say("")
    return None


def _remark(door: Door, notice: str) -> None:
    if notice and not door.as_json:
        screen.remark(notice)
