"""The one Memory of a server, opened by the first call that needs it and shared by the SDK's worker threads."""

import threading
from collections.abc import Callable

from recollect.memory import Memory


class LateMemory:
    """Call it for the Memory; closing one that was never opened costs nothing."""

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    def __call__(self) -> Memory:
        with self._lock:
            if self._memory is None:
                self._memory = self._make()
            return self._memory

    def close(self) -> None:
        with self._lock:
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
