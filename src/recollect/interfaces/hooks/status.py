"""What the hooks did last, for `recollect doctor`: one small file, a row for each agent, written when it can be."""

import json
from pathlib import Path
from typing import Any

from recollect.config import load_settings
from recollect.errors import RecollectError
from recollect.files import make_private_folder, write_private
from recollect.ids import now_ms

MOST_PATHS = 50


def folder(home: Path | None = None) -> Path:
    return (home or load_settings().home) / "hooks"


def read(home: Path | None = None) -> dict[str, Any]:
    try:
        found = json.loads((folder(home) / "status.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def note(agent: str, *, event: str = "", captured: str = "", size: int = 0, error: str = "") -> None:
    """Keeps the row of an agent up to date; two hooks at once may lose one of two notes, which does no harm."""
    rows = read()
    known = rows.get(agent)
    row: dict[str, Any] = known if isinstance(known, dict) else {}
    at = now_ms()
    if event:
        row |= {"event": event, "event_ms": at}
    if captured:
        sizes = {path: known for path, known in row.get("sizes", {}).items() if path != captured}
        row |= {"captured_ms": at, "sizes": dict([*sizes.items(), (captured, size)][-MOST_PATHS:]), "error": ""}
    if error:
        row |= {"error": error, "error_ms": at}
    rows[agent or "unknown"] = row
    try:
        make_private_folder(folder())
        write_private(folder() / "status.json", json.dumps(rows))
    except RecollectError:
        return  # no room even for this: nothing is left to say it with


def known_size(agent: str, path: str) -> int:
    row = read().get(agent)
    size = row.get("sizes", {}).get(path, 0) if isinstance(row, dict) else 0
    return size if isinstance(size, int) else 0
