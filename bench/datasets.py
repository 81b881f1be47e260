"""Reading evaluation data: any folder with corpus, queries and qrels files (see bench/README.md for the format)."""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_MONTHS = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)  # noqa: SIM905
}
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_DAY_FIRST = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})")
_NAMED = re.compile(r"(?:(\d{1,2})\s+)?([A-Za-z]{3,9})[-\s,]+(?:(\d{1,2})(?!\d)[-,\s]+)?(\d{4})")


@dataclass(frozen=True)
class Query:
    id: str
    text: str
    category: str
    group: str
    relevant: dict[str, float]
    date_ms: int | None


@dataclass
class Dataset:
    name: str
    groups: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    learn: list[Query] = field(default_factory=list)

    @property
    def is_conversation(self) -> bool:
        """Rows that say who spoke in which session are turns; everything else is plain documents."""
        return all("session" in row and "speaker" in row for rows in self.groups.values() for row in rows[:1])


def datasets(folder: Path, only: set[str] | None = None) -> Iterator[Path]:
    for place in sorted(folder.iterdir()):
        if place.is_dir() and _file(place, "corpus") and _file(place, "qrels") and (not only or place.name in only):
            yield place


def load(place: Path) -> Dataset:
    data = Dataset(place.name)
    for row in rows_of(place, "corpus"):
        data.groups.setdefault(str(row.get("group", "")), []).append(row)
    relevant: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows_of(place, "qrels"):
        relevant[row["query_id"]][row["doc_id"]] = float(row.get("rel", 1))
    for row in rows_of(place, "queries"):
        query = Query(
            row["id"], row["text"], str(row.get("category", "")), str(row.get("group", "")),
            relevant.get(row["id"], {}), when(row.get("date")),
        )  # fmt: skip
        (data.learn if row.get("role") == "learn" else data.queries).append(query)
    return data


def rows_of(place: Path, name: str) -> Iterator[dict[str, Any]]:
    path = _file(place, name)
    if path is None:
        return
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _file(place: Path, name: str) -> Path | None:
    return next((path for suffix in (".jsonl", ".jsonl.gz") if (path := place / f"{name}{suffix}").exists()), None)


def when(text: Any) -> int | None:
    """A date in one of the forms that people write, as milliseconds; None if there is none."""
    if not isinstance(text, str):
        return None
    day = _day(text)
    if day is None:
        return None
    hour = minute = second = 0
    if clock := _CLOCK.search(text):
        hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
        if clock[4]:
            hour = hour % 12 + (12 if clock[4].lower() == "pm" else 0)
    try:
        return int(datetime(*day, hour, minute, second, tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return None


def _day(text: str) -> tuple[int, int, int] | None:
    if found := _NUMERIC.search(text):
        return int(found[1]), int(found[2]), int(found[3])
    if found := _DAY_FIRST.search(text):
        return int(found[3]), int(found[2]), int(found[1])
    for found in _NAMED.finditer(text):
        month = _MONTHS.get(found[2][:3].lower())
        if month:
            return int(found[4]), month, int(found[1] or found[3] or 1)
    return None
