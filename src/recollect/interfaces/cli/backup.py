"""`recollect backup`: create, list, restore."""

import click

from recollect import backup as backups
from recollect.errors import InvalidInput
from recollect.ids import now_ms
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, topic
from recollect.interfaces.cli.words import confirmed

backup_command = topic("backup", "Copy the whole store, list copies, bring one back.")


@command("create", "recollect backup create", "recollect backup create /media/usb/memory.db", group=backup_command)
@click.argument("file", required=False, type=click.Path(dir_okay=False))
def create_command(door: Door, file: str | None) -> None:
    """Copy the store while others use it; the copy is checked before it gets its name."""
    with door.memory() as memory:
        target = click.format_filename(file) if file else str(backups.new_path(memory.settings, now_ms()))
        path = memory.backup(target)
    size = path.stat().st_size
    door.answer(
        {"path": str(path), "bytes": size, "verified": True},
        lambda: screen.say(f"backed up and verified: {path} ({screen.size(size)})"),
    )


@command("list", "recollect backup list", group=backup_command)
def list_command(door: Door) -> None:
    """List the copies in the backups folder, newest first."""
    settings = door.settings()
    found = backups.listed(settings)
    rows = [(backup.path.name, screen.size(backup.bytes), screen.day_and_time(backup.created_ms)) for backup in found]
    door.answer(
        {"folder": str(backups.folder(settings)), "backups": answers.plain([_row(backup) for backup in found])},
        lambda: screen.table(("name", "size", "made"), rows) if rows else screen.say("no backups yet"),
    )


def _row(backup: backups.Backup) -> dict[str, object]:
    return {"name": backup.path.name, **answers.plain(backup), "path": str(backup.path)}


@command(
    "restore",
    "recollect backup restore",
    "recollect backup restore memory-20260131T101530Z.db --yes",
    group=backup_command,
)
@click.argument("file", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore_command(door: Door, file: str | None, yes: bool) -> None:
    """Bring a copy back: FILE, a name from the list, or the newest.

    The copy is checked first, and what the store holds now is put aside. Refused while another process uses the store.
    """
    settings = door.settings()
    source = backups.chosen(settings, file)
    if not confirmed(f"Replace the content of {settings.store} with {source}?", yes=yes):
        raise InvalidInput(f"this would replace the content of {settings.store} with {source}", hint="add --yes")
    aside = backups.restore(settings, source, now_ms())

    def show() -> None:
        screen.say(f"restored {source}")
        if aside is not None:
            screen.say(f"what was there before is in {aside}")

    door.answer({"restored": str(source), "store": settings.store, "aside": str(aside) if aside else None}, show)
