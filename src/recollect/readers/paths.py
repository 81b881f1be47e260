"""Which files under a folder may be read, and how to open one so that it is still the file that was looked at.

Nothing outside the root is ever opened: symbolic links are not followed, the real path is compared with the root's,
and what was opened is compared again with what the path names then. Whatever is refused is reported with its reason.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import cache
from pathlib import Path
from typing import BinaryIO

from recollect.errors import InvalidInput

# Folders and files that hold secrets by their very nature.
SECRET_NAMES = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk",
    "*.jks", "*.keystore", "*.kdbx", "*.age", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc",
    ".pgpass", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials", "credentials", ".credentials*", "oauth_creds.json",
    "auth.json", "auth-profiles.json",
)  # fmt: skip
# What tools write for themselves: version control, installed packages, caches, our own store.
TOOL_NAMES = (
    ".git", ".hg", ".svn", ".jj", "node_modules", "bower_components", ".venv", "venv", "virtualenv", "site-packages",
    "__pycache__", "*.pyc", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache",
    ".gradle", ".terraform", ".next", ".recollect", ".ds_store", "thumbs.db", "desktop.ini", "*-wal", "*-shm",
    "*-journal", "*.swp", "*.tmp", "*~",
)  # fmt: skip
DEFAULT_IGNORES = SECRET_NAMES + TOOL_NAMES

MAX_FILE_BYTES = 1 << 20

# Transcripts and databases are read as streams, so the cap for whole files is not for them.
_STREAMED = re.compile(r"\.(jsonl|ndjson|json|db|sqlite|sqlite3|vscdb)(\.|$)", re.IGNORECASE)
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO put in the file's place must not hold us up
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file under the root that may be read."""

    path: Path
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A file or folder that is left alone, and why."""

    path: Path
    reason: str


def walk(
    root: Path, *, max_bytes: int = MAX_FILE_BYTES, ignore: tuple[str, ...] = DEFAULT_IGNORES
) -> Iterator[Found | Refused]:
    """Every file under `root` in a fixed order, each as found or as refused; `root` may be a single file."""
    ignored = _matcher(ignore)
    try:
        top = root.lstat()
    except OSError as trouble:
        yield Refused(root, _unreadable(trouble))
        return
    if stat.S_ISLNK(top.st_mode) and not root.is_dir():
        yield Refused(root, "symbolic link")
    elif root.is_dir():
        yield from _folder(Path(os.path.realpath(root)), max_bytes, ignored)
    elif ignored.match(root.name.lower()):
        yield Refused(root, "on the ignore list")
    else:
        yield _judge(root, top, max_bytes)


def _folder(root: Path, max_bytes: int, ignored: re.Pattern[str]) -> Iterator[Found | Refused]:
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as trouble:
            yield Refused(folder, _unreadable(trouble))
            continue
        deeper = []
        for entry in entries:
            path = Path(entry.path)
            if ignored.match(entry.name.lower()):
                yield Refused(path, "on the ignore list")
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as trouble:
                yield Refused(path, _unreadable(trouble))
                continue
            if stat.S_ISDIR(status.st_mode):
                reason = _closed(path, root)
                if reason:
                    yield Refused(path, reason)
                else:
                    deeper.append(path)
            else:
                yield _judge(path, status, max_bytes)
        waiting.extend(reversed(deeper))


def _closed(folder: Path, root: Path) -> str:
    """Why a folder is not entered; "" if it is."""
    if not _is_under(os.path.realpath(folder), root):  # a junction or a mount that looks like a folder
        return "leads outside the root"
    if (folder / "pyvenv.cfg").exists():
        return "virtual environment"
    return ""


def _judge(path: Path, status: os.stat_result, max_bytes: int) -> Found | Refused:
    if stat.S_ISLNK(status.st_mode):
        return Refused(path, "symbolic link")
    if not stat.S_ISREG(status.st_mode):
        return Refused(path, "not a regular file")
    if not _is_text(str(path)):
        return Refused(path, "name is not valid Unicode")
    if status.st_size > max_bytes and not _STREAMED.search(path.name):
        return Refused(path, "larger than the cap")
    return Found(path, status.st_size, status.st_mtime_ns)


def open_safely(path: Path, root: Path) -> BinaryIO:
    """Open a regular file under `root` for reading; refuse links, devices, and a path that was changed meanwhile."""
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        _check_opened(descriptor, path, root)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_opened(descriptor: int, path: Path, root: Path) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput(f"not a regular file: {path}", hint="Devices, FIFOs and sockets are never read.")
    check_under(path, root)
    # The real path lies under the root; if it names another file than the one we hold, someone swapped a folder.
    if not os.path.samestat(status, Path(os.path.realpath(path)).stat()):
        raise InvalidInput(f"the file changed while it was opened: {path}", hint="Try again.")


def check_under(path: Path, root: Path) -> None:
    """Refuse a path that is a symbolic link or whose real place is outside `root`."""
    if path.is_symlink() or not _is_under(os.path.realpath(path), Path(os.path.realpath(root))):
        raise InvalidInput(f"outside of {root}: {path}", hint="Name the folder that really holds the file.")


def _is_under(real: str, root: Path) -> bool:
    return Path(real).is_relative_to(root)


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


@cache
def _matcher(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(name.lower()) for name in names) or r"(?!)")


def is_ignored(name: str, ignore: tuple[str, ...] = DEFAULT_IGNORES) -> bool:
    """Whether a file or folder of this name is never read."""
    return _matcher(ignore).match(name.lower()) is not None


def _unreadable(trouble: OSError) -> str:
    return f"cannot be read: {trouble.strerror or type(trouble).__name__}"
