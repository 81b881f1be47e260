"""`recollect add`."""

from typing import Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces import answers
from recollect.interfaces.cli.door import Door, command
from recollect.interfaces.cli.fields import note_fields, note_options
from recollect.interfaces.cli.words import given_text


@command(
    "add",
    'recollect add "We chose PostgreSQL for billing"',
    'recollect add "Ana prefers short answers" --kind preference --tag style --pin',
    "git log -1 --format=%B | recollect add - --tag release --expires 30d",
)
@click.argument("text", nargs=-1)
@note_options
@click.option("--session", metavar="UID", help="Session that it belongs to.")
@click.option("--origin", metavar="WHO", help="user, agent, tool, web or file; user by default.")
@click.option("--pin", is_flag=True, help="Never evict it.")
def add_command(door: Door, text: tuple[str, ...], **given: Any) -> None:
    """Remember a text.

    TEXT is the text itself, or - to read it from standard input. A text that is already remembered is not stored
    twice: the note that has it is the answer.
    """
    content = given_text(text)
    if content is None:
        raise InvalidInput("there is no text to remember", hint='recollect add "some text", or pipe it in')
    fields = note_fields(given)
    fields |= {name: given[name] for name in ("session", "origin") if given[name] is not None}
    with door.memory(create=True) as memory:
        added = memory.add(content, pinned=given["pin"], allow_secrets=given["allow_secrets"], **fields)
    door.answer(answers.added_json(added), lambda: _show(added))


def _show(added: Any) -> None:
    from recollect.interfaces.cli.screen import one_line, say

    verb = "already remembered" if added.duplicate else "remembered"
    say(f"{verb} #{added.id} in {added.space}: {added.kind} · {one_line(added.title)}")
    if added.notice:
        say(added.notice)
