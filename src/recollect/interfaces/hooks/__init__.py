"""Hooks: what agents run at the beginning, during and at the end of a session. They never stand in the way.

`run` always returns 0, prints nothing but what the host reads, and gives up after a few seconds whatever happens. A
capture that cannot wait is done at once, everything else is spooled and done by a later hook or a server. This is on
the path of every prompt, so it bypasses the command line and imports what it uses when it uses it.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

MOST_INPUT = 10_000_000
OFF = "RECOLLECT_OFF"


def run(arguments: Sequence[str]) -> int:
    """`recollect hook AGENT [EVENT]` with the host's JSON on standard input."""
    try:
        _run(arguments)
    except Exception as error:  # the edge: a host must never see us fail
        if os.environ.get("RECOLLECT_DEBUG"):
            raise
        _note_failure(arguments, error)
    return 0


def _run(arguments: Sequence[str]) -> None:
    given = _payload()
    if os.environ.get(OFF, "") not in ("", "0"):
        return
    from recollect.interfaces.hooks.adapters import LEARNED, happening, shaped

    agent = arguments[0] if arguments else ""
    event = happening(agent, arguments[1] if len(arguments) > 1 else "", given, os.environ)
    if event is None or switched_off(event.folder):
        return
    if event.event in ("stop", "tool", *LEARNED):
        from recollect.interfaces.hooks.spool import put_what_counts

        put_what_counts(event)  # after every answer and call of the agent: as quick as can be, done by who has time
        answer = shaped(event, "")
    else:
        from recollect.interfaces.hooks.acting import act
        from recollect.interfaces.hooks.watchdog import deadline

        with deadline(event):
            answer = act(event)
    if answer:
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


def switched_off(folder: str) -> bool:
    """Whether the project says no: a file `.recollect/off` in the folder or one above it."""
    place = os.path.abspath(folder)  # noqa: PTH100 - pathlib costs more than all of this
    while True:
        if os.path.lexists(os.path.join(place, ".recollect", "off")):  # noqa: PTH118
            return True
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return False
        place = above


def _payload() -> Mapping[str, Any]:
    """What the host tells; junk counts as nothing."""
    import json

    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return {}
    try:
        found = json.loads(sys.stdin.buffer.read(MOST_INPUT))
    except (ValueError, OSError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _note_failure(arguments: Sequence[str], error: BaseException) -> None:
    import contextlib

    with contextlib.suppress(Exception):
        from recollect.interfaces.hooks.status import note

        note(arguments[0] if arguments else "", error=f"{type(error).__name__}: {error}"[:300])
