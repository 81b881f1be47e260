"""Which project a folder belongs to, and which folders the user trusts to say so themselves.

A project is known by aliases: what git says (found without starting git), and a marker that `recollect init` left. A
marker or a store inside a folder counts only while it is exactly what the user trusted, because a cloned or updated
repository must not choose where we write. The list of trusted folders lives in our own home.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from recollect.errors import ConfigInvalid, InvalidInput
from recollect.files import make_private_folder, unwritable, write_private
from recollect.repository import Repository, has_git_file, read_text, real_path, remote_of, repository_at
from recollect.values import value

FOLDER = ".recollect"
_IGNORED_AS = {b".recollect", b".recollect/", b"**/.recollect", b"**/.recollect/"}


@value
class Project:
    """Where the project starts, what to call it, and the aliases it is known by, the most certain first."""

    root: Path
    name: str
    aliases: tuple[tuple[str, str], ...]


@value
class InitReport:
    """What `init_project` did. `store_was_there` asks for care: somebody else may have made that store."""

    root: Path
    uid: str
    local: bool
    created: bool
    gitignore: Path | None
    store_was_there: bool


@value
class _Marker:
    uid: str
    local: bool

    @property
    def text(self) -> str:
        return f"{self.uid}\nlocal = {str(self.local).lower()}\n"


def find_project(folder: Path, home: Path) -> Project | None:
    """The project that the folder is part of: the nearest trusted folder or git work tree, walking up."""
    found = _find(folder, home)
    if found is None:
        return None
    place, repository, marker_folder = found
    aliases = []
    marker = _marker_in(marker_folder) if marker_folder else None
    if marker:
        aliases.append(("marker", marker.uid))
    if repository is None:
        return Project(place, place.name or "root", (*aliases, ("path", str(place))))
    aliases.append(("gitdir", str(repository.common)))
    remote = remote_of(repository)
    if remote:
        aliases.append(("remote", remote))
    name = (remote or "").rpartition("/")[2] or repository.name or place.name or "root"
    return Project(place, name, tuple(aliases))


def local_store(folder: Path, home: Path) -> Path | None:
    """The project's own store, if the user asked for one with `recollect init`; it need not exist yet."""
    found = _find(folder, home)
    marker_folder = found[2] if found else None
    marker = _marker_in(marker_folder) if marker_folder else None
    return marker_folder / FOLDER / "memory.db" if marker_folder and marker and marker.local else None


def trusted(folder: Path, home: Path) -> bool:
    """Whether the user trusted this very folder and its marker is still the one that was trusted."""
    return _is_trusted(real_path(folder), _trusted_folders(home))


def trust(folder: Path, home: Path) -> None:
    """Remember that the folder, with the marker it has now, may speak for itself."""
    place = real_path(folder)
    _write_trusted(home, {**_trusted_folders(home), str(place): _marker_text(place)})


def distrust(folder: Path, home: Path) -> None:
    """Forget that the folder was trusted; what is inside it stays."""
    folders = dict(_trusted_folders(home))
    if folders.pop(str(real_path(folder)), None) is not None:
        _write_trusted(home, folders)


def init_project(folder: Path, home: Path, *, local: bool, uid: str) -> InitReport:
    """Make exactly this folder a project of its own name, trusted, with its store inside if `local`.

    Again on the same folder it changes nothing and keeps the first uid. A marker that somebody else left is replaced:
    its uid is theirs, not ours.
    """
    if not uid or not uid.isascii() or not uid.replace("-", "").isalnum():
        raise InvalidInput(f"{uid!r} cannot identify a project", "Give a uid of letters, digits and hyphens.")
    root = real_path(folder)
    if not root.is_dir():
        raise InvalidInput(f"{folder} is not a folder", "Name an existing folder.")
    inside = root / FOLDER
    if inside.is_symlink() or (inside.exists() and not inside.is_dir()):
        raise InvalidInput(f"{inside} is not a plain folder", "Move it away and try again.")
    known = _marker_in(root) if trusted(root, home) else None
    marker = _Marker(known.uid if known else uid, local)
    make_private_folder(inside)
    if os.name == "posix":
        inside.chmod(0o700)
    if known != marker:
        write_private(inside / "space", marker.text)
    gitignore = _ignore_in_git(root)
    trust(root, home)
    return InitReport(root, marker.uid, local, known is None, gitignore, (inside / "memory.db").exists())


def _find(folder: Path, home: Path) -> tuple[Path, Repository | None, Path | None] | None:
    """The project's root, its repository if it has one, and the trusted folder whose marker speaks for it."""
    folders = _trusted_folders(home)
    start = real_path(folder)
    for place in (start, *start.parents):
        here = _is_trusted(place, folders)
        repository = repository_at(place)
        if repository:
            # A linked work tree has no marker of its own; the main one speaks for all of them.
            main = repository.main_tree
            speaker = place if here else main if main and _is_trusted(main, folders) else None
            return place, repository, speaker
        if here:
            return place, None, place
        if has_git_file(place):
            return None  # a work tree whose repository is gone belongs to nothing above it
    return None


def _is_trusted(place: Path, folders: Mapping[str, str]) -> bool:
    return str(place) in folders and folders[str(place)] == _marker_text(place)


def _marker_text(place: Path) -> str:
    linked = os.path.islink(place / FOLDER)  # noqa: PTH114 - Path.is_symlink raises where we may not look
    return "" if linked else read_text(place / FOLDER / "space") or ""


def _marker_in(place: Path) -> _Marker | None:
    lines = [line.strip() for line in _marker_text(place).splitlines()]
    return _Marker(lines[0], "local = true" in lines[1:]) if lines and lines[0] else None


def _trusted_folders(home: Path) -> Mapping[str, str]:
    """Real path of each trusted folder, with the text of the marker that it had."""
    file = home / "trusted.json"
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as trouble:
        raise ConfigInvalid(f"cannot read {file}: {trouble.strerror or trouble}", "Check who may read it.") from trouble
    try:
        folders = json.loads(content)["folders"]
    except (ValueError, KeyError, TypeError):
        folders = None
    if not isinstance(folders, dict) or not all(isinstance(text, str) for text in folders.values()):
        raise ConfigInvalid(
            f"{file} is damaged", "Delete it, then run `recollect init` again in the projects that you trust."
        )
    return folders


def _write_trusted(home: Path, folders: Mapping[str, str]) -> None:
    write_private(home / "trusted.json", json.dumps({"folders": folders}, indent=1, sort_keys=True) + "\n")


def _ignore_in_git(root: Path) -> Path | None:
    """Keep our folder out of the repository's history; the file that was changed, or None if none had to be."""
    top = next((place for place in (root, *root.parents) if repository_at(place)), None)
    if top is None:
        return None
    file = top / ".gitignore"
    try:
        if file.is_symlink():  # it may point anywhere, and git does not follow it either
            file = root / FOLDER / ".gitignore"
            return _append_line(file, b"*", {b"*"})
        at_top = {b"/" + name for name in (b".recollect", b".recollect/")} if top == root else set()
        return _append_line(file, b".recollect/", _IGNORED_AS | at_top)
    except OSError as trouble:
        raise unwritable(file, trouble) from trouble


def _append_line(file: Path, line: bytes, same: set[bytes]) -> Path | None:
    content = file.read_bytes() if file.exists() else b""
    if any(known.strip() in same for known in content.splitlines()):
        return None
    newline = b"\r\n" if b"\r\n" in content else b"\n"
    gap = b"" if not content or content.endswith((b"\n", b"\r")) else newline
    with file.open("ab") as stream:  # append: the owner, the mode and every other byte stay
        stream.write(gap + line + newline)
    return file
