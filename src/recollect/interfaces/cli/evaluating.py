"""`recollect eval`."""

import click

from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command

COLUMNS = ("recall_1", "recall_5", "recall_10", "mrr", "p50_ms", "p95_ms")


@command("eval", "recollect eval", "recollect eval --notes 500 --mode keyword")
@click.option("--notes", type=click.IntRange(1, 100_000), default=200, show_default=True, help="How many to ask for.")
@click.option("--mode", type=click.Choice(("hybrid", "keyword", "vector")), default="hybrid", show_default=True)
@click.option("--fusion", type=click.Choice(("default", "rrf", "weighted")), default="default", show_default=True)
def eval_command(door: Door, notes: int, mode: str, fusion: str) -> None:
    """Measure search on your own notes.

    Asks for notes with a few of their own words and counts how often each comes first, among five, among ten. Results
    are kept, so that a change of model or settings can be judged by the line before.
    """
    with door.memory() as memory:
        result = memory.evaluate(notes=notes, mode=mode, fusion=fusion)

    def show() -> None:
        rows = [
            (entry["date"][:16], entry["model"] or "-", f"{entry['mode']}/{entry['fusion']}", entry["questions"],
             *(entry[column] for column in COLUMNS))
            for entry in [*result["history"][-4:], result["result"]]
        ]  # fmt: skip
        screen.table(("when", "model", "mode", "asked", "R@1 %", "R@5 %", "R@10 %", "MRR %", "p50 ms", "p95 ms"), rows)

    door.answer(result, show)
