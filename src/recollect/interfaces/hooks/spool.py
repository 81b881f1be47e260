"""Captures that could not be done at once: a file each, done by whoever comes next, in the order in which they came.

Doing one twice is harmless: a turn is known by its record, and a transcript is read from where it was left.
"""

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path

from recollect.config import load_settings
from recollect.errors import RecollectError, StoreUnavailable
from recollect.files import make_private_folder, write_private
from recollect.ids import new_uid
from recollect.interfaces.hooks.adapters import Happening

MOST_AT_ONCE = 20
LARGE = "large-"


def folder(home: Path | None = None) -> Path:
    return (home or load_settings().home) / "spool"


def put(event: Happening, *, large: bool = False) -> None:
    """What is large waits for a process that has time: no hook does it."""
    make_private_folder(folder())
    write_private(folder() / f"{LARGE if large else ''}{new_uid()}.json", json.dumps(asdict(event)))


def drain(capture: Callable[[Happening], None], *, large: bool = False) -> int:
    """Does what is waiting, oldest first; stops when the store is busy again. Returns how many were done."""
    try:
        found = sorted(folder().glob("*.json"))
    except OSError:
        return 0
    waiting = [file for file in found if large or not file.name.startswith(LARGE)][:MOST_AT_ONCE]
    done = 0
    for file in waiting:
        event = _read(file)
        if event is not None:
            try:
                capture(event)
            except StoreUnavailable:
                return done
            except (RecollectError, OSError):
                event = None
        with contextlib.suppress(OSError):
            if event is None:
                file.rename(file.with_suffix(".bad"))  # kept for a person to look at; doctor counts them
            else:
                file.unlink(missing_ok=True)
                done += 1
    return done


def _read(file: Path) -> Happening | None:
    try:
        given = json.loads(file.read_bytes())
        return Happening(**{field.name: str(given[field.name]) for field in fields(Happening)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
