"""Small private files, written so that a reader sees the old content or the new one whole, never a part."""

import os
from pathlib import Path

from recollect.errors import StoreFull, StoreReadOnly, StoreUnavailable

_DISK_FULL = {"ENOSPC", "EDQUOT"}
_NOT_ALLOWED = {"EACCES", "EPERM", "EROFS"}


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, each for its owner alone; existing ones are left as they are."""
    try:
        _make_folder(folder)
    except OSError as trouble:
        raise unwritable(folder, trouble) from trouble


def write_private(path: Path, text: str) -> None:
    """Replace the file with `text` (UTF-8, line endings as given), readable and writable by its owner alone."""
    replace_whole(path, text, mode=0o600)


def replace_whole(path: Path, text: str, *, mode: int) -> None:
    """Write a temporary file beside `path` and rename it over; a symbolic link keeps pointing at the file it named."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        _make_folder(target.parent)
        _write_synced(temporary, text.encode("utf-8"), mode)
        temporary.replace(target)
    except OSError as trouble:
        raise unwritable(path, trouble) from trouble
    finally:
        temporary.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    # mkdir(parents=True) gives the parents the default mode, so each level is made here.
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _write_synced(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, mode), "wb") as stream:  # noqa: PTH123 - the mode must hold from the first byte
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def unwritable(path: Path, trouble: OSError) -> StoreUnavailable:
    """Say why `path` could not be written, as the error that callers know."""
    import errno

    reason = errno.errorcode.get(trouble.errno or 0, "")
    message = f"cannot write {path}: {trouble.strerror or trouble}"
    if reason in _DISK_FULL:
        return StoreFull(message, "Free some space and try again.")
    if reason in _NOT_ALLOWED:
        return StoreReadOnly(message, "Check who may write there, or choose another folder with RECOLLECT_HOME.")
    return StoreUnavailable(message, "Check the path.")
