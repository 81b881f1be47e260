"""Notes as files: JSON and JSON Lines without loss, CSV for spreadsheets, Markdown for people. Pure functions."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from recollect.interfaces.answers import iso

Row = Mapping[str, Any]

_BY_SUFFIX = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "markdown",
              ".markdown": "markdown"}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_COLUMNS = (
    "uid", "space", "created_at", "updated_at", "kind", "title", "content", "tags", "importance", "confidence",
    "pinned", "state", "tier", "context", "source", "origin", "session", "expires_at", "links", "metadata",
)  # fmt: skip


def format_of(name: str) -> str | None:
    """What a file name says about its content."""
    return _BY_SUFFIX.get(PurePath(name).suffix.lower())


def as_jsonl(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"


def as_json(rows: Iterable[Row]) -> Iterator[str]:
    lead = "[\n"
    for row in rows:
        yield lead + json.dumps(row, ensure_ascii=False)
        lead = ",\n"
    yield "[]\n" if lead == "[\n" else "\n]\n"


def as_csv(rows: Iterable[Row]) -> Iterator[str]:
    yield _csv_line(_COLUMNS)
    for row in rows:
        yield _csv_line([_cell(row, column) for column in _COLUMNS])


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([_harmless(cell) for cell in cells])
    return line.getvalue()


def _harmless(cell: str) -> str:
    """A spreadsheet runs a cell that begins like a formula; the quote makes it text."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _cell(row: Row, column: str) -> str:
    if column.endswith("_at"):
        return iso(row.get(f"{column[:-3]}_ms")) or ""
    value = row.get(column)
    if column == "tags":
        return ", ".join(value or ())
    if isinstance(value, Mapping | list):
        return json.dumps(value, ensure_ascii=False) if value else ""
    return "" if value is None else str(value)


def as_markdown(rows: Iterable[Row]) -> Iterator[str]:
    """Grouped by the day on which things were remembered, in local time."""
    yield "# Memory\n"
    today = ""
    for row in rows:
        when = time.localtime(row["created_ms"] / 1000)
        day = time.strftime("%Y-%m-%d", when)
        if day != today:
            today = day
            yield f"\n## {day}\n"
        yield f"\n### {' '.join(row['title'].split())}\n\n"
        yield f"*{', '.join(_facts(row, time.strftime('%H:%M', when)))}*\n\n{row['content'].strip()}\n"


def _facts(row: Row, clock: str) -> list[str]:
    facts = [clock, row["kind"], row["space"]]
    facts += [f"#{tag}" for tag in row["tags"]]
    facts += ["pinned"] if row["pinned"] else []
    facts += [row["state"]] if row["state"] != "live" else []
    return facts + ([f"from {row['source']}"] if row["source"] else [])


WRITERS: Mapping[str, Callable[[Iterable[Row]], Iterator[str]]] = {
    "json": as_json, "jsonl": as_jsonl, "csv": as_csv, "markdown": as_markdown,
}  # fmt: skip


class Rows:
    """The rows of a file that export wrote, JSON Lines or JSON; a line that cannot be read becomes None and a reason.

    The row stays in the count, so that numbers in a report are line numbers.
    """

    def __init__(self, text: str) -> None:
        self.troubles: dict[int, str] = {}
        whole = _array(text)
        self._rows = self._lines(text) if whole is None else whole

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def _lines(self, text: str) -> list[Any]:
        rows: list[Any] = []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            rows.append(self._line(line, number, len(rows) + 1))
        return rows

    def _line(self, line: str, number: int, place: int) -> Any:
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as trouble:
            self.troubles[place] = f"line {number} is not JSON: {trouble}"
            return None


def _array(text: str) -> list[Any] | None:
    """All rows of a JSON array; None if the text is no such thing and has to be read line by line."""
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None
