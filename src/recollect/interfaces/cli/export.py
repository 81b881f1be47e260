"""`recollect export`."""

import sys
from pathlib import Path
from typing import Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces.cli import formats, screen, words
from recollect.interfaces.cli.door import Door, command


@command(
    "export",
    "recollect export --output notes.jsonl",
    "recollect export --format markdown --since 7d",
    "recollect export --kind decision --output decisions.csv",
)
@click.option("--output", "-o", metavar="FILE", default="-", help="File to write; - is standard output.")
@click.option("--format", "form", metavar="FORMAT", help="jsonl, json, csv or markdown; else the file name decides.")
@click.option("--kind", multiple=True, metavar="KIND", help="Only this kind; may be repeated.")
@click.option("--tag", multiple=True, metavar="TAG", help="Only with this tag; may be repeated, or a,b.")
@click.option("--since", metavar="WHEN", help="Not older than: 2026-01-31, or 12h, 30d, 2w.")
@click.option("--until", metavar="WHEN", help="Not newer than.")
@click.option("--state", multiple=True, metavar="STATE", help="States; live, superseded and expired by default.")
def export_command(door: Door, output: str, form: str | None, **given: Any) -> None:
    """Write notes to a file.

    JSON Lines and JSON hold everything, and import takes them back. In CSV a cell that begins like a formula gets a
    quote in front. A file is for you alone and is written whole or not at all.
    """
    writer = formats.WRITERS[_chosen(form, output)]
    filters: dict[str, Any] = words.since_until(given["since"], given["until"])
    filters |= {"kinds": words.tags(given["kind"]), "tags": words.tags(given["tag"])}
    if given["state"]:
        filters["states"] = words.tags(given["state"])
    with door.memory() as memory:
        rows = list(memory.export(**filters))
        store = memory.settings.store
    if output == "-":
        for piece in writer(rows):
            sys.stdout.write(piece)
        return
    _refuse_store(Path(output), store)
    _write(Path(output), "".join(writer(rows)))
    door.answer(
        {"path": output, "notes": len(rows)},
        lambda: screen.say(f"wrote {screen.plural(len(rows), 'note')} to {output}"),
    )


def _chosen(form: str | None, output: str) -> str:
    name = {"md": "markdown", "ndjson": "jsonl"}.get((form or "").lower(), (form or "").lower())
    name = name or formats.format_of(output) or "jsonl"
    if name not in formats.WRITERS:
        raise InvalidInput(f"unknown format {name[:40]!r}", hint=f"one of: {', '.join(formats.WRITERS)}")
    return name


def _refuse_store(path: Path, store: str) -> None:
    if path.resolve() in {Path(f"{store}{suffix}").resolve() for suffix in ("", "-wal", "-shm")}:
        raise InvalidInput(
            f"{path} is the store itself", hint="choose another file; to copy the store: recollect backup"
        )


def _write(path: Path, text: str) -> None:
    from recollect.files import write_private

    if path.is_dir():
        raise InvalidInput(f"{path} is a folder", hint="name a file in it")
    write_private(path, text)
