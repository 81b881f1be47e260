"""What people see: tables and lines in which no character of a note can steer the terminal.

`rich` draws tables on a terminal and is imported only there; a pipe gets plain aligned columns.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from recollect.interfaces.cli.door import is_terminal
from recollect.text.visible import visible

if TYPE_CHECKING:
    from typing import Protocol

    from recollect.types import Note

    class Advance(Protocol):
        """Moves a bar: how much is done, and of how much where that is known only now."""

        def __call__(self, done: int, of: int | None = None) -> None: ...


def say(text: str) -> None:
    """A line or a text that may hold anything a note holds."""
    click.echo(visible(text))


def remark(text: str) -> None:
    """News beside the answer; it does not disturb what is piped on."""
    click.echo(visible(text), err=True)


def day_and_time(at_ms: int | None) -> str:
    """Local time, as people read it; JSON has UTC."""
    if at_ms is None:
        return ""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1000))
    except (ValueError, OverflowError, OSError):
        return str(at_ms)


def size(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "") -> None:
    cells = [[one_line(cell) for cell in row] for row in rows]
    if is_terminal():
        _draw(columns, cells, title)
    else:
        _align(columns, cells)


def one_line(value: Any) -> str:
    text = "" if value is None else str(value)
    return visible(" ".join(text.split()) if not text.isprintable() else text)


def _align(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE, title=title or None, title_justify="left", pad_edge=False)
    for number, column in enumerate(columns):
        drawn.add_column(column, no_wrap=number == 0, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))  # Text: what looks like markup in a note stays text
    Console().print(drawn)


def progress(label: str, total: int) -> "AbstractContextManager[Advance | None]":
    """A bar on a terminal with rate and time left, moved by calling it with how much is done; nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(None)
    return _bar(label, total)


@contextmanager
def _bar(label: str, total: int) -> "Iterator[Advance]":
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f}/s" if task.speed else "")

    columns = (*Progress.get_default_columns()[:-1], MofNCompleteColumn(), Rate(), Progress.get_default_columns()[-1])
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)

        def advance(done: int, of: int | None = None) -> None:
            bar.update(task, completed=done, total=total if of is None else of)

        yield advance


def show_note(note: "Note") -> None:
    """The whole note: what it is about first, then its text."""
    marks = [note.kind, f"#{note.id}", note.space, day_and_time(note.created_ms)]
    if note.state != "live":
        marks.append(note.state.upper())
    if note.pinned:
        marks.append("pinned")
    click.echo(click.style(one_line(note.title), bold=is_terminal()))
    say("  ".join(marks))
    for name, value in _details(note):
        say(f"{name}: {value}")
    click.echo()
    say(note.content)


def _details(note: "Note") -> list[tuple[str, str]]:
    rows = [
        ("tags", ", ".join(note.tags)),
        ("context", note.context),
        ("source", note.source),
        ("session", note.session or ""),
        ("importance", str(note.importance) if note.importance != 5 else ""),
        ("confidence", f"{note.confidence:g}" if note.confidence != 1 else ""),
        ("origin", note.origin if note.origin != "user" else ""),
        ("expires", day_and_time(note.expires_ms)),
        ("true from", day_and_time(note.valid_from_ms)),
        ("true until", day_and_time(note.valid_to_ms)),
        ("links", ", ".join(f"{link.kind} {link.to}" for link in note.links)),
        ("metadata", ", ".join(f"{key}={value}" for key, value in note.metadata.items())),
        ("revision", f"{note.rev}, changed {day_and_time(note.updated_ms)}" if note.rev > 1 else ""),
    ]
    return [row for row in rows if row[1]]


def show_notes(notes: "Sequence[Note]") -> None:
    table(
        ("id", "kind", "title", "tags", "created", "space"),
        [(note.id, note.kind, _marked(note), ", ".join(note.tags), day_and_time(note.created_ms), note.space)
         for note in notes],
    )  # fmt: skip


def _marked(note: "Note") -> str:
    marks = (["pinned"] if note.pinned else []) + ([note.state] if note.state != "live" else [])
    return f"{note.title} ({', '.join(marks)})" if marks else note.title
