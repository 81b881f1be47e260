"""What hooks keep beside the store until it is captured: what is forgotten goes from there too.

Each capture that waits is a small file of plain fields in the spool; a session's last request is one in `hooks/asked`.
What could not be captured lies there as well, under another ending. A capture belongs to the space that it would go
to: those of other spaces are left alone and only counted.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import Settings, load_settings
from recollect.files import unwritable
from recollect.values import value

if TYPE_CHECKING:  # hooks ask for a file name alone, and must not load a store for it
    from recollect.store import Store
    from recollect.types import Session

MOST_BYTES = 50_000_000  # of a transcript that is looked through


@value
class Choice:
    """What is to go: everything of these sessions and sources, and what has the words; `since_ms` narrows the words."""

    sessions: "tuple[Session, ...]" = ()
    sources: tuple[str, ...] = ()
    query: str = ""
    since_ms: int | None = None
    everything: bool = False


@value
class Spooled:
    files: tuple[Path, ...] = ()
    elsewhere: int = 0  # captures of other spaces with the words
    transcripts: tuple[str, ...] = ()  # that wait to be read and have the words


def request_file(home: Path, agent: str, key: str) -> Path:
    """Where a session's last request waits."""
    return home / "hooks" / "asked" / f"{hashlib.sha256(f'{agent} {key}'.encode()).hexdigest()[:24]}.json"


def spooled(store: "Store", settings: Settings, spaces: Sequence[int], choice: Choice) -> Spooled:
    chosen = list(_requests(settings.home, choice))
    others, transcripts = 0, []
    for path, fields in _waiting(settings.home):
        if _of_session_or_source(fields, choice):
            chosen.append(path)
            continue
        with_words = _has(path, "\n".join(fields.values()), choice)
        if with_words and _is_ours(store, settings, spaces, fields.get("folder", "")):
            chosen.append(path)
        else:
            others += with_words
            if not with_words and _transcript_has(fields.get("transcript", ""), choice):
                transcripts.append(fields["transcript"])
    return Spooled(tuple(chosen), others, tuple(dict.fromkeys(transcripts)))


def remove(files: Sequence[Path]) -> int:
    """How many were still there; another process may have captured one since, and then it is in the store."""
    gone = 0
    for path in files:
        try:
            path.unlink()
            gone += 1
        except FileNotFoundError:
            continue
        except OSError as trouble:
            raise unwritable(path, trouble) from trouble
    return gone


def _waiting(home: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    for path in sorted((home / "spool").glob("*")):
        if path.suffix in (".json", ".bad"):
            yield path, _fields(path)


def _requests(home: Path, choice: Choice) -> Iterator[Path]:
    of_sessions = {request_file(home, one.agent, one.key) for one in choice.sessions}
    for path in sorted((home / "hooks" / "asked").glob("*.json")):
        if path in of_sessions or _has(path, "\n".join(_fields(path).values()), choice):
            yield path


def _fields(path: Path) -> Mapping[str, str]:
    """The fields of a capture; what cannot be read as one is one field."""
    try:
        raw = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    try:
        given = json.loads(raw)
    except ValueError:
        return {"": raw}
    return {str(name): str(part) for name, part in given.items()} if isinstance(given, dict) else {"": str(given)}


def _of_session_or_source(fields: Mapping[str, str], choice: Choice) -> bool:
    said_in, transcript = (fields.get("agent", ""), fields.get("key", "")), fields.get("transcript", "")
    if any(said_in == (one.agent, one.key) or (transcript and transcript == one.source) for one in choice.sessions):
        return True
    return bool(transcript) and any(Path(transcript).is_relative_to(source) for source in choice.sources if source)


def _has(path: Path, text: str, choice: Choice) -> bool:
    """Whether it has the words, or everything is meant; and is from the time that is meant."""
    if not (choice.everything or (choice.query and choice.query.casefold() in text.casefold())):
        return False
    try:
        return choice.since_ms is None or path.stat().st_mtime * 1000 >= choice.since_ms
    except FileNotFoundError:
        return False


def _transcript_has(transcript: str, choice: Choice) -> bool:
    if not (transcript and choice.query):
        return False
    try:
        with Path(transcript).expanduser().open("rb") as stream:
            held = stream.read(MOST_BYTES).decode("utf-8", "replace").casefold()
    except OSError:  # it is gone, and what is gone will not be captured
        return False
    phrase = choice.query.casefold()
    return phrase in held or json.dumps(phrase)[1:-1] in held


def _is_ours(store: "Store", settings: Settings, spaces: Sequence[int], folder: str) -> bool:
    """Whether a capture in that folder would go to one of these spaces of this store."""
    from recollect.spaces import find, wish, with_local_store

    place = Path(folder or settings.home)
    usual = load_settings(home=settings.home)  # as the hooks have them, whatever this call was told
    if with_local_store(usual, place).store != settings.store:
        return False
    found = find(store, wish(usual.space, place, settings.home))
    return found is not None and found.id in spaces
