"""No hook outlives its deadline: a prompt must not wait, and a capture goes to the spool."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from recollect.interfaces.hooks.adapters import Happening

SECONDS = {"prompt": 4.0, "session-start": 8.0, "tool-selection": 4.0}
OTHERWISE = 15.0


@contextmanager
def deadline(event: Happening) -> Iterator[None]:
    def leave() -> None:
        try:
            if event.event not in SECONDS:
                from recollect.interfaces.hooks.spool import put

                put(event)
        finally:
            os._exit(0)

    timer = threading.Timer(SECONDS.get(event.event, OTHERWISE), leave)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
