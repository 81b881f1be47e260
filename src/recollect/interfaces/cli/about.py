"""`recollect version` and `recollect completion`."""

import click

from recollect import __version__
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.app import COMPLETE_VARIABLE, cli
from recollect.interfaces.cli.door import Door, command


@command("version", "recollect version", "recollect version --json")
def version_command(door: Door) -> None:
    """Show which recollect this is."""
    import platform

    import apsw

    parts = {
        "version": __version__, "python": platform.python_version(), "sqlite": apsw.sqlite_lib_version(),
        "system": platform.system(),
    }  # fmt: skip
    line = f"recollect {__version__} (Python {parts['python']}, SQLite {parts['sqlite']}, {parts['system']})"
    door.answer(parts, lambda: screen.say(line))


@command(
    "completion",
    "recollect completion bash >> ~/.bashrc",
    "recollect completion zsh >> ~/.zshrc",
    "recollect completion fish > ~/.config/fish/completions/recollect.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(door: Door, shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    # Not kind.source(): for bash that starts a bash to ask its version.
    script = ShellComplete.source(kind(cli, {}, "recollect", COMPLETE_VARIABLE))
    door.answer({"shell": shell, "script": script}, lambda: click.echo(script))
