"""Background work of a long-lived process: one at a time per store, under a lease that outlives no one.

The thread is a daemon and stops when asked; what it was doing is in transactions, so that stopping anywhere is safe.
Whoever asks for work only leaves a wish: nobody waits for it.
"""

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Sequence

from recollect.errors import RecollectError
from recollect.ids import now_ms
from recollect.store import Store

LEASE = "background"
TTL_MS = 60_000
RENEW_SECONDS = 15.0
# However often searches ask for a round: work takes no more than about a fifth of the time.
REST = 4.0
LEAST_REST_SECONDS, MOST_REST_SECONDS = 0.5, 30.0

Beat = Callable[[], None]  # a job calls it now and then, so that the lease does not run out under it
Job = Callable[[Beat], object]

log = logging.getLogger("recollect")


class Syncing:
    """The job that looks at the sources: at the start, when somebody asked, every so often; each if it is wanted."""

    def __init__(self, sync: Job, *, on_start: bool, interval_seconds: float) -> None:
        self._sync = sync
        self._asked = on_start
        self._interval = interval_seconds or float("inf")
        self._last = time.monotonic()

    def ask(self) -> None:
        self._asked = True

    def __call__(self, beat: Beat) -> None:
        if self._asked or time.monotonic() - self._last >= self._interval:
            self._asked = False  # before the work: what is asked for meanwhile is done again
            self._sync(beat)
            self._last = time.monotonic()


class Background:
    """Runs jobs now, whenever poked, and every so often; skips a round while another process holds the lease."""

    def __init__(self, store: Store, jobs: Sequence[Job], interval_seconds: float = 300.0) -> None:
        self._store = store
        self._jobs = jobs
        self._interval = interval_seconds
        self._holder = f"{os.getpid()}-{random.getrandbits(48):012x}"
        self._renewed = 0.0
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
            started = time.monotonic()
            self._round()
            rest = REST * (time.monotonic() - started)
            self._stopped.wait(min(max(rest, LEAST_REST_SECONDS), MOST_REST_SECONDS, self._interval))
            self._wake.wait(self._interval)
            self._wake.clear()

    def _round(self) -> None:
        try:
            if not self._store.lease(LEASE, self._holder, now_ms(), TTL_MS):
                return
            for job in self._jobs:
                if self._stopped.is_set():
                    break
                job(self._beat)
                self._renewed = 0.0
                self._beat()
            if self.rounds == 0:
                log.info("Memory index ready")
            self.rounds += 1
        except RecollectError as trouble:
            log.warning("background work stopped: %s (%s)", trouble.message, trouble.hint)
        except Exception:  # a background loop: reported, and the next round follows
            log.exception("background work stopped")
        finally:
            self._give_back()

    def _beat(self) -> None:
        if time.monotonic() - self._renewed >= RENEW_SECONDS:
            self._renewed = time.monotonic()
            self._store.lease(LEASE, self._holder, now_ms(), TTL_MS)

    def _give_back(self) -> None:
        try:
            self._store.lease(LEASE, self._holder, now_ms(), 0)
        except RecollectError as trouble:
            log.debug("the lease stays until its time is over: %s", trouble.message)
