"""`recollect config`: list, get, set, path."""

import click

from recollect import config
from recollect.errors import NotFound
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, topic

config_command = topic("config", "Show and change settings.")


@command("list", "recollect config", "recollect config list --json", group=config_command)
def list_command(door: Door) -> None:
    """List every setting with its value and where that came from."""
    rows = config.describe(door.settings())
    door.answer(
        {"settings": [row._asdict() for row in rows], "file": str(config.config_path())},
        lambda: screen.table(("name", "value", "from"), [(row.name, row.value, row.origin) for row in rows]),
    )


@command("get", "recollect config get search_limit", group=config_command)
@click.argument("name")
def get_command(door: Door, name: str) -> None:
    """Show one setting."""
    found = [row for row in config.describe(door.settings()) if row.name == name.strip().lower().replace("-", "_")]
    if not found:
        raise NotFound(f"no setting {name[:40]!r}", hint="`recollect config` lists them")
    door.answer(found[0]._asdict(), lambda: screen.say(found[0].value))


@command(
    "set", "recollect config set search_limit 20", "recollect config set kinds recipe,meeting", group=config_command
)
@click.argument("name")
@click.argument("value")
def set_command(door: Door, name: str, value: str) -> None:
    """Write one setting into the config file; the rest of the file stays as it is."""
    file = config.config_path()
    config.set_in_file(file, name, value)
    door.answer({"name": name, "value": value, "file": str(file)}, lambda: screen.say(f"{name} is set in {file}"))


@command("path", "recollect config path", group=config_command)
def path_command(door: Door) -> None:
    """Show where the config file is, whether it exists or not."""
    file = config.config_path()
    door.answer({"file": str(file), "exists": file.exists()}, lambda: screen.say(str(file)))
