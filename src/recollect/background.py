"""Background work of a long-lived process: one at a time per store, under a lease that outlives no one.

The thread is a daemon and stops when asked; what it was doing is in transactions, so that stopping anywhere is safe.
"""

import logging
import os
import random
import threading
from collections.abc import Callable, Sequence

from recollect.errors import RecollectError
from recollect.ids import now_ms
from recollect.store import Store

LEASE = "background"
TTL_MS = 60_000

log = logging.getLogger("recollect")


class Background:
    """Runs jobs now, whenever poked, and every so often; skips a round while another process holds the lease."""

    def __init__(self, store: Store, jobs: Sequence[Callable[[], object]], interval_seconds: float = 300.0) -> None:
        self._store = store
        self._jobs = jobs
        self._interval = interval_seconds
        self._holder = f"{os.getpid()}-{random.getrandbits(48):012x}"
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recollect-background", daemon=True)
        self.rounds = 0

    def start(self) -> "Background":
        self._thread.start()
        return self

    def poke(self) -> None:
        """Asks for a round soon; returns at once."""
        self._wake.set()

    def stop(self, seconds: float = 1.0) -> None:
        self._stopped.set()
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._round()
            self._wake.wait(self._interval)
            self._wake.clear()

    def _round(self) -> None:
        try:
            if not self._store.lease(LEASE, self._holder, now_ms(), TTL_MS):
                return
            for job in self._jobs:
                if self._stopped.is_set():
                    break
                job()
                self._store.lease(LEASE, self._holder, now_ms(), TTL_MS)
            if self.rounds == 0:
                log.info("Memory index ready")
            self.rounds += 1
        except RecollectError as trouble:
            log.warning("background work stopped: %s (%s)", trouble.message, trouble.hint)
        finally:
            self._give_back()

    def _give_back(self) -> None:
        try:
            self._store.lease(LEASE, self._holder, now_ms(), 0)
        except RecollectError as trouble:
            log.debug("the lease stays until its time is over: %s", trouble.message)
