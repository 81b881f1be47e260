"""`recollect setup` and `recollect hook`; agents reach the hooks without loading the command line."""

from pathlib import Path

import click

from recollect.errors import InvalidInput
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command


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
)
@click.argument("agent")
@click.option("--user", is_flag=True, help="For all projects, in the agent's own settings; the default.")
@click.option("--project", is_flag=True, help="For the current project only, in its folder.")
@click.option("--uninstall", is_flag=True, help="Take it back.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
def setup_command(door: Door, agent: str, user: bool, project: bool, uninstall: bool, dry_run: bool) -> None:
    """Give an agent its memory.

    Writes the MCP server and the hooks into the agent's own settings. AGENT is claude-code, codex, gemini, cursor or
    openclaw. Other entries, comments and the layout stay as they are; doing it again changes nothing, and --uninstall
    takes it back.
    """
    from recollect.interfaces.setup import doing, hosts

    if user and project:
        raise InvalidInput("--user and --project exclude each other", hint="give one of them")
    home = door.settings().home
    places = hosts.places(agent, _project_folder(home) if project else None)
    edits = doing.plan(places, home, uninstall=uninstall)
    if not dry_run:
        doing.apply(edits, home, uninstall=uninstall)
    changed = [edit for edit in edits if edit.changes]
    files = [{"path": str(edit.path), "changed": edit.changes, "diff": edit.diff} for edit in edits]

    def show() -> None:
        if dry_run:
            for edit in changed:
                screen.say(edit.diff.rstrip("\n"))
        for edit in edits:
            verb = ("would change" if dry_run else "changed") if edit.changes else "nothing to change in"
            screen.remark(f"{verb} {edit.path}")
        if changed and not dry_run and not uninstall:
            screen.say(f"{agent} has memory from its next session on.")
            screen.say("Earlier sessions too: recollect index --agents")

    door.answer({"agent": agent, "files": files, "dry_run": dry_run, "uninstall": uninstall}, show)


def _project_folder(home: Path) -> Path:
    from recollect.project import find_project

    found = find_project(Path.cwd(), home)
    return found.root if found is not None else Path.cwd()
