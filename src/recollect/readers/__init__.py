"""Outside formats as our words: agents' transcripts and plain files. Generators only; no database, no network.

`reader_for` finds the reader by looking at the file, built-in formats first, then those of other packages (entry
point group `recollect.readers`, a callable without arguments that gives a `TranscriptReader`).
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.readers.claude_code import ClaudeCodeReader, ClaudeWebReader
from recollect.readers.codex import CodexReader
from recollect.readers.contract import Head, Item, Mark, Rewind, Said, Skip, Text, TranscriptReader
from recollect.readers.cursor import CursorReader
from recollect.readers.gemini import GeminiDocumentReader, GeminiReader
from recollect.readers.generic import GenericDocumentReader, GenericReader, conversation_text
from recollect.readers.homes import Root, agent_histories
from recollect.readers.lines import Unpackable, read_head
from recollect.readers.opencode import OpenCodePartReader, OpenCodeReader
from recollect.readers.others import AntigravityReader, CopilotReader, DroidReader, KimiReader, QwenReader
from recollect.readers.paths import DEFAULT_IGNORES, MAX_FILE_BYTES, Found, Refused, open_safely, walk
from recollect.readers.plain import FileReader
from recollect.readers.sqlite_stores import SQLITE_MAGIC, CursorStoreReader, OpenClawStoreReader, OpenCodeStoreReader
from recollect.readers.tree import OpenClawReader, PiReader

__all__ = [
    "DEFAULT_IGNORES", "MAX_FILE_BYTES", "FileReader", "Found", "Head", "Item", "Mark", "Refused", "Rewind", "Root",
    "Said", "Skip", "Text", "TranscriptReader", "agent_histories", "conversation_text", "open_safely", "reader_for",
    "transcript_readers", "walk",
]  # fmt: skip

ENTRY_POINTS = "recollect.readers"

# The particular before the general: the last one takes almost any record with a speaker.
_LINES: tuple[TranscriptReader, ...] = (
    CodexReader(), DroidReader(), OpenClawReader(), PiReader(), GeminiReader(), CursorReader(), QwenReader(),
    ClaudeCodeReader(), CopilotReader(), KimiReader(), AntigravityReader(), GenericReader(),
)  # fmt: skip
_DOCUMENTS: tuple[TranscriptReader, ...] = (
    OpenCodeReader(), OpenCodePartReader(), ClaudeWebReader(), GeminiDocumentReader(), GenericDocumentReader(),
)  # fmt: skip
_DATABASES: tuple[TranscriptReader, ...] = (CursorStoreReader(), OpenClawStoreReader(), OpenCodeStoreReader())


def transcript_readers() -> tuple[TranscriptReader, ...]:
    """The built-in readers."""
    return _LINES + _DOCUMENTS + _DATABASES


def reader_for(path: Path, *, root: Path | None = None) -> TranscriptReader | FileReader | Skip:
    """The reader that knows this file, or why there is none. Looks into the file; raises OSError if it cannot."""
    try:
        head = read_head(path, root)
    except (Unpackable, InvalidInput) as trouble:
        return Skip(str(trouble))
    if not head:
        return Skip("packed data is damaged or cut short" if path.stat().st_size else "empty file")
    for reader in _candidates(path, head):
        if reader.sniff(path, head):
            return reader
    if head.startswith(SQLITE_MAGIC):
        return Skip("unknown database")
    if _is_lines(path):
        return Skip("unknown transcript format")
    plain = FileReader()
    return plain if not _is_packed(path) and plain.sniff(path, head) else Skip("binary file")


def _candidates(path: Path, head: bytes) -> Iterator[TranscriptReader]:
    """Readers worth asking: a file's name says whether it may hold records at all."""
    if head.startswith(SQLITE_MAGIC):
        yield from _DATABASES
    elif _is_lines(path):
        yield from _LINES
    elif ".json" in path.suffixes:
        yield from _DOCUMENTS
    else:
        return
    yield from _from_other_packages()


def _is_lines(path: Path) -> bool:
    return not {".jsonl", ".ndjson"}.isdisjoint(path.suffixes)


def _is_packed(path: Path) -> bool:
    return path.suffix in {".gz", ".zst"}


@cache
def _from_other_packages() -> tuple[TranscriptReader, ...]:
    from importlib.metadata import entry_points  # slow to import, so only when nothing of ours fits

    return tuple(point.load()() for point in entry_points(group=ENTRY_POINTS))
