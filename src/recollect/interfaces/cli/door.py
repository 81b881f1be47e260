"""What every command shares: the global options, the way to a Memory, and how answers are printed.

A command receives a Door first. It opens Memory through it and answers through it, so that `--store`, `--space` and
`--json` mean the same everywhere. Only creating verbs may make a store; a reading verb on a missing one says so.
"""

import functools
import gc
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from recollect.interfaces import answers

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.memory import Memory

Callback = Callable[..., Any]


class Door(NamedTuple):
    store: str | None
    space: str | None
    as_json: bool

    def memory(self, *, create: bool = False) -> "Memory":
        from recollect.memory import Memory

        gc.freeze()  # what was imported stays anyway; from here on the collector works as usual
        gc.enable()
        return Memory(self.store, space=self.space, actor="cli", create=create)

    def caught_up(self) -> "Memory":
        """A Memory that knows what hooks left to be done."""
        from recollect.interfaces.hooks import spool

        memory = self.memory()
        if self.store is None and any(spool.waiting(memory.settings.home)[:1]):
            from recollect.interfaces.hooks.acting import capture

            spool.drain(capture, large=True)
        return memory

    def settings(self) -> "Settings":
        """As Memory would see them here."""
        from pathlib import Path

        from recollect.config import load_settings
        from recollect.spaces import with_local_store

        return with_local_store(load_settings(store=self.store, space=self.space), Path.cwd())

    def answer(self, value: Any, show: Callable[[], object]) -> None:
        """The value as JSON if that was asked for, else whatever `show` prints."""
        if self.as_json:
            click.echo(answers.dumps(value, indent=2 if is_terminal() else None))
        else:
            show()


def is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def global_options() -> list[click.Parameter]:
    return [
        click.Option(["--store"], metavar="URL", help="Store to use: a file or a postgresql:// address."),
        click.Option(["--space"], metavar="NAME", help="Space to use: auto, user, a name, or all for reading."),
        click.Option(["--json", "as_json"], is_flag=True, help="Answer as JSON."),
        help_option(),
    ]


def help_option() -> click.Option:
    """click's own would translate its text at every start, and that loads the locale's tables: 3 ms of every call."""
    return click.Option(
        ["--help"], is_flag=True, is_eager=True, expose_value=False, callback=_show_help, help="Show this and leave."
    )


def _show_help(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(ctx.get_help())
        ctx.exit()


def examples(lines: Sequence[str]) -> str:
    """The end of a command's help; the mark keeps the line breaks."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def command(name: str, *lines: str, group: click.Group | None = None) -> Callable[[Callback], click.Command]:
    """A command with the global options and its examples; the function receives a Door first."""

    def made(function: Callback) -> click.Command:
        @functools.wraps(function)
        def called(store: str | None, space: str | None, as_json: bool, **given: Any) -> Any:
            outer = click.get_current_context().find_object(Door) or Door(None, None, False)
            door = Door(store or outer.store, space or outer.space, as_json or outer.as_json)
            return function(door, **given)

        own = reversed(getattr(function, "__click_params__", []))  # decorators apply from the bottom up
        found = click.Command(
            name, callback=called, params=[*own, *global_options()], help=function.__doc__,
            epilog=examples(lines) if lines else None, add_help_option=False,
        )  # fmt: skip
        if group is not None:
            group.add_command(found, name)
        return found

    return made


class Topic(click.Group):
    """A group that lists when no sub-command is named: `recollect spaces` is `recollect spaces list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def topic(name: str, purpose: str) -> Topic:
    return Topic(name, help=purpose, params=[help_option()], add_help_option=False)
