"""The one Memory of a server, opened by the first call that needs it and shared by the SDK's worker threads.

With the store open, threads do what nobody waits for: captures that hooks left, and vectors that are still owed, under
the store's lease, so that ten servers do them once.
"""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.memory import Memory

if TYPE_CHECKING:
    from recollect.background import Background


class LateMemory:
    """Call it for the Memory; closing one that was never opened costs nothing."""

    def __init__(self, make: Callable[[], Memory], *, background: bool = False) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self._wants_background = background
        self._background: Background | None = None

    def __call__(self) -> Memory:
        with self._lock:
            if self._memory is None:
                self._memory = self._make()
                if self._wants_background:
                    threading.Thread(target=catch_up, name="recollect-spool", daemon=True).start()
                    self._background = self._memory.background().start()
            return self._memory

    def close(self) -> None:
        with self._lock:
            memory, self._memory = self._memory, None
        if self._background is not None:
            self._background.stop(0.2)
        if memory is not None:
            memory.close()


def catch_up() -> None:
    """Does what hooks left in the spool, large transcripts too."""
    from recollect.interfaces.hooks import spool
    from recollect.interfaces.hooks.acting import capture

    try:
        spool.drain(capture, large=True)
    except (RecollectError, OSError) as trouble:
        logging.getLogger("recollect").warning("captures stay in the spool: %s", trouble)
