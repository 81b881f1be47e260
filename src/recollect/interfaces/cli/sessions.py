"""`recollect sessions`: list, show."""

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, topic

sessions_command = topic("sessions", "Show sessions and what was said in them.")


@command("list", "recollect sessions", "recollect sessions list --limit 5 --json", group=sessions_command)
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Most sessions.")
def list_command(door: Door, limit: int) -> None:
    """List sessions, the last active first."""
    with door.caught_up() as memory:
        found = memory.sessions(limit=limit)
    rows = [
        (session.uid, session.agent, session.title or session.key, session.turns, screen.day_and_time(session.seen_ms),
         "ended" if session.ended_ms else "open")
        for session in found
    ]  # fmt: skip
    door.answer(
        {"sessions": [answers.plain(session) for session in found]},
        lambda: (
            screen.table(("uid", "agent", "title", "turns", "seen", "state"), rows)
            if rows
            else screen.say("no sessions yet")
        ),
    )


@command("show", "recollect sessions show UID", "recollect sessions show UID --json", group=sessions_command)
@click.argument("uid")
def show_command(door: Door, uid: str) -> None:
    """Show what was said in a session."""
    with door.memory() as memory:
        session = memory.session(uid.strip().lower())
        turns = memory.turns(session)

    def show() -> None:
        screen.say(f"{session.title or session.key}  {session.agent}  {session.space}")
        if session.summary:
            screen.say(session.summary)
        for turn in turns:
            screen.say(f"\n[t{turn.id}] {turn.speaker}, {screen.day_and_time(turn.at_ms)}")
            screen.say(turn.text)

    said = [answers.plain(turn) | {"id": f"t{turn.id}"} for turn in turns]
    door.answer({"session": answers.plain(session), "turns": said}, show)
