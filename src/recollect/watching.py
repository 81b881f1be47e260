"""Watching: changes under some roots are indexed soon after they happen, and once it is quiet everything is compared.

The system's notifications are a hint, not the truth: its queue may overflow. So after each burst a pass over all roots
follows, which reads only what differs from the index. When very many files change at once that pass comes right away,
instead of a list as long as the storm. No descriptor is kept per file.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from recollect.readers import Root
from recollect.readers.paths import is_ignored

DEBOUNCE_MS = 500
QUIET_MS = 2000
MANY = 500  # changes at once; beyond that a look at everything is the shorter list

Sync = Callable[[Sequence[Path]], object]  # indexes the named files; all roots when none is named


def watch(roots: Sequence[Root], sync: Sync, stop: threading.Event, *, poll: bool = False) -> None:
    """Follows the roots until `stop` is set. `poll` is for file systems that send no notifications."""
    from watchfiles import watch as follow

    dirty = False
    for changes in follow(
        *(root.path for root in roots), watch_filter=lambda _, path: _concerns(Path(path), roots), debounce=DEBOUNCE_MS,
        step=100, stop_event=stop, rust_timeout=QUIET_MS, yield_on_timeout=True, force_polling=poll or None,
        raise_interrupt=True, ignore_permission_denied=True,
    ):  # fmt: skip
        if changes:
            sync(sorted({Path(path) for _, path in changes}) if len(changes) <= MANY else ())
            dirty = True
        elif dirty:
            sync(())
            dirty = False


def _concerns(path: Path, roots: Sequence[Root]) -> bool:
    """Whether a change is about something that would be indexed; folders are looked into by the pass that follows."""
    for root in roots:
        if path == root.path or path.is_relative_to(root.path):
            inside = path.relative_to(root.path).parts
            return not any(is_ignored(part) for part in inside) and (
                not root.agent or path.is_dir() or root.covers(path)
            )
    return False
