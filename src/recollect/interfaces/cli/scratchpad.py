"""`recollect scratchpad`: what agents have at hand, session by session."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, topic
from recollect.interfaces.cli.words import given_text
from recollect.types import Note

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.scratchpad import Restored, Scratchpad

scratchpad_command = topic("scratchpad", "Keep things at hand for a while, apart for each session.")


def _whose(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--agent", metavar="NAME", help="Whose it is; cli by default."),
        click.option("--session", metavar="NAME", help="Which session's; none by default."),
    ):
        function = option(function)
    return function


def _pad(memory: "Memory", session: str | None, agent: str | None) -> "Scratchpad":
    return memory.scratchpad.of(session, agent)


@command(
    "put", 'recollect scratchpad put "Tried the blue key, try the red one" --key plan --session s1',
    "recollect scratchpad put - --minutes 5 < notes.txt", group=scratchpad_command,
)  # fmt: skip
@click.argument("text", nargs=-1)
@click.option("--key", metavar="NAME", help="Write over what has this name.")
@click.option("--minutes", type=float, metavar="N", help="How long it stays; 0 is for good.")
@click.option("--importance", type=int, default=5, show_default=True, metavar="N", help="1 to 10; low ones go first.")
@click.option("--pin", "pinned", is_flag=True, help="Never make room by moving this one away.")
@_whose
def put_command(
    door: Door, text: tuple[str, ...], key: str | None, minutes: float | None, importance: int, pinned: bool,
    session: str | None, agent: str | None,
) -> None:  # fmt: skip
    """Put a text on the scratchpad; what no longer fits becomes a note."""
    content = given_text(text)
    if content is None:
        raise InvalidInput("nothing to put", hint="give the text, or pipe it in with -")
    with door.memory(create=True) as memory:
        done = _pad(memory, session, agent).put(
            content, key=key, ttl_minutes=minutes, importance=importance, pinned=pinned
        )

    def show() -> None:
        screen.say(f"{'put' if done.created else 'put again'} #{done.id}: {screen.one_line(done.title)}")
        if done.overflow:
            screen.say(f"made room: {_ids(done.overflow)} {'are notes' if len(done.overflow) > 1 else 'is a note'} now")
        if done.notice:
            screen.remark(done.notice)

    more = {"created": done.created, "overflow": list(done.overflow), "operation": done.operation}
    door.answer(_row(done) | more | ({"notice": done.notice} if done.notice else {}), show)


@command(
    "list", "recollect scratchpad", "recollect scratchpad list --session s1 --json", group=scratchpad_command,
)  # fmt: skip
@_whose
def list_command(door: Door, session: str | None, agent: str | None) -> None:
    """List a session's scratchpad, or with neither session nor agent all of them."""
    with door.memory() as memory:
        every = session is None and agent is None
        items = memory.list(limit=1000, tiers=["scratchpad"]) if every else _pad(memory, session, agent).items()
    door.answer({"items": [_row(item) for item in items]}, lambda: _show(items))


@command("drop", "recollect scratchpad drop plan --session s1", group=scratchpad_command)
@click.argument("ref", metavar="KEY|ID")
@_whose
def drop_command(door: Door, ref: str, session: str | None, agent: str | None) -> None:
    """Take something off; undo brings it back."""
    with door.memory() as memory:
        item = _pad(memory, session, agent).drop(ref)
    door.answer(_row(item), lambda: screen.say(f"dropped #{item.id}: {screen.one_line(item.title)}"))


@command("clear", "recollect scratchpad clear --session s1", group=scratchpad_command)
@_whose
def clear_command(door: Door, session: str | None, agent: str | None) -> None:
    """Take everything off; undo brings it back."""
    with door.memory() as memory:
        items = _pad(memory, session, agent).clear()
    door.answer({"dropped": len(items)}, lambda: screen.say(f"dropped {screen.plural(len(items), 'item')}"))


@command(
    "restore", "recollect scratchpad restore --session s2", "recollect scratchpad restore --session s2 --from s1",
    group=scratchpad_command,
)  # fmt: skip
@click.option("--from", "source", metavar="NAME", help="The session to take over from; by default the last one.")
@_whose
def restore_command(door: Door, source: str | None, session: str | None, agent: str | None) -> None:
    """Take over what the session before this one left behind."""
    with door.memory() as memory:
        done = _pad(memory, session, agent).restore(source)
    row = {"items": [_row(item) for item in done.items], "session": done.session, "overflow": list(done.overflow),
           "operation": done.operation, "notice": done.notice}  # fmt: skip
    door.answer(row, lambda: _show_restored(done))


def _show_restored(done: "Restored") -> None:
    if done.session is not None:
        screen.say(f"took over {screen.plural(len(done.items), 'item')} of session {done.session}")
        _show(done.items)
    else:
        screen.say("nothing was left behind")
    if done.notice:
        screen.remark(done.notice)


def _show(items: Sequence[Note]) -> None:
    if not items:
        return screen.say("nothing on the scratchpad")
    rows = [
        (item.id, about["key"] or "", item.content, about["agent"], item.session or "",
         screen.day_and_time(item.expires_ms))
        for item in items
        if (about := _row(item))
    ]  # fmt: skip
    return screen.table(("id", "key", "text", "agent", "session", "until"), rows)


def _row(item: Note) -> dict[str, Any]:
    from recollect.scratchpad import ABOUT, key_of

    about = item.metadata.get(ABOUT, {})
    more = {"content": item.content, "session": item.session, "rev": item.rev, "tier": item.tier}
    named = {"key": key_of(item), "agent": about.get("agent", ""), "expires_at": answers.iso(item.expires_ms)}
    return answers.brief_json(item) | more | named


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(f"#{one}" for one in ids)
