"""`recollect spaces` (list, rename, merge) and `recollect init`."""

from pathlib import Path

import click

from recollect.errors import InvalidInput, NotFound
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, topic
from recollect.interfaces.cli.words import confirmed

spaces_command = topic("spaces", "List, rename and merge spaces.")


@command("list", "recollect spaces", "recollect spaces list --json", group=spaces_command)
def list_command(door: Door) -> None:
    """List the spaces of the store; * marks the one that is written to from here."""
    with door.memory() as memory:
        known = {space.id: space.name for space in memory.spaces()}
        try:
            current = memory.space
        except NotFound:  # it is made by the first note
            current = ""
        found = [
            answers.plain(space) | {"merged_into": known.get(space.merged_into or 0), "current": space.name == current}
            for space in memory.spaces()
        ]

    def show() -> None:
        if not found:
            return screen.say("no spaces yet")
        rows = [
            ("*" if space["current"] else "", space["name"], space["kind"],
             f"merged into {space['merged_into']}" if space["merged_into"] else "",
             ", ".join(f"{kind} {value}" for kind, value in space["aliases"] if kind != "name"))
            for space in found
        ]  # fmt: skip
        return screen.table(("", "name", "kind", "state", "known by"), rows)

    door.answer({"spaces": found}, show)


@command("rename", "recollect spaces rename billing invoices", group=spaces_command)
@click.argument("name")
@click.argument("to")
def rename_command(door: Door, name: str, to: str) -> None:
    """Give a space another name; what it is known by stays."""
    with door.memory() as memory:
        space = memory.rename_space(name, to)
    door.answer(answers.plain(space), lambda: screen.say(f"{name} is now called {space.name}"))


@command(
    "merge", "recollect spaces merge old-billing billing", "recollect spaces merge old-billing billing --yes",
    group=spaces_command,
)  # fmt: skip
@click.argument("source")
@click.argument("target")
@click.option("--yes", is_flag=True, help="Do it; without this only what would happen is shown.")
def merge_command(door: Door, source: str, target: str, yes: bool) -> None:
    """Move everything of SOURCE into TARGET; undo takes it back."""
    with door.memory() as memory:
        preview = memory.merge_spaces(source, target, dry_run=True)
        what = (
            f"{screen.plural(preview.notes, 'note')} ({preview.duplicates + preview.known} of them already there) and "
            f"{screen.plural(preview.sessions, 'session')} from {preview.source} to {preview.target}"
        )
        if not yes and not door.as_json:
            screen.say(f"would move {what}")
        done = confirmed("Merge them?", yes=yes)
        if done:
            preview = memory.merge_spaces(source, target)

    def show() -> None:
        if done:
            screen.say(f"moved {what}")
            screen.say(f"to take it back: recollect undo {preview.operation} --space {preview.target}")
        else:
            screen.say("nothing was changed; add --yes to do it")

    door.answer(answers.plain(preview) | {"done": done}, show)


@command("init", "recollect init", "recollect init --local")
@click.option("--folder", type=click.Path(file_okay=False), default=".", help="Folder to use; the current one.")
@click.option("--local", is_flag=True, help="Keep the project's memory inside it, in .recollect/.")
def init_command(door: Door, folder: str, local: bool) -> None:
    """Make the current folder a project with a memory of its own.

    Its mark and, with --local, its store count from now on, because you said so: a folder that only brings a mark
    along, such as a cloned repository, is not believed.
    """
    from recollect.ids import new_uid
    from recollect.project import find_project, init_project

    if not Path(folder).is_dir():
        raise InvalidInput(f"{folder} is not a folder", hint="name an existing folder")
    settings = door.settings()
    report = init_project(Path(folder), settings.home, local=local, uid=new_uid())
    project = find_project(Path(folder), settings.home)
    name = project.name if project is not None else report.root.name

    def show() -> None:
        screen.say(f"{report.root} is {'now ' if report.created else 'already '}the project {name}")
        if report.local:
            screen.say(f"its memory is kept in {report.root / '.recollect' / 'memory.db'}")
        if report.local and report.store_was_there:
            screen.say("a store was already there: check with `recollect list` that it is yours")
        if report.gitignore is not None:
            screen.say(f"{report.gitignore} keeps .recollect/ out of git")

    door.answer({**answers.plain(report), "root": str(report.root), "project": name,
                 "gitignore": str(report.gitignore) if report.gitignore else None}, show)  # fmt: skip
