"""Values and errors as every door gives them out: plain JSON values, stable codes, exit codes. The one such place.

Names are snake_case; a field `…_ms` becomes `…_at`, ISO 8601 in UTC; scores have four decimals; a note's id is a
number, `c17` and `t17` are strings.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.types import Added, Answer, Event, Finding, Hit, Moment, Note, Revision

EXIT_OK = 0
EXIT_UNEXPECTED = 1
EXIT_CORRUPT = 6

_BRIEF = ("id", "uid", "kind", "title", "space", "tags", "importance", "pinned", "state", "created_ms")


def iso(at_ms: int | None) -> str | None:
    """`2026-01-31T10:15:30.250Z`; a time that no calendar has is given as its number."""
    if at_ms is None:
        return None
    try:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_ms // 1000))
    except (ValueError, OverflowError, OSError):
        return str(at_ms)
    return f"{seconds}.{at_ms % 1000:03d}Z"


def plain(value: Any) -> Any:
    """A value of ours as JSON has it: dataclasses become objects, tuples lists, times ISO."""
    names = getattr(value, "__dataclass_fields__", None)
    if names is not None:
        return dict(_field(name, getattr(value, name)) for name in names)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value.hex() if isinstance(value, bytes) else value


def _field(name: str, value: Any) -> tuple[str, Any]:
    if name.endswith("_ms"):
        return f"{name[:-3]}_at", iso(value)
    return name, plain(value)


def note_json(note: "Note") -> dict[str, Any]:
    """The whole note."""
    return {"id": note.id, **plain(note)}


def brief_json(note: "Note") -> dict[str, Any]:
    """A note as one row of a list; `get` has the text."""
    return dict(_field(name, getattr(note, name)) for name in _BRIEF)


def added_json(added: "Added") -> dict[str, Any]:
    """What became of a text that was given; the text itself is known to the caller."""
    answer = {"id": added.id, "uid": added.uid, "created": added.created, "duplicate": added.duplicate}
    answer |= brief_json(added) | {"rev": added.rev}
    answer |= {} if added.duplicate else {"operation": added.operation}
    return answer | ({"notice": added.notice} if added.notice else {})


def hit_json(hit: "Hit") -> dict[str, Any]:
    """A compact row; what is empty is left out, since agents pay for every word."""
    row = plain(hit)
    row["id"] = int(hit.id) if hit.id.isdigit() else hit.id
    row["score"] = round(hit.score, 4)
    optional = ("session", "speaker", "path", "lines", "why", "explain")
    return {name: value for name, value in row.items() if name not in optional or value}


def answer_json(answer: "Answer") -> dict[str, Any]:
    return {
        "hits": [hit_json(hit) for hit in answer.hits],
        "mode": answer.mode,
        "notices": list(answer.notices),
        "pending": answer.pending,
    }


def moment_json(moment: "Moment") -> dict[str, Any]:
    place = {"position": moment.position, "distance": moment.distance, "what": moment.what}
    if moment.note is not None:
        return brief_json(moment.note) | place
    said = moment.turn or moment.session
    session = moment.turn.session if moment.turn is not None else moment.session.uid if moment.session else None
    row = {"id": moment.id, "kind": moment.kind, "title": moment.title, "space": said.space if said else None}
    return row | {"session": session, "created_at": iso(moment.at_ms)} | place


def revision_json(revision: "Revision") -> dict[str, Any]:
    image = dict(_field(name, value) for name, value in revision.image.items() if name != "metadata")
    extra = {"metadata": revision.image.get("metadata", {}), "moved_from": revision.moved_from}
    return {"rev": revision.rev, "replaced_at": iso(revision.at_ms), "operation": revision.operation} | image | extra


def operation_json(events: "Sequence[Event]") -> dict[str, Any]:
    """The events of one operation as one row: its notes, and who did what when."""
    first = events[0]
    return {
        "operation": first.operation,
        "verb": first.verb,
        "count": len({event.uid for event in events}),
        "actor": first.actor,
        "at": iso(first.at_ms),
        "space": first.space,
        "uids": list(dict.fromkeys(event.uid for event in events)),
    }


def stats_json(stats: Mapping[str, Any]) -> dict[str, Any]:
    named = dict(_field(name, value) for name, value in stats.items())
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in named.items()}


def health_json(findings: "Iterable[Finding]", fixed: Sequence[str] = ()) -> dict[str, Any]:
    """What doctor saw, with a score: the share of checks that passed, and what that means in a word."""
    rows = list(findings)
    passed = sum(1 for finding in rows if finding.ok)
    broken = any(not finding.ok and not finding.fixable for finding in rows)
    status = "healthy" if passed == len(rows) else "damaged" if broken else "needs attention"
    score = round(100 * passed / len(rows)) if rows else 100
    return {"status": status, "score": score, "checks": plain(rows), "fixed": list(fixed)}


def error_json(error: RecollectError) -> dict[str, str]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def unexpected(error: BaseException) -> RecollectError:
    """Anything we did not foresee, in the shape of what we did; trouble with the system is not our bug."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return RecollectError(f"{error.strerror}{where}", hint="check the disk, the path and its permissions")
    return RecollectError(
        f"unexpected {type(error).__name__}: {error}",
        hint="this is a bug: set RECOLLECT_DEBUG=1, run the command again and report what it prints",
    )


def dumps(value: Any, indent: int | None = None) -> str:
    """JSON in UTF-8; what could steer a terminal is escaped, which means the same to every JSON reader."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=plain)
    return text if text.isascii() and text.isprintable() else "".join(map(_safe, text))


def _safe(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    code = ord(character)
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
