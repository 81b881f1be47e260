"""`recollect setup` and `recollect hook`; agents reach the hooks without loading the command line."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, is_terminal

if TYPE_CHECKING:
    from recollect.interfaces.setup.doing import Edit


@command(
    "hook",
    "recollect hook claude-code session-start < event.json",
    "recollect hook codex stop < event.json",
)
@click.argument("agent")
@click.argument("event", default="")
def hook_command(door: Door, agent: str, event: str) -> None:
    """Answer an event of an agent.

    The event is JSON on standard input. AGENT is claude-code, codex, gemini, cursor or openclaw; EVENT is
    session-start, prompt, tool-used, tool-failed, stop, pre-compact or session-end, or the host's own name of it.
    Always exits with 0 and prints only what the agent reads.
    """
    from recollect.interfaces.hooks import run

    run([agent, event])


@command(
    "setup",
    "recollect setup claude-code --dry-run",
    "recollect setup codex",
    "recollect setup gemini --project",
    "recollect setup cursor --uninstall",
    "recollect setup claude-code --backfill",
)
@click.argument("agent")
@click.option("--user", is_flag=True, help="For all projects, in the agent's own settings; the default.")
@click.option("--project", is_flag=True, help="For the current project only, in its folder.")
@click.option("--uninstall", is_flag=True, help="Take it back.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--backfill/--no-backfill", default=None, help="Index the agent's earlier sessions; a terminal is asked.")
def setup_command(
    door: Door, agent: str, user: bool, project: bool, uninstall: bool, dry_run: bool, backfill: bool | None
) -> None:
    """Give an agent its memory.

    Writes the MCP server and the hooks into the agent's own settings. AGENT is claude-code, codex, gemini, cursor or
    openclaw. Other entries, comments and the layout stay as they are; doing it again changes nothing, and --uninstall
    takes it back.
    """
    from recollect.interfaces.setup import doing, hosts

    if user and project:
        raise InvalidInput("--user and --project exclude each other", hint="give one of them")
    if backfill and uninstall:
        raise InvalidInput("--backfill and --uninstall exclude each other", hint="give one of them")
    home = door.settings().home
    places = hosts.places(agent, _project_folder(home) if project else None)
    edits = doing.plan(places, home, uninstall=uninstall)
    if not dry_run:
        doing.apply(edits, home, uninstall=uninstall)
    answer: dict[str, Any] = {"agent": agent, "dry_run": dry_run, "uninstall": uninstall}
    answer["files"] = [{"path": str(edit.path), "changed": edit.changes, "diff": edit.diff} for edit in edits]
    if not door.as_json:
        _show_edits(edits, dry_run)
        if not dry_run and not uninstall and any(edit.changes for edit in edits):
            screen.say(f"{agent} has memory from its next session on.")
    if not uninstall:
        answer["backfill"] = _backfill(door, agent, wanted=backfill, dry_run=dry_run)
    door.answer(answer, lambda: None)


def _show_edits(edits: "Sequence[Edit]", dry_run: bool) -> None:
    for edit in edits:
        if dry_run and edit.changes:
            screen.say(edit.diff.rstrip("\n"))
    for edit in edits:
        verb = ("would change" if dry_run else "changed") if edit.changes else "nothing to change in"
        screen.remark(f"{verb} {edit.path}")


def _backfill(door: Door, agent: str, *, wanted: bool | None, dry_run: bool) -> dict[str, Any]:
    """Indexes what the agent said before, if that is wanted; a person at a terminal is asked."""
    from recollect.interfaces.cli.indexing import indexed_json
    from recollect.interfaces.setup.backfill import transcripts

    files = transcripts(agent)
    later = f"recollect setup {agent} --backfill"
    found: dict[str, Any] = {"transcripts": len(files), "indexed": None, "command": later}
    count = screen.plural(len(files), "transcript")
    if wanted is None and files and not dry_run and not door.as_json and _can_ask():
        wanted = click.confirm(f"Index {count} of earlier sessions too?", default=True)
    if wanted and files and not dry_run:
        with door.memory(create=True) as memory:
            done = memory.index(*files, embed=False, follow=False)
        found["indexed"] = indexed_json(done, 0)
        if not door.as_json:
            turns = screen.plural(done.turns, "turn")
            screen.say(f"{screen.plural(done.sessions, 'earlier session')} indexed, {turns}")
    elif files and wanted is None and not door.as_json:
        screen.say(f"{count} of earlier sessions can be found too: {later}")
    elif wanted and not door.as_json:
        screen.say(f"would index {count} of earlier sessions" if files else f"{agent} has no earlier sessions here")
    return found


def _can_ask() -> bool:
    return is_terminal() and sys.stdin is not None and sys.stdin.isatty()


def _project_folder(home: Path) -> Path:
    from recollect.project import find_project

    found = find_project(Path.cwd(), home)
    return found.root if found is not None else Path.cwd()
