"""Where backups are kept, what they are called, and how one is brought back.

A backup's name says which store it is of and when it was made (UTC). The store in the home folder is called by its
plain name; any other store also by a mark of its path, so that the newest backup of one is never taken for another's.
"""

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from recollect.config import STORE_URL_SCHEMES, Settings
from recollect.errors import InvalidInput, NotFound, RecollectError, StoreCorrupt, StoreForeign, StoreUnavailable
from recollect.files import make_private_folder
from recollect.store import Store
from recollect.store.opening import open_store
from recollect.upkeep.checks import check
from recollect.values import value

_log = logging.getLogger("recollect.backup")
_TIME = r"\d{8}T\d{6}Z(-\d+)?"


@value
class Backup:
    path: Path
    bytes: int
    created_ms: int


def folder(settings: Settings) -> Path:
    return settings.home / "backups"


def new_path(settings: Settings, at_ms: int, mark: str = "") -> Path:
    """A free name in the backups folder, which is made if it is missing."""
    place = folder(settings)
    make_private_folder(place)
    stem = f"{_stem(settings)}{mark}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(at_ms / 1000))}"
    names = (f"{stem}.db" if number == 1 else f"{stem}-{number}.db" for number in range(1, 10_000))
    return next(place / name for name in names if not (place / name).exists())


def listed(settings: Settings) -> list[Backup]:
    """Every backup in the folder, newest first, whichever store it is of."""
    found = [Backup(path, status.st_size, status.st_mtime_ns // 1_000_000) for path in folder(settings).glob("*.db")
             if not path.name.startswith(".") and (status := path.stat())]  # fmt: skip
    return sorted(found, key=lambda backup: (backup.created_ms, backup.path.name), reverse=True)


def own(settings: Settings) -> list[Backup]:
    """The backups of this very store, newest first, also those made before a bulk change or a restore."""
    mine = re.compile(rf"{re.escape(_stem(settings))}(-before-[a-z]+)?-{_TIME}\.db")
    return [backup for backup in listed(settings) if mine.fullmatch(backup.path.name)]


def newest_sound(settings: Settings) -> Path | None:
    """The newest backup of this store that passes every check."""
    for backup in own(settings):
        try:
            _refuse_unsound(backup.path, backup.path)
        except RecollectError:
            continue
        return backup.path
    return None


def chosen(settings: Settings, name: str | None) -> Path:
    """The backup meant by a path, a name in the folder, or nothing: then the newest of this very store."""
    if name is None:
        own = re.compile(rf"{re.escape(_stem(settings))}-{_TIME}\.db")
        newest = [backup.path for backup in listed(settings) if own.fullmatch(backup.path.name)]
        if not newest:
            raise NotFound(f"no backup of {_file(settings)} in {folder(settings)}", hint="name the file to restore")
        return newest[0]
    for path in (Path(name), folder(settings) / name, folder(settings) / f"{name}.db"):
        if path.is_file():
            return path
    raise NotFound(f"no backup {name!r}", hint="`recollect backup list` shows them")


def restore(settings: Settings, source: Path, at_ms: int) -> Path | None:
    """Brings a backup back, after it was checked; returns where the content before is now."""
    from recollect.store.sqlite import restoring

    path = _file(settings)
    if path.exists() and path.samefile(source):
        raise InvalidInput(f"{source} is the store itself", hint="name a backup: `recollect backup list`")
    make_private_folder(path.parent)
    staged = path.with_name(f".{path.name}.{os.getpid()}.restore")
    try:
        restoring.copy(source, staged)
        _refuse_unsound(staged, source)
        return restoring.put_in_place(staged, path, new_path(settings, at_ms, mark="-before-restore"))
    finally:
        restoring.discard(staged)


def holding(settings: Settings, notes: Sequence[str], sessions: Sequence[str]) -> list[str]:
    """The backups that have one of these notes or sessions, by uid; one that cannot be read is named as well."""
    from recollect.store.sqlite import restoring

    return [backup.path.name for backup in listed(settings) if restoring.holds(backup.path, notes, sessions)]


def before_bulk(settings: Settings, store: Store, why: str, at_ms: int) -> Path | None:
    """A verified copy before a change of many notes; the oldest such copies beyond the setting go.

    No copy is made where there is no room for it: a clean-up must be possible on a full disk.
    """
    if not settings.auto_backups or store.engine != "sqlite":
        return None
    try:
        path = new_path(settings, at_ms, mark=f"-before-{why}")
        if shutil.disk_usage(path.parent).free < 2 * Path(store.location).stat().st_size:
            _log.warning("no room for a copy of %s before this %s", store.location, why)
            return None
        store.backup(path)
    except (StoreUnavailable, OSError) as trouble:
        _log.warning("no copy of %s before this %s: %s", store.location, why, trouble)
        return None
    _rotate(settings)
    return path


def before_upgrade(settings: Settings, at_ms: int) -> Path | None:
    """A verified copy of a store that an older recollect wrote: opening it brings it up to date for good."""
    from recollect.store.sqlite import restoring

    store = _file(settings)
    if not settings.auto_backups or not os.access(store, os.W_OK):  # what may not be written stays as it is
        return None
    try:
        path = new_path(settings, at_ms, mark="-before-upgrade")
        if shutil.disk_usage(path.parent).free < 2 * store.stat().st_size:
            _log.warning("no room for a copy of %s before it is brought up to date", store)
            return None
        if not restoring.copy_older(store, path):
            return None
    except (StoreUnavailable, StoreCorrupt, OSError) as trouble:
        _log.warning("no copy of %s before it is brought up to date: %s", store, trouble)
        return None
    _rotate(settings)
    return path


def _rotate(settings: Settings) -> None:
    """Of the copies that were made unasked, the oldest beyond the setting go; what a restore put aside stays."""
    own = re.compile(rf"{re.escape(_stem(settings))}-before-(?!restore)[a-z]+-{_TIME}\.db")
    made = [backup.path for backup in listed(settings) if own.fullmatch(backup.path.name)]
    for old in made[settings.auto_backups :]:
        old.unlink(missing_ok=True)


def _refuse_unsound(copy: Path, source: Path) -> None:
    """Opens the copy as a store and runs every check on it; what can be rebuilt does not count."""
    try:
        store = open_store(str(copy), busy_seconds=1.0, durability="full", create=False)
    except StoreForeign:
        raise StoreForeign(f"{source} is not a recollect store", hint="`recollect backup list` shows copies") from None
    try:
        bad = [finding for finding in check(store) if not finding.ok and not finding.fixable]
    finally:
        store.close()
    if bad:
        raise StoreCorrupt(f"{source} is damaged: {bad[0].detail}", hint="choose another: `recollect backup list`")


def _file(settings: Settings) -> Path:
    if settings.store.startswith(STORE_URL_SCHEMES):
        raise InvalidInput("a PostgreSQL store is not restored from here", hint="use pg_dump and pg_restore")
    return Path(settings.store)


def _stem(settings: Settings) -> str:
    path = _file(settings)
    if path == settings.home / "memory.db":
        return path.stem
    return f"{path.stem}-{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
