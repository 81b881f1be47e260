"""The audit chain proves itself: every event continues the one before, every image is the one its event speaks of.

An event's digest can only be recomputed with the image and its salt. Both are erased together, so an erased note's
events still stand in the chain while nothing of the note can be tested against them.
"""

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

from recollect import audit
from recollect.config import Settings
from recollect.errors import ConfigInvalid
from recollect.store import Store
from recollect.types import Event, Space
from recollect.values import value

PAGE = 1000
MOST_PROBLEMS = 20
_GONE = frozenset({"erase", "purge", "leave"})
PROVES = (
    "no event was changed, removed or put in between since the chain begins",
    "every note and kept version is, field by field, the one that was written",
    "no note went without an erasure or a clean-up on record",
)
DOES_NOT_PROVE = (
    "who wrote: names in events are what programs said of themselves",
    "that the whole file was not replaced by an older copy, or written anew by someone who may write it",
)
SEAL_PROVES = "whoever did not have the key changed nothing up to the seal"


@value
class Verified:
    """What `verify` looked at and what it found; `sealed` is None without a key."""

    ok: bool
    spaces: int
    events: int
    notes: int
    versions: int
    problems: tuple[str, ...]
    proves: tuple[str, ...]
    does_not_prove: tuple[str, ...]
    sealed: bool | None = None


class Chain:
    """What the events of all spaces say: the digest of every image, and which notes ought to be there."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.digests: dict[tuple[str, int], set[bytes]] = {}
        self.there: dict[tuple[str, str], int] = {}  # (space, uid): revision
        self.events = 0
        self.problems: list[str] = []

    def read(self, space: Space) -> None:
        (seq, prev), end = self._store.chain(space.id)
        for event in self._events(space, seq):
            if audit.broken_at([event], prev) is not None or event.seq != seq + 1:
                self.problems.append(f"the chain of {space.name!r} breaks at event {event.seq}")
                return
            seq, prev = event.seq, event.hash
            self.events += 1
            self._take(event)
        if (seq, prev) != end:
            self.problems.append(f"the chain of {space.name!r} ends at event {seq}, but the space says {end[0]}")

    def _events(self, space: Space, since: int) -> Iterator[Event]:
        while page := self._store.events([space.id], since, PAGE):
            yield from page
            since = page[-1].seq

    def _take(self, event: Event) -> None:
        if event.verb in _GONE:
            self.there.pop((event.space, event.uid), None)
        elif event.rev and event.verb != "turns":
            self.digests.setdefault((event.uid, event.rev), set()).add(bytes.fromhex(event.digest))
            if event.verb != "trace":
                newest = self.there.get((event.space, event.uid), 0)  # what is said again may be of an older version
                self.there[event.space, event.uid] = max(newest, event.rev)

    def speaks_of(self, uid: str, rev: int, salt: bytes, encoded: str) -> bool:
        return bytes.fromhex(audit.digest(salt, encoded)) in self.digests.get((uid, rev), ())


def verify(store: Store, key: bytes | None = None) -> Verified:
    with store.snapshot():
        chain = Chain(store)
        spaces = store.spaces()
        for space in spaces:
            chain.read(space)
        notes, versions = _notes(store, chain), _versions(store, chain)
        chain.problems += [
            f"a note of {space!r} is missing ({uid})" for space, uid in list(chain.there)[:MOST_PROBLEMS]
        ]
        sealed = _seals(store, spaces, key, chain.problems) if key is not None else None
    ok = not chain.problems
    proves = PROVES + ((SEAL_PROVES,) if sealed else ())
    return Verified(
        ok, len(spaces), chain.events, notes, versions, tuple(chain.problems[:MOST_PROBLEMS]),
        proves if ok else (), DOES_NOT_PROVE, sealed,
    )  # fmt: skip


def _notes(store: Store, chain: Chain) -> int:
    count = last = 0
    while page := store.images(last, PAGE):
        for note, salt in page:
            expected = chain.there.pop((note.space, note.uid), None)
            if expected not in (None, note.rev) or not chain.speaks_of(
                note.uid, note.rev, salt, audit.encoded(note)
            ):
                chain.problems.append(f"note {note.id} is not what its newest event speaks of")
        count, last = count + len(page), page[-1][0].id
    return count


def _versions(store: Store, chain: Chain) -> int:
    count, last = 0, (0, 0)
    while page := store.versions(last, PAGE):
        for note_id, rev, uid, encoded, salt in page:
            if not chain.speaks_of(uid, rev, salt, encoded):
                chain.problems.append(f"version {rev} of note {note_id} is not what its event speaks of")
        count, last = count + len(page), page[-1][:2]
    return count


# -- a key outside the file -------------------------------------------------------------------------------------------


def sealed(store: Store, settings: Settings) -> Verified:
    """`verify` with the key of the settings, if they name one; what is found well is sealed anew."""
    key = read_key(settings.audit_key_file) if settings.audit_key_file else None
    found = verify(store, key)
    if key is not None and found.ok:
        seal(store, key)
    return found


def read_key(path: str) -> bytes:
    try:
        key = Path(path).expanduser().read_bytes().strip()
    except OSError as trouble:
        raise ConfigInvalid(
            f"cannot read audit_key_file {path}: {trouble.strerror or trouble}", hint="check the path and its rights"
        ) from trouble
    if len(key) < 16:
        raise ConfigInvalid(f"the key in {path} is shorter than 16 bytes", hint="for example: openssl rand -hex 32")
    return key


def seal(store: Store, key: bytes) -> None:
    """Signs where every chain ends now."""
    for space in store.spaces():
        seq, head = store.chain(space.id)[1]
        store.set_meta(f"seal:{space.id}", f"{seq}:{_sign(key, space, seq, head)}")


def _seals(store: Store, spaces: list[Space], key: bytes, problems: list[str]) -> bool:
    """True if every chain has a seal of this key; a seal that does not fit is a problem, a missing one is not."""
    whole = True
    for space in spaces:
        found = store.get_meta(f"seal:{space.id}")
        if found is None:
            whole = False
            continue
        seq, _, mark = found.partition(":")
        head = _hash_at(store, space, int(seq))
        if head is None or not hmac.compare_digest(mark, _sign(key, space, int(seq), head)):
            problems.append(f"the seal of {space.name!r} at event {seq} does not fit")
    return whole


def _hash_at(store: Store, space: Space, seq: int) -> str | None:
    begin, _ = store.chain(space.id)
    if seq == begin[0]:
        return begin[1]
    found = store.events([space.id], seq - 1, 1)
    return found[0].hash if found and found[0].seq == seq else None


def _sign(key: bytes, space: Space, seq: int, head: str) -> str:
    return hmac.new(key, f"{space.uid}|{seq}|{head}".encode(), hashlib.sha256).hexdigest()
