"""The daily log: what was remembered, as one readable file a day. A mirror, never a source, and never indexed.

    # Daily Log - 2026-11-15
    - **14:03:22** [decision] (manual) We chose PostgreSQL for billing

Days are the user's own (local time), taken anew for every line, so that midnight and a clock that was set are right.
"""

import time
from collections.abc import Iterable
from pathlib import Path

from recollect.files import replace_whole
from recollect.types import Note

LONGEST = 200
NEVER_LOGGED = "file-index"


def folder_of(home: Path, space: str) -> Path:
    """Under a folder name that the indexer never enters."""
    return home / ".recollect" / "daily" / "".join(char if char.isalnum() or char in "-_." else "_" for char in space)


def append(home: Path, notes: Iterable[Note]) -> str:
    """Adds a line for each note; says what went wrong, because the note itself is safe and must not be refused."""
    try:
        for note in notes:
            if note.source != NEVER_LOGGED:
                _append(folder_of(home, note.space), note)
    except OSError as trouble:
        return f"the daily log was not written: {trouble.strerror or trouble}"
    return ""


def _append(folder: Path, note: Note) -> None:
    moment = time.localtime(note.created_ms / 1000)
    day = time.strftime("%Y-%m-%d", moment)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / f"{day}.md").open("a", encoding="utf-8") as log:
        if log.tell() == 0:
            log.write(f"# Daily Log - {day}\n\n")
        log.write(line_of(note, time.strftime("%H:%M:%S", moment)))


def strike(home: Path, texts: Iterable[str], phrase: str = "") -> int:
    """Takes out the lines of these texts, and those that have the phrase; returns how many."""
    marks = {_short(text) for text in texts}
    gone = 0
    for path in (home / ".recollect" / "daily").rglob("*.md"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not _is_of(line, marks, phrase.casefold())]
        if len(kept) < len(lines):
            replace_whole(path, "".join(kept), mode=0o600)
            gone += len(lines) - len(kept)
    return gone


def _is_of(line: str, marks: set[str], phrase: str) -> bool:
    if not line.startswith("- **"):
        return False
    return bool(phrase and phrase in line.casefold()) or any(line.rstrip("\n").endswith(f") {mark}") for mark in marks)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def line_of(note: Note, clock: str) -> str:
    return f"- **{clock}** [{note.kind}] ({note.source or 'manual'}) {_short(note.content)}\n"
