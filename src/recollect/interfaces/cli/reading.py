"""Commands that read notes: get, list, history, log, timeline, stats."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from recollect.audit import image
from recollect.errors import NotFound
from recollect.ids import parse_ref
from recollect.interfaces import answers
from recollect.interfaces.cli import screen, words
from recollect.interfaces.cli.door import Door, command
from recollect.types import Moment, Note, Revision

_FOLLOWS = {"updated_ms", "content_hash"}  # they change with everything else


@command("get", "recollect get 17", "recollect get 17 18 --json", "recollect get t42")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--as-of", metavar="WHEN", help="As it was then: 2026-01-31, 30d, 'last Tuesday'.")
def get_command(door: Door, ids: tuple[str, ...], as_of: str | None) -> None:
    """Show whole notes.

    ID is a note's number or uid; c17 and t17 are the passages and turns that search names, with what surrounds them.
    """
    with door.memory() as memory:
        found = [
            memory.get(ref, as_of=as_of) if parse_ref(ref).what == "note" else memory.passage(ref) for ref in ids
        ]
        near = [None if isinstance(item, Note) else memory.surroundings(item) for item in found]
    values = [_value(item, around) for item, around in zip(found, near, strict=True)]
    door.answer(values[0] if len(values) == 1 else {"notes": values}, lambda: _show_all(found, near))


def _value(item: Any, around: Any) -> dict[str, Any]:
    if isinstance(item, Note):
        return answers.note_json(item)
    return {**answers.plain(item), "id": _short_id(item), **answers.plain(around)}


def _short_id(item: Any) -> str:
    return f"{'t' if hasattr(item, 'record') else 'c'}{item.id}"


def _show_all(found: Sequence[Any], near: Sequence[Any]) -> None:
    for number, (item, around) in enumerate(zip(found, near, strict=True)):
        if number:
            screen.say("")
        if isinstance(item, Note):
            screen.show_note(item)
        else:
            where = getattr(item, "file_path", "") or getattr(item, "session", "")
            lines = f":{item.start_line}-{item.end_line}" if getattr(item, "start_line", None) else ""
            screen.say("  ".join(part for part in (_short_id(item), item.speaker, item.space, where + lines) if part))
            _show_beside("before", around.before)
            screen.say("")
            screen.say(getattr(item, "text", None) or item.content)
            _show_beside("after", around.after)


def _show_beside(where: str, neighbours: Sequence[Any]) -> None:
    """Set in, so that it is not taken for what was asked for."""
    for beside in neighbours:
        when = screen.day_and_time(beside.at_ms) if beside.at_ms else ""
        lines = f"lines {beside.lines[0]}-{beside.lines[1]}" if beside.lines else ""
        screen.say("\n" + "  ".join(part for part in (f"{where}:", beside.id, beside.speaker, when, lines) if part))
        for line in beside.text.splitlines():
            screen.say(f"    {line}")


@command("list", "recollect list", "recollect list --kind decision --limit 50", "recollect list --state deleted")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Most notes to show.")
@click.option("--before", metavar="ID", help="Continue after this note, the last of a page.")
@click.option("--kind", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--tag", multiple=True, metavar="TAG", help="Only with this tag; may be repeated, or a,b.")
@click.option("--since", metavar="WHEN", help="Not older than: 2026-01-31, 30d, 'last Tuesday', 'in March'.")
@click.option("--until", metavar="WHEN", help="Not newer than.")
@click.option("--session", metavar="UID", help="Only what belongs to this session.")
@click.option("--state", multiple=True, metavar="STATE", help="live, superseded, expired, evicted or deleted.")
@click.option("--pinned", is_flag=True, help="Only pinned notes.")
@click.option("--as-of", metavar="WHEN", help="What was there then, as it was then.")
def list_command(door: Door, limit: int, before: str | None, **given: Any) -> None:
    """List notes, newest first."""
    filters: dict[str, Any] = {
        "kinds": words.tags(given["kind"]), "tags": words.tags(given["tag"]), "states": words.tags(given["state"]),
        "session": given["session"], "pinned": given["pinned"] or None,
        **words.since_until(given["since"], given["until"], given["as_of"]),
    }  # fmt: skip
    with door.memory() as memory:
        last = memory.get(before) if before is not None else None
        notes = memory.list(limit=limit, before=last, **filters)
    door.answer(
        {"notes": [answers.brief_json(note) for note in notes]},
        lambda: screen.show_notes(notes) if notes else screen.say("no notes here"),
    )


@command("history", "recollect history 17", "recollect history 17 --json")
@click.argument("ref", metavar="ID")
def history_command(door: Door, ref: str) -> None:
    """Show the earlier versions of a note."""
    with door.memory() as memory:
        revisions, note = memory.history(ref), memory.get(ref)
    value = {"id": note.id, "uid": note.uid, "rev": note.rev, "revisions": list(map(answers.revision_json, revisions))}
    door.answer(value, lambda: _show_history(note, revisions))


def _show_history(note: Note, revisions: Sequence[Revision]) -> None:
    images = [*(revision.image for revision in revisions), image(note)]
    for revision, before, after in zip(revisions, images, images[1:], strict=False):
        changed = [name for name in before if name not in _FOLLOWS and before[name] != after.get(name)]
        until = screen.day_and_time(revision.at_ms)
        screen.say(f"revision {revision.rev}, until {until}; then changed: {', '.join(changed) or 'nothing'}")
        screen.say(f"  {screen.one_line(before['content'])}")
    screen.say(f"revision {note.rev}, as it is now")
    screen.say(f"  {screen.one_line(note.content)}")


@command("log", "recollect log", "recollect log --limit 100 --json", "recollect undo OPERATION")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="Most operations.")
def log_command(door: Door, limit: int) -> None:
    """List operations, newest first.

    Each has an id; `recollect undo ID` takes it back.
    """
    with door.memory() as memory:
        try:
            operations = memory.operations(limit=limit)
        except NotFound:  # nothing was ever written in this space
            operations = ()
    rows = [answers.operation_json(events) for events in operations]

    def show() -> None:
        if not rows:
            return screen.say("no operations yet")
        table = [
            (row["operation"], row["verb"], row["count"], row["actor"], screen.day_and_time(events[0].at_ms))
            for row, events in zip(rows, operations, strict=True)
        ]
        return screen.table(("operation", "verb", "notes", "by", "time"), table)

    door.answer({"operations": rows}, show)


@command("timeline", "recollect timeline 17", "recollect timeline 17 --before 2 --after 10")
@click.argument("ref", metavar="ID")
@click.option("--before", type=click.IntRange(0, 10_000), default=5, show_default=True, help="How many before it.")
@click.option("--after", type=click.IntRange(0, 10_000), default=5, show_default=True, help="How many after it.")
@click.option("--kind", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--notes", is_flag=True, help="Only notes: no turns, no sessions.")
def timeline_command(door: Door, ref: str, before: int, after: int, kind: tuple[str, ...], notes: bool) -> None:
    """Show what happened before and after a note or a turn.

    Notes, turns, and where sessions began and ended; --notes shows notes alone. ID may be a turn such as t17.
    """
    with door.memory() as memory:
        moments = memory.timeline(ref, before=before, after=after, kinds=words.tags(kind), notes_only=notes)
    rows = [
        (f"{moment.distance:+d}" if moment.distance else "→", _short(moment), moment.kind, moment.title,
         screen.day_and_time(moment.at_ms))
        for moment in moments
    ]  # fmt: skip
    door.answer(
        {"moments": [answers.moment_json(moment) for moment in moments]},
        lambda: screen.table(("", "id", "kind", "title", "created"), rows),
    )


def _short(moment: Moment) -> str:
    """What to type for it; a session's uid is too long for a table."""
    return str(moment.id) if moment.session is None else ""


@command("stats", "recollect stats", "recollect stats --space all --json")
def stats_command(door: Door) -> None:
    """Count what is remembered."""
    with door.memory() as memory:
        stats = answers.stats_json(memory.stats())

    def show() -> None:
        for name, value in stats.items():
            if isinstance(value, Mapping):
                value = ", ".join(f"{key} {count}" for key, count in value.items()) or "none"
            elif name.endswith("bytes"):
                value = screen.size(value)
            screen.say(f"{name.replace('_', ' ')}: {'-' if value is None else value}")

    door.answer(stats, show)
