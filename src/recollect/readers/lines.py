"""A growing file as a stream of whole lines, each with its place, in bounded memory.

A last line without its newline is torn and waits, unless it already is a whole JSON object: no beginning of an object
is an object itself, so nothing that is written later can change what it says. Packed files (.gz, .zst) are unpacked
on the way, and their offsets count unpacked bytes.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from recollect.errors import InvalidInput
from recollect.readers.paths import open_safely

HEAD_BYTES = 64 << 10
MAX_LINE_BYTES = 32 << 20
# A few packed bytes can hold any number of unpacked ones; an honest transcript stays far below this.
MAX_UNPACKED_BYTES = 2 << 30
_PIECE = 1 << 20

# Blanks, a byte order mark, and the NULs that a power cut can leave where a line was about to be.
_PADDING = " \t\r\n\x00\ufeff"
_DECODER = json.JSONDecoder()

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: where it starts, where it ends, its 1-based number; `record` is its JSON value, or `reason` why not."""

    start: int
    end: int
    number: int
    record: Any = None
    reason: str = ""
    ended: bool = True


class Unpackable(Exception):
    """The packed file cannot be unpacked (further): damaged, cut short, or no unpacker for it here."""


@contextmanager
def unpacked(path: Path, root: Path | None = None) -> Iterator[tuple[BinaryIO, bool]]:
    """The file's bytes, unpacked if need be, and whether they were packed; regular files only."""
    with ExitStack() as opened:
        raw = opened.enter_context(open_safely(path, path.parent if root is None else root))
        magic = raw.read(4)
        raw.seek(0)
        stream = raw
        if magic.startswith(GZIP_MAGIC):
            stream = cast(BinaryIO, opened.enter_context(gzip.GzipFile(fileobj=raw)))
        elif magic == ZSTD_MAGIC:
            stream = cast(BinaryIO, opened.enter_context(_zstd().ZstdFile(raw)))
        yield stream, stream is not raw


def _zstd() -> Any:
    """Python's own module since 3.14, before that its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    raise Unpackable("no unpacker for zstd: pip install backports.zstd")


def _damage() -> tuple[type[BaseException], ...]:
    """What the unpackers raise on damaged data."""
    kinds: tuple[type[BaseException], ...] = (EOFError, zlib.error, gzip.BadGzipFile)
    try:
        return (*kinds, _zstd().ZstdError)
    except Unpackable:
        return kinds


def read_head(path: Path, root: Path | None = None, size: int = HEAD_BYTES) -> bytes:
    """The first bytes, unpacked. A damaged packed file gives what can be had."""
    with unpacked(path, root) as (stream, _):
        pieces = b""
        try:
            while len(pieces) < size and (piece := stream.read(size - len(pieces))):
                pieces += piece
        except _damage():
            return pieces
        return pieces


def read_whole(path: Path, root: Path | None, limit: int) -> bytes | None:
    """The whole file, unpacked; None if it is larger than `limit`."""
    with unpacked(path, root) as (stream, _):
        try:
            content = stream.read(limit + 1)
        except _damage() as trouble:
            raise Unpackable("packed data is damaged or cut short") from trouble
    return None if len(content) > limit else content


def unpack_zstd(packed: bytes, limit: int) -> bytes:
    """What was packed on its own, such as a column of a database. Raises `Unpackable`, also if there is more of it."""
    try:
        content: bytes = _zstd().ZstdDecompressor().decompress(packed, max_length=limit + 1)
    except _damage() as trouble:
        raise Unpackable("packed data is damaged or cut short") from trouble
    if len(content) > limit:
        raise Unpackable("unpacks to more than the cap")
    return content


def json_lines(path: Path, offset: int, number: int, root: Path | None = None) -> Iterator[Line]:
    """The whole lines from byte `offset` on; `number` lines ended before it. Raises `Unpackable` where data breaks."""
    with unpacked(path, root) as (stream, packed):
        try:
            stream.seek(offset)
            yield from _lines(stream, offset, number, MAX_UNPACKED_BYTES if packed else None)
        except _damage() as trouble:
            raise Unpackable("packed data is damaged or cut short") from trouble


def _lines(stream: BinaryIO, offset: int, number: int, limit: int | None) -> Iterator[Line]:
    while data := stream.readline(MAX_LINE_BYTES + 1):
        if limit is not None and offset > limit:
            raise Unpackable("unpacks to more than the cap")
        start, number = offset, number + 1
        offset += len(data)
        if data.endswith(b"\n"):
            yield from _parsed(data, start, number)
        elif len(data) > MAX_LINE_BYTES:
            rest = _pass_line(stream)
            if rest is None:
                return
            offset += rest
            yield Line(start, offset, number, reason="line longer than 32 MB")
        else:
            yield from _torn(data, start, number)
            return


def _parsed(data: bytes, start: int, number: int) -> Iterator[Line]:
    """What one line holds: a record, as a rule; several if two writers lost the newline between theirs."""
    end = start + len(data)
    text = data.decode("utf-8", "surrogateescape")
    at = len(text) - len(text.lstrip(_PADDING))
    if at == len(text):
        return
    begin = start + _byte_length(text[:at])
    try:
        yield Line(begin, end, number, record=json.loads(text[at:] if at else text))
    except (ValueError, RecursionError):
        yield from _glued(text, at, start, number)


def _glued(text: str, at: int, start: int, number: int) -> Iterator[Line]:
    """The objects that a line begins with, then one malformed piece for what is left of it."""
    begin = start + _byte_length(text[:at])
    while text.startswith("{", at):
        try:
            record, after = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        end = begin + _byte_length(text[at:after])
        rest = text[after:]
        at = len(text) - len(rest.lstrip(_PADDING))
        if at == len(text):
            yield Line(begin, end + _byte_length(rest), number, record=record)
            return
        yield Line(begin, end, number, record=record, ended=False)
        begin = end + _byte_length(text[after:at])
    yield Line(begin, start + _byte_length(text), number, reason="malformed line")


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _torn(data: bytes, start: int, number: int) -> Iterator[Line]:
    """A last line without its newline: the JSON objects that it begins with are whole, what follows them waits."""
    for line in _parsed(data.rstrip(), start, number):
        if not isinstance(line.record, dict):
            return
        yield replace(line, ended=False)


def _pass_line(stream: BinaryIO) -> int | None:
    """Read to the end of an over-long line; how many bytes that took, or None if it has no end yet."""
    passed = 0
    while piece := stream.readline(_PIECE):
        passed += len(piece)
        if piece.endswith(b"\n"):
            return passed
    return None


def parse_json(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as trouble:  # nested a thousand deep is as malformed as a missing brace
        raise InvalidInput(f"not JSON: {trouble}", hint="Check the file.") from trouble
