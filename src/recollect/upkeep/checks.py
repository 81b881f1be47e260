"""What doctor looks at beyond the engine's own checks: every note's hash and every space's chain of events."""

from recollect import audit
from recollect.store import Store
from recollect.types import STATES, Filter, Finding
from recollect.upkeep.pending import finish
from recollect.upkeep.verify import verify

PAGE = 1000


def check(store: Store) -> list[Finding]:
    waiting = finish(store)  # an erasure that a reader kept from ending
    findings = store.check()
    if waiting:
        hint = "close whatever reads the store and run doctor again"
        findings.append(Finding("erasure", False, "erased bytes are still in the log: a reader is open", hint, True))
    if any(finding.check == "integrity" and not finding.ok for finding in findings):
        return findings  # what a damaged file says about its notes means nothing
    spaces = [space.id for space in store.spaces()]
    return [*findings, _hashes(store, spaces), _chains(store)]


def _hashes(store: Store, spaces: list[int]) -> Finding:
    where = Filter(tuple(spaces), now_ms=0, states=STATES)
    seen, bad = 0, []
    page = store.list_notes(where, PAGE)
    while page:
        seen += len(page)
        bad += [str(note.id) for note in page if audit.content_hash(note.content) != note.content_hash]
        page = store.list_notes(where, PAGE, (page[-1].created_ms, page[-1].id))
    if bad:
        return Finding("texts", False, f"notes {', '.join(bad[:20])} are not what was remembered", "restore a backup")
    return Finding("texts", True, f"all {seen} notes have their hash")


def _chains(store: Store) -> Finding:
    found = verify(store)
    if found.problems:
        more = f" and {len(found.problems) - 1} more" if len(found.problems) > 1 else ""
        return Finding("events", False, found.problems[0] + more, "restore a backup")
    return Finding("events", True, f"{found.events} events are in an unbroken chain and speak of what is here")
