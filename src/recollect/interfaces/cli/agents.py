"""`recollect hook`: described here for people; agents reach the hooks without loading the command line."""

import click

from recollect.interfaces.cli.door import Door, command


@command(
    "hook",
    "recollect hook claude-code session-start < event.json",
    "recollect hook codex stop < event.json",
)
@click.argument("agent")
@click.argument("event", default="")
def hook_command(door: Door, agent: str, event: str) -> None:
    """Answer an event of an agent, given as JSON on standard input.

    AGENT is claude-code, codex, gemini or cursor; EVENT is session-start, prompt, stop, pre-compact or session-end, or
    the host's own name of it. Always exits with 0 and prints only what the agent reads.
    """
    from recollect.interfaces.hooks import run

    run([agent, event])
