"""What readers give: a session's head, what was said in it, what was left out and why, and how far the reading got.

A reader is a generator over one file: no database, no clock, no settings. What it yields depends on the bytes of the
file (and its modification time, where a format keeps no time), so reading twice gives the same. A `Said` belongs to
the session of the latest `Head` before it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from recollect.types import Origin


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a session. It comes again when more is learned, or when the file turns to another session.

    An empty field means "not known here", never "gone"; of two beginnings the earlier one counts.
    """

    agent: str
    key: str
    cwd: str = ""
    title: str = ""
    started_ms: int = 0
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """One message worth remembering; `record` is unique in its session and the same at every reading."""

    record: str
    speaker: str
    origin: Origin
    text: str
    at_ms: int
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Rewind:
    """The speakers went back to `to_record`: what was said after it was taken back; "" takes back everything."""

    to_record: str


@dataclass(frozen=True, slots=True)
class Skip:
    """Something left out, and why. Reasons are few and fixed, so that they can be counted."""

    reason: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything before `offset` was read; `line` is how many lines ended before it.

    A later `read(path, mark.offset, mark.state)` goes on from there. `state` can be written as JSON.
    """

    offset: int
    line: int
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A file's whole text, decoded, line ends as they were."""

    text: str
    encoding: str


Item = Head | Said | Rewind | Skip | Mark


class TranscriptReader(Protocol):
    """One agent's way of writing down its sessions.

    `appends` tells whether the file only grows and a mark's offset counts its bytes. Where it is false (a whole JSON
    document, a SQLite database) every reading starts at offset 0, and a mark's state says by itself what is new.
    """

    @property
    def name(self) -> str: ...

    @property
    def appends(self) -> bool: ...

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the file is of this kind; `head` is its first 64 KiB, unpacked."""

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        """Everything from `offset` on; the file must lie under `root` when one is given.

        Raises OSError or InvalidInput when the file cannot be opened; whatever is wrong inside it is a `Skip`.
        """
