"""`recollect index` and `recollect watch`."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.index import Indexed
    from recollect.memory import Memory

SHOWN = 10  # reasons on a terminal; JSON has all of them


@command(
    "index",
    "recollect index notes/ README.md",
    "recollect index --agents",
    "recollect index ~/.claude/projects --json",
    "recollect index",
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--agents", is_flag=True, help="Find the history of every installed agent.")
@click.option("--force", is_flag=True, help="Read everything again.")
@click.option("--once", is_flag=True, help="Do not keep it up to date from now on.")
@click.option("--no-embed", is_flag=True, help="Leave the vectors to later searches.")
def index_command(
    door: Door, paths: Sequence[Path], agents: bool, force: bool, once: bool, no_embed: bool
) -> None:  # fmt: skip
    """Make files and agents' transcripts searchable.

    What did not change since the last time is not read again; a transcript that grew is read from where it was left.
    A transcript belongs to the project that it was made in; what has no known project goes to `unfiled`.
    Folders and histories are followed from then on: without arguments, what changed in them is read.
    """
    _check(paths)
    with door.memory(create=True) as memory:
        done = _index(memory, paths, agents=agents, force=force, follow=not once)
        embedded = 0
        if not no_embed:
            owed = memory.stats()["pending"] or memory.stats()["chunks"]
            with screen.progress("embedding", owed) as advance:
                embedded = memory.embed_pending(progress=advance)
    door.answer(indexed_json(done, embedded), lambda: _show(done, embedded))


def _check(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.exists() and not path.is_symlink():
            raise InvalidInput(f"there is no {path}", hint="name a file or a folder that exists")


def _index(memory: "Memory", paths: Sequence[Path], **asked: bool) -> "Indexed":
    with screen.progress("indexing", 0) as advance:

        def progress(done: int, total: int, path: Path) -> None:
            if advance is not None:
                advance(done, total)

        if paths or asked["agents"]:
            return memory.index(*paths, **asked, embed=False, progress=progress)
        done = memory.sync(force=asked["force"], embed=False, progress=progress)
    if not (done.indexed or done.unchanged or done.removed or done.ignored or done.skipped):
        raise InvalidInput("nothing was indexed before", hint="name files or folders, or ask for --agents")
    return done


def indexed_json(done: "Indexed", embedded: int) -> dict[str, Any]:
    return {
        "files": {
            "indexed": done.indexed, "unchanged": done.unchanged, "removed": done.removed, "ignored": done.ignored,
            "skipped": [{"path": path, "reason": reason} for path, reason in done.skipped],
        },
        "sessions": done.sessions, "turns": done.turns, "chunks": done.chunks, "embedded": embedded,
        "bytes_read": done.bytes_read, "unfiled": done.unfiled,
        "formats": {
            name: {**counts, "left_out": dict(done.left_out.get(name, {}))} for name, counts in done.formats.items()
        },
    }  # fmt: skip


def _show(done: "Indexed", embedded: int) -> None:
    if done.formats:
        rows = [
            (name, c.get("files", 0), c.get("turns", 0), c.get("chunks", 0), _reasons(done.left_out.get(name, {})))
            for name, c in done.formats.items()
        ]
        screen.table(("format", "files", "turns", "chunks", "left out"), rows)
    screen.say(
        f"{screen.plural(done.indexed, 'file')} indexed, {done.unchanged} unchanged, {done.removed} removed; "
        f"{screen.plural(done.turns, 'turn')}, {screen.plural(embedded, 'vector')} made, "
        f"{screen.size(done.bytes_read)} read"
    )
    for path, reason in done.skipped[:SHOWN]:
        screen.say(f"skipped {path}: {reason}")
    if len(done.skipped) > SHOWN:
        screen.say(f"… and {len(done.skipped) - SHOWN} more; --json lists all")
    if done.unfiled:
        screen.say(f"{screen.plural(done.unfiled, 'session')} without a known project: search with --space unfiled")


def _reasons(left_out: Mapping[str, int]) -> str:
    """The most frequent first."""
    return ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items(), key=lambda item: -item[1]))


@command("watch", "recollect watch notes/", "recollect watch --agents", "recollect watch --agents --poll")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--agents", is_flag=True, help="Follow the history of every installed agent.")
@click.option("--poll", is_flag=True, help="Look regularly, for file systems that send no notifications.")
@click.option("--seconds", type=click.FloatRange(0.1), help="Stop after so long; else Ctrl-C does.")
def watch_command(door: Door, paths: Sequence[Path], agents: bool, poll: bool, seconds: float | None) -> None:
    """Index now, and again whenever something changes. Ctrl-C ends it; nothing is left behind."""
    stop = threading.Event()
    if seconds is not None:
        clock = threading.Timer(seconds, stop.set)
        clock.daemon = True
        clock.start()
    with door.memory(create=True) as memory:
        memory.watch(*paths, agents=agents, poll=poll, stop=stop, report=_report)


def _report(done: "Indexed", first: bool) -> None:
    if first:
        screen.say("Memory index ready")
    if done.indexed or done.removed:
        turns = screen.plural(done.turns, "turn")
        screen.say(f"{screen.plural(done.indexed, 'file')} indexed, {done.removed} removed, {turns}")
