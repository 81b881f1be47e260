"""The list of commands, and the one way through which a command runs and fails.

A command's module is imported when the command is used, so that a plain call pays for nothing else. No traceback
reaches a user: every error ends as `error:` and `hint:` (or as JSON), with an exit code from the error itself.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from recollect.errors import InvalidInput, RecollectError
from recollect.interfaces import answers
from recollect.interfaces.cli.door import Door, global_options

# name: (module, what it is for)
COMMANDS: dict[str, tuple[str, str]] = {
    "add": ("adding", "Remember a text."),
    "search": ("searching", "Find notes, turns and passages by keyword and meaning."),
    "get": ("reading", "Show whole notes."),
    "list": ("reading", "List notes, newest first."),
    "update": ("changing", "Change a note; the old text stays in its history."),
    "delete": ("changing", "Hide notes; restore or undo brings them back."),
    "restore": ("changing", "Bring deleted notes back."),
    "undo": ("changing", "Take an operation back, by default the newest."),
    "pin": ("changing", "Keep notes from being evicted."),
    "unpin": ("changing", "Take the pin off notes."),
    "link": ("changing", "Link a note to another."),
    "unlink": ("changing", "Remove the links from a note to another."),
    "supersede": ("believing", "Let a note or a new text take the place of a note."),
    "reinforce": ("believing", "Say that something was confirmed."),
    "contradict": ("believing", "Say that something speaks against a note."),
    "contradictions": ("believing", "List notes that say different things of the same."),
    "duplicates": ("believing", "List notes that say the same, and merge them."),
    "consolidate": ("believing", "Gather old notes on one subject, or old sessions, in one note each."),
    "promote": ("maturing", "Raise notes by a tier."),
    "demote": ("maturing", "Lower notes by a tier, from knowledge to a note."),
    "mature": ("maturing", "Move notes between tiers by rule."),
    "scratchpad": ("scratchpad", "Keep things at hand for a while, apart for each session."),
    "history": ("reading", "Show the earlier versions of a note."),
    "log": ("reading", "List operations, newest first."),
    "context": ("context", "Print what an agent should know."),
    "timeline": ("reading", "Show what happened before and after a note or a turn."),
    "stats": ("reading", "Count what is remembered."),
    "index": ("indexing", "Make files and agents' transcripts searchable."),
    "watch": ("indexing", "Index now, and again whenever something changes."),
    "sessions": ("sessions", "Show sessions and what was said in them."),
    "spaces": ("spaces", "List, rename and merge spaces."),
    "init": ("spaces", "Make the current folder a project with a memory of its own."),
    "export": ("export", "Write notes to a file."),
    "import": ("importing", "Take in notes that export wrote."),
    "backup": ("backup", "Copy the whole store, list copies, bring one back."),
    "tools": ("tools", "Keep tools, find the one that fits a request, and learn from what worked."),
    "reindex": ("reindexing", "Bring what is derived from notes, turns and files up to date."),
    "eval": ("evaluating", "Measure search on your own notes."),
    "forget": ("forgetting", "Remove every trace of notes, sessions, a source or a word."),
    "cleanup": ("cleaning", "Bring the store back within its bounds."),
    "verify": ("verifying", "Prove that nothing was changed behind recollect's back."),
    "doctor": ("doctor", "Check the store and repair what can be rebuilt."),
    "setup": ("agents", "Give an agent its memory."),
    "hook": ("agents", "Answer an event of an agent."),
    "proxy": ("proxying", "Serve many MCP servers as one, and learn which tools work."),
    "mcp": ("serving", "Serve this memory to an agent through the Model Context Protocol."),
    "demo": ("demo", "See recollect at work on a store of its own."),
    "config": ("settings", "Show and change settings."),
    "completion": ("about", "Print the completion script for a shell."),
    "version": ("about", "Show which recollect this is."),
}
ALIASES = {"save": "add"}
COMPLETE_VARIABLE = "_RECOLLECT_COMPLETE"

_EPILOG = """\b
Start here:
  recollect add "We chose PostgreSQL for billing"
  recollect search "billing database"
  recollect COMMAND --help

\b
Exit codes: 0 done, 1 unexpected, 2 bad input, 3 not found, 4 conflict,
5 store unavailable, 6 damaged, 7 embedder unavailable, 130 interrupted."""


class LazyGroup(click.Group):
    """Knows its commands by name; loads one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"recollect.interfaces.cli.{COMMANDS[name][0]}")
        found: click.Command = getattr(module, f"{name}_command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if ctx.resilient_parsing or word.startswith("-") or ALIASES.get(word, word) in COMMANDS:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = get_close_matches(word, [*COMMANDS, *ALIASES], n=1)
        hint = f"did you mean `recollect {near[0]}`?" if near else "`recollect --help` lists the commands"
        raise InvalidInput(f"there is no command {word[:40]!r}", hint=hint)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, purpose) for name, (_, purpose) in COMMANDS.items()])


@click.pass_context
def _start(ctx: click.Context, store: str | None, space: str | None, as_json: bool, version: bool) -> None:
    """Persistent memory for AI agents: remember, and find again by keyword and meaning."""
    ctx.obj = Door(store, space, as_json)
    if version:
        from recollect import __version__

        click.echo(f"recollect {__version__}")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


cli = LazyGroup(
    "recollect", callback=_start, invoke_without_command=True, help=_start.__doc__, epilog=_EPILOG,
    params=[click.Option(["--version"], is_flag=True, help="Show the version and leave."), *global_options()],
    add_help_option=False,
)  # fmt: skip


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code."""
    _prepare_streams()
    if COMPLETE_VARIABLE in os.environ:
        cli.main(list(arguments), prog_name="recollect", complete_var=COMPLETE_VARIABLE)
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _quiet_pipe()
    except click.Abort:  # Ctrl-C or end of input at a question
        raise KeyboardInterrupt from None
    except RecollectError as error:
        return _report(error, arguments)
    except click.ClickException as error:
        return _report(_bad_usage(error), arguments)
    except Exception as error:  # the edge: no traceback reaches a user unasked
        if os.environ.get("RECOLLECT_DEBUG"):
            raise
        return _report(answers.unexpected(error), arguments)


def _run(arguments: Sequence[str]) -> int:
    _refuse_broken_text(arguments)
    try:
        with cli.make_context("recollect", list(arguments)) as ctx:
            result: Any = cli.invoke(ctx)
    except click.exceptions.Exit as leave:  # --help and friends
        return leave.exit_code
    return result if isinstance(result, int) else answers.EXIT_OK


def _refuse_broken_text(arguments: Sequence[str]) -> None:
    """Bytes that are no UTF-8 arrive as lone surrogates; nothing could store or print them."""
    for number, argument in enumerate(arguments, 1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f"argument {number} is not valid UTF-8",
                hint="convert it first, for example with `iconv -t utf-8`, or check the terminal's encoding",
            ) from None


def _prepare_streams() -> None:
    """Pipes carry UTF-8 on every system; a character that a terminal does not have is shown as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            encoding = {} if stream.isatty() else {"encoding": "utf-8"}
            reconfigure(errors="backslashreplace", **encoding)


def _quiet_pipe() -> int:
    """Whoever read our output has seen enough; Python's last flush must not complain either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return answers.EXIT_OK


def _bad_usage(error: click.ClickException) -> InvalidInput:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "recollect"
    return InvalidInput(error.format_message().rstrip("."), hint=f"`{path} --help` shows what it takes")


def _report(error: RecollectError, arguments: Sequence[str]) -> int:
    from recollect.text.visible import visible

    options = arguments[: list(arguments).index("--")] if "--" in arguments else arguments
    try:
        if "--json" in options:
            click.echo(answers.dumps({"error": answers.error_json(error)}))
        else:
            click.echo(f"error: {visible(error.message)}", err=True)
            if error.hint:
                click.echo(f"hint: {visible(error.hint)}", err=True)
    except BrokenPipeError:
        _quiet_pipe()
    return error.exit_code
