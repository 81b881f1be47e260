"""The end of an erasure: cleaning the engine's own files, now or as soon as no reader holds old pages.

A mark in the store makes whoever opens it next, forgets something or runs doctor try again.
"""

from contextlib import suppress

from recollect.errors import StoreUnavailable
from recollect.store import Store

PENDING = "pending_scrub"


def finish(store: Store, due: bool = False, wait: bool = False) -> bool:
    """Cleans the engine's files after an erasure, this one's or one that was pending; True while it still is."""
    if not due and not store.get_meta(PENDING):
        return False
    with suppress(StoreUnavailable):
        if not store.scrub(wait=wait):
            if store.get_meta(PENDING):
                store.set_meta(PENDING, "")
            return False
    with suppress(StoreUnavailable):
        store.set_meta(PENDING, "1")
    return True
