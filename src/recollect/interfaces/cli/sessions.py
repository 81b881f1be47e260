"""`recollect sessions`: list, show, search."""

from typing import Any

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen, words
from recollect.interfaces.cli.door import Door, command, topic
from recollect.types import Hit

sessions_command = topic("sessions", "Show sessions and what was said in them.")


@command("list", "recollect sessions", "recollect sessions list --limit 5 --json", group=sessions_command)
@click.option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Most sessions.")
def list_command(door: Door, limit: int) -> None:
    """List sessions, the last active first, each with a line on what it was about."""
    with door.caught_up() as memory:
        found = [(session, memory.about(session)) for session in memory.sessions(limit=limit)]
    rows = [
        (session.uid, session.agent, about or session.key, session.turns, screen.day_and_time(session.seen_ms),
         "ended" if session.ended_ms else "open")
        for session, about in found
    ]  # fmt: skip
    door.answer(
        {"sessions": [answers.plain(session) | {"about": about} for session, about in found]},
        lambda: (
            screen.table(("uid", "agent", "about", "turns", "seen", "state"), rows)
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


@command(
    "search",
    'recollect sessions search "what did we say about caching"',
    "recollect sessions search deploy --since 30d",
    group=sessions_command,
)
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most sessions.")
@click.option("--since", metavar="WHEN", help="Not older than: 2026-01-31, or 12h, 30d, 2w.")
@click.option("--until", metavar="WHEN", help="Not newer than.")
def search_command(door: Door, query: tuple[str, ...], limit: int, since: str | None, until: str | None) -> None:
    """Find sessions by what was said in them, the best first, each with the turn that fits best."""
    with door.caught_up() as memory:
        answer = memory.search(
            " ".join(query), limit=min(10 * limit, 1000), owners=("turn",), **words.since_until(since, until)
        )
        best: dict[str, list[Hit]] = {}
        for hit in answer.hits:
            best.setdefault(hit.session or "", []).append(hit)
        found = [(memory.session(uid), memory.about(uid), hits) for uid, hits in list(best.items())[:limit]]
    door.answer(
        {"sessions": [_found_json(*one) for one in found], "mode": answer.mode, "notices": list(answer.notices)},
        lambda: _show_found(found, " ".join(query)),
    )
    if not door.as_json:
        for notice in answer.notices:
            screen.remark(notice)


def _found_json(session: Any, about: str, hits: list[Hit]) -> dict[str, Any]:
    return {**answers.plain(session), "about": about, "hits": [answers.hit_json(hit) for hit in hits]}


def _show_found(found: list[tuple[Any, str, list[Hit]]], query: str) -> None:
    if not found:
        return screen.say(f"nothing found for {query[:200]!r}")
    rows = [
        (session.uid, f"{hit.score:.2f}", about or session.key, f"{hit.id} {hit.speaker}: {hit.snippet}", len(hits),
         screen.day_and_time(hit.created_ms))
        for session, about, hits in found
        for hit in hits[:1]
    ]  # fmt: skip
    return screen.table(("uid", "score", "about", "said", "hits", "when"), rows)
