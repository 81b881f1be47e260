"""Captures that are not done at once: a file each, done by whoever comes next, in the order in which they came.

Doing a capture twice is harmless: a turn is known by its record, and a transcript is read from where it was left. What
a tool taught would count twice, so its file goes before it is done, and comes back when the store is busy.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from pathlib import Path

from recollect.config import load_settings
from recollect.errors import RecollectError, StoreUnavailable
from recollect.files import make_private_folder, write_private
from recollect.ids import new_uid
from recollect.interfaces.hooks.adapters import LEARNED, Happening

MOST_AT_ONCE = 200
LARGE = "large-"


def folder(home: Path | None = None) -> Path:
    return (home or load_settings().home) / "spool"


def put_what_counts(event: Happening) -> None:
    """Spools an event, unless there is nothing in it to capture or to learn."""
    if event.event in LEARNED:
        from recollect.interfaces.hooks.learning import to_learn

        lesson = to_learn(event)
        if lesson is not None:
            put(lesson)
    elif event.transcript or event.said or event.tool:
        put(event)


def put(event: Happening, *, large: bool = False) -> None:
    """What is large waits for a process that has time: no hook does it."""
    make_private_folder(folder())
    write_private(folder() / f"{LARGE if large else ''}{new_uid()}.json", json.dumps(asdict(event)))


def drain(capture: Callable[[Happening], None], *, large: bool = False) -> int:
    """Does what is waiting, oldest first; stops when the store is busy again. Returns how many were done."""
    done = 0
    for event, files in _waiting(large):
        if event.event in LEARNED and not _claimed(files):
            continue
        try:
            capture(event)
        except StoreUnavailable:
            if event.event in LEARNED:
                put(event)
            return done
        except (RecollectError, OSError):
            _set_aside(files)
            continue
        for file in files:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
        done += len(files)
    return done


def _claimed(files: list[Path]) -> bool:
    """Whether the files are ours to do: of two who take them away, one succeeds."""
    try:
        for file in files:
            file.unlink()
    except OSError:
        return False
    return True


def waiting(home: Path | None = None) -> tuple[int, int]:
    """How many captures wait, and how many could not be done."""
    try:
        return len(list(folder(home).glob("*.json"))), len(list(folder(home).glob("*.bad")))
    except OSError:
        return 0, 0


def _waiting(large: bool) -> Iterator[tuple[Happening, list[Path]]]:
    """Each capture with the files that ask for it: a transcript is read once, however often it was named."""
    found: dict[tuple[str, ...], tuple[Happening, list[Path]]] = {}
    try:
        files = sorted(folder().glob("*.json"))
    except OSError:
        return
    for file in [file for file in files if large or not file.name.startswith(LARGE)][:MOST_AT_ONCE]:
        event = _read(file)
        if event is None:
            _set_aside([file])
            continue
        same = (event.agent, event.transcript) if event.transcript and event.event != "tool" else (file.name,)
        found[same] = (event, [*found.get(same, (event, []))[1], file])
    yield from found.values()


def _set_aside(files: list[Path]) -> None:
    """Kept for a person to look at; doctor counts them."""
    for file in files:
        with contextlib.suppress(OSError):
            file.rename(file.with_suffix(".bad"))


def _read(file: Path) -> Happening | None:
    try:
        given = json.loads(file.read_bytes())
        return Happening(**{field.name: str(given.get(field.name, "")) for field in fields(Happening)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
