"""What doctor looks at around the store: room on the disk, the log, the clock, the model's files, copies."""

import shutil
from pathlib import Path

from recollect import backup
from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.policies import DAY_MS
from recollect.store import Store
from recollect.types import Finding

LEAST_FREE = 100_000_000
MOST_LOG = 64_000_000


def look(store: Store, settings: Settings, now_ms: int) -> list[Finding]:
    found = [_clock(store, now_ms), _work(store), _model(settings)]
    if store.engine == "sqlite":
        path = Path(store.location)
        found += [_room(path), _log(path), _copies(settings, now_ms)]
    return found


def _clock(store: Store, now_ms: int) -> Finding:
    newest = store.seen_before(10**15)
    if newest is not None and newest > now_ms + DAY_MS:
        days = (newest - now_ms) // DAY_MS
        return Finding("clock", False, f"the newest event is {days} days ahead of the clock", "set the system's clock")
    return Finding("clock", True, "it is not behind what was written")


def _work(store: Store) -> Finding:
    active = store.active_model()
    owed = store.count_pending(active[0], None) if active is not None else 0
    return Finding("pending work", True, f"vectors still to be made: {owed}" if owed else "nothing is owed")


def _model(settings: Settings) -> Finding:
    if settings.embedder != "minilm":
        return Finding("model", True, f"{settings.embedder} is not part of the package")
    from recollect.embed.onnx import OnnxEmbedder

    try:
        OnnxEmbedder().verify_files()
    except RecollectError as trouble:
        return Finding("model", False, trouble.message, trouble.hint)
    return Finding("model", True, "the bundled model is whole")


def _room(path: Path) -> Finding:
    free = shutil.disk_usage(path.parent).free
    needed = max(LEAST_FREE, path.stat().st_size)
    hint = "free some room, or `recollect cleanup`" if free < needed else ""
    return Finding("room", free >= needed, f"{free // 1_000_000} MB are free on the disk", hint)


def _log(path: Path) -> Finding:
    log = Path(f"{path}-wal")
    size = log.stat().st_size if log.exists() else 0
    hint = "a reader that never ends keeps it: close it" if size > MOST_LOG else ""
    return Finding("log", size <= MOST_LOG, f"the write-ahead log has {size // 1000} KB", hint)


def _copies(settings: Settings, now_ms: int) -> Finding:
    own = backup.own(settings)
    if not own:
        return Finding("copies", True, "no backup yet: `recollect backup create` makes one")
    days = max(0, now_ms - own[0].created_ms) // DAY_MS
    return Finding("copies", True, f"the newest of {len(own)} backups is {own[0].path.name}, {days} days old")
