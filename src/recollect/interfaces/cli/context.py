"""`recollect context`: what an agent should know, within a budget, and why each part is there."""

import click

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command


@command(
    "context",
    "recollect context",
    'recollect context "how do we deploy?" --budget 500',
    "recollect context --why",
    "recollect context --json",
)
@click.argument("query", nargs=-1)
@click.option("--budget", type=int, default=2000, show_default=True, metavar="TOKENS", help="Most tokens to spend.")
@click.option("--why", is_flag=True, help="Say why each item is there, instead of the text itself.")
@click.option("--untrusted", is_flag=True, help="Include text from tools, the web and files.")
def context_command(door: Door, query: tuple[str, ...], budget: int, why: bool, untrusted: bool) -> None:
    """Print what an agent should know.

    For a question, or for the start of a session without one. The text is fenced as data and ready to be given to a
    model. With nothing worth telling it is empty.
    """
    with door.caught_up() as memory:
        found = memory.context(" ".join(query) or None, budget_tokens=budget, include_untrusted=untrusted)

    def show() -> None:
        if why:
            rows = [(item.section, item.id, item.tokens, item.why, item.text) for item in found.items]
            screen.table(("section", "id", "tokens", "why", "text"), rows)
        elif found.text:
            screen.say(found.text)
        screen.remark(f"{found.tokens} of {found.budget_tokens} tokens, {screen.plural(len(found.items), 'item')}")

    door.answer(answers.plain(found), show)
