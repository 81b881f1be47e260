"""What doctor looks at beyond the engine's own checks, and how it mends what is derived.

Canonical content is proven by its hashes and by the chain of events; nothing here changes it. What is derived is
compared with what it was made from, and made anew from there.
"""

from collections.abc import Iterator

from recollect import audit, rechunking
from recollect.ids import Ref
from recollect.store import Operation, Store
from recollect.text.tokens import terms
from recollect.types import Finding
from recollect.upkeep.pending import finish
from recollect.upkeep.verify import verify
from recollect.write import Limits, chunks_of, embedded_text

PAGE = 1000
SHOWN = 20
_BACKUP = "`recollect backup restore` brings the newest copy back"


def check(store: Store) -> list[Finding]:
    waiting = finish(store)  # an erasure that a reader kept from ending
    findings = store.check()
    if waiting:
        hint = "close whatever reads the store and run doctor again"
        findings.append(Finding("erasure", False, "erased bytes are still in the log: a reader is open", hint, True))
    if any(finding.check == "integrity" and not finding.ok for finding in findings):
        return findings  # what a damaged file says about its notes means nothing
    with store.snapshot():
        return [*findings, _texts(store), _turns(store), _chains(store), _slices(store)]


def _texts(store: Store) -> Finding:
    seen, bad, last = 0, list[str](), 0
    while page := store.images(last, PAGE):
        bad += [str(note.id) for note, _ in page if audit.content_hash(note.content) != note.content_hash]
        seen, last = seen + len(page), page[-1][0].id
    if bad:
        return Finding("texts", False, f"notes {', '.join(bad[:SHOWN])} are not what was remembered", _BACKUP)
    return Finding("texts", True, f"all {seen} notes have their hash")


def _turns(store: Store) -> Finding:
    seen, bad, last = 0, list[str](), 0
    while page := store.said(last, PAGE):
        bad += [f"t{turn}" for turn, text, hash_ in page if audit.content_hash(text) != hash_]
        seen, last = seen + len(page), page[-1][0]
    if bad:
        return Finding("turns", False, f"turns {', '.join(bad[:SHOWN])} are not what was said", _BACKUP)
    return Finding("turns", True, f"all {seen} turns have their hash")


def _chains(store: Store) -> Finding:
    found = verify(store)
    if found.problems:
        more = f" and {len(found.problems) - 1} more" if len(found.problems) > 1 else ""
        return Finding("events", False, found.problems[0] + more, _BACKUP)
    return Finding("events", True, f"{found.events} events are in an unbroken chain and speak of what is here")


def _slices(store: Store) -> Finding:
    bad = sum(1 for _ in _spoilt(store))
    if bad:
        return Finding(
            "slices", False, f"{bad} notes or turns are searched by other words than theirs",
            "`recollect doctor --fix` cuts them anew", True,
        )  # fmt: skip
    return Finding("slices", True, "what is searched is what was said")


def _spoilt(store: Store, words: bool = False) -> Iterator[tuple[int, str, int]]:
    """Owners of a chunk whose text no longer has its hash, or its own terms; a file is mended by indexing it anew."""
    last, told = 0, set[tuple[int, str, int]]()
    while page := store.slices(last, PAGE):
        for _, space, what, owner, context, content, hash_, own in page:
            text = embedded_text(context, content)
            wrong = audit.content_hash(text) != hash_ or (words and " ".join(terms(text)) != own)
            if wrong and what != "file":
                told.add((space, what, owner))
        last = page[-1][0]
    yield from sorted(told)


def repair(store: Store, limits: Limits, op: Operation) -> list[str]:
    """Makes derived data anew where it is damaged; says what was done."""
    done = store.repair()
    missing = store.unsearchable()
    for space, note_id in missing:
        (note,) = store.notes([Ref("note", note_id, None)], [space])
        store.give_chunks(space, note, chunks_of(note, limits))
    if missing:
        done.append(f"indexed {len(missing)} notes that could not be found")
    # An index that was rebuilt from changed terms would agree with them; so they are looked at too.
    spoilt = list(_spoilt(store, words=bool(done)))
    for space, what, owner in spoilt:
        with store.transaction([space]):
            store.rebuild_chunks(op, space, what, owner, rechunking.chunks_anew(store, limits, space, what, owner))
    if spoilt:
        done.append(f"cut {len(spoilt)} notes or turns anew")
    return done
