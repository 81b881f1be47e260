"""`recollect reindex`."""

import click

from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command


@command("reindex", "recollect reindex", "recollect reindex --model hashing")
@click.option("--force", is_flag=True, help="Cut and tokenise everything anew, not only what an older version did.")
@click.option("--model", metavar="NAME", help="Embedder to use from now on; else the one of the settings.")
def reindex_command(door: Door, model: str | None, force: bool) -> None:
    """Bring what is derived from notes, turns and files up to date.

    What an older version cut or tokenised is done anew; --model gives the store another model. The old vectors serve
    until the new ones are complete, and others may read and write meanwhile. When it is interrupted, running it again
    goes on where it was.
    """
    with door.memory() as memory:
        configured = memory.settings.embedder
        with screen.progress("embedding", memory.stats()["chunks"]) as advance:
            done = memory.reindex(model, force=force, progress=advance)

    def show() -> None:
        if done["rechunked"]:
            screen.say(f"{screen.plural(done['rechunked'], 'text')} cut and tokenised anew")
        screen.say(f"{done['model']} serves this store now; {screen.plural(done['embedded'], 'vector')} made")
        if model is not None and model != configured:
            screen.say(f"make it your setting too: recollect config set embedder {model}")

    door.answer(dict(done), show)
