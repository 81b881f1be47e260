"""`recollect forget`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command
from recollect.interfaces.cli.words import confirmed, moment_ms

if TYPE_CHECKING:
    from recollect.upkeep.forgetting import Receipt


@command(
    "forget", "recollect forget --id 17 --id 18", 'recollect forget --query "Project Bluebird" --dry-run',
    "recollect forget --session 0198c9a2-7d1e-7001-8f00-5d0f6a3c2b11 --yes", "recollect forget --since 2h --yes",
)  # fmt: skip
@click.option("--id", "ids", multiple=True, metavar="ID", help="A note; may be repeated.")
@click.option("--session", "sessions", multiple=True, metavar="UID", help="A session, its turns and its notes.")
@click.option("--source", "sources", multiple=True, metavar="PATH", help="What came from a file, folder or source.")
@click.option("--query", default="", metavar="TEXT", help="Whatever has these words, in any case of letters.")
@click.option("--since", metavar="TIME", help="Only from then on; alone: everything from then on.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--yes", is_flag=True, help="Do it; without this only what would happen is shown.")
def forget_command(
    door: Door, ids: tuple[str, ...], sessions: tuple[str, ...], sources: tuple[str, ...], query: str,
    since: str | None, dry_run: bool, yes: bool,
) -> None:  # fmt: skip
    """Remove every trace of notes, sessions, a source or a word.

    This cannot be undone. What is only to be hidden is deleted: see `recollect delete`.
    """
    since_ms = moment_ms(since, ahead=False) if since is not None else None
    places = dict.fromkeys([*sources, *(str(Path(source).absolute()) for source in sources)])
    with door.memory() as memory:
        given = {"sessions": sessions, "sources": list(places), "query": query, "since_ms": since_ms}
        receipt = memory.forget(ids, dry_run=True, **given)  # type: ignore[arg-type]
        if not door.as_json and not yes:
            _show(receipt)
        done = not dry_run and confirmed("Forget it? This cannot be undone.", yes=yes)
        if done:
            receipt = memory.forget(ids, **given)  # type: ignore[arg-type]

    def show() -> None:
        if done:
            _show(receipt)
        elif not dry_run:
            screen.say("nothing was changed; add --yes to do it")

    door.answer(answers.plain(receipt) | {"done": done}, show)


def _show(receipt: "Receipt") -> None:
    counts = ", ".join(f"{count} {name}" for name, count in receipt.removed.items() if count) or "nothing"
    screen.say(f"{'would remove' if receipt.dry_run else 'removed'}: {counts}")
    if receipt.notes:
        screen.say(f"notes: {', '.join(f'#{note}' for note in receipt.notes[:50])}")
    for name in (*receipt.sessions, *receipt.files):
        screen.say(f"  {name}")
    if not receipt.dry_run:
        screen.say(
            "pending: a reader is open" if receipt.pending else "gone from rows, versions, index, vectors and file"
        )
    if receipt.backups:
        screen.say(f"still in backups: {', '.join(receipt.backups)}")
    for remark in receipt.remarks:
        screen.say(remark)
