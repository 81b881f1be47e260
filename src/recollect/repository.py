"""What a `.git` says about itself, read from its files: no git program is started, and nothing in there can raise.

A repository is known by its common directory, which all of its worktrees share, and by its remote. Contents come from
outside: a file that is missing, broken, huge or not what it claims to be leaves us with fewer answers, never with an
error, and a `.git` file may not claim another folder's repository.
"""

import os
import re
import stat
import sys
from pathlib import Path

from recollect.values import value

_MOST_BYTES = 1_000_000
_USUAL_PORTS = {"ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418}
_SECTION = r"""^\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]"""
_PAIR = r"^([A-Za-z][\w-]*)\s*=\s*(.*)$"


@value
class Repository:
    """A work tree, the common directory of its repository, and the main work tree where that differs and is known."""

    work_tree: Path
    common: Path
    main_tree: Path | None

    @property
    def name(self) -> str:
        """The folder name that people know the repository by."""
        if self.common.name == ".git":
            return self.common.parent.name
        linked_from_bare = self.main_tree is None and _is_folder(self.common / "worktrees")
        if linked_from_bare and not self.common.name.startswith("."):
            return self.common.name.removesuffix(".git")
        return self.common.parent.name if linked_from_bare else self.work_tree.name


def real_path(path: Path) -> Path:
    """One spelling for one place: links followed, and the case of letters as the file system has it."""
    try:
        found = os.path.realpath(path)
    except (OSError, ValueError):
        return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() has just failed
    if sys.platform == "darwin":
        found = _spelling_on_disk(found)
    return Path(os.path.normcase(found))


def has_git_file(folder: Path) -> bool:
    """Whether the folder is a linked work tree or a submodule, sound or not."""
    return is_regular(folder / ".git")


def repository_at(folder: Path) -> Repository | None:
    """The repository whose work tree starts exactly here; `folder` is a real path."""
    git = folder / ".git"
    if has_git_file(folder):
        return _linked(folder, git)
    if not _is_git_directory(git):
        return None
    return Repository(folder, real_path(git), folder)


def remote_of(repository: Repository) -> str | None:
    """The normalised address of origin, or of the only remote there is."""
    urls = remote_urls(read_text(repository.common / "config") or "")
    chosen = urls.get("origin") or (next(iter(urls.values())) if len(urls) == 1 else None)
    return normal_remote(chosen, repository.common.parent) if chosen else None


def remote_urls(config: str) -> dict[str, str]:
    """Each remote's first URL, from the text of a git config file."""
    urls: dict[str, str] = {}
    remote: str | None = None
    for raw in config.replace("\\\r\n", "").replace("\\\n", "").splitlines():
        line = raw.strip()
        section = re.match(_SECTION, line)
        if section:
            remote = section[2] if section[1].lower() == "remote" else None
            line = line[section.end() :].strip()
        pair = re.match(_PAIR, line)
        if pair and remote and pair[1].lower() == "url":
            urls.setdefault(re.sub(r"\\(.)", r"\1", remote), _config_value(pair[2]))
    return {name: url for name, url in urls.items() if url}


def normal_remote(url: str, folder: Path) -> str | None:
    """`host/path` without user, password, usual port or `.git`, equal for the ssh and https forms of one repository.

    Another port is kept: two services on one machine must not become one project. A remote on this disk becomes
    `file:` and its real path; `folder` is what a relative one is relative to.
    """
    if not url.isprintable() or "::" in url.split("/")[0]:
        return None
    short = re.match(r"^(?:[^@/:]*@)?(\[[^\]]+\]|[^@/:\\]{2,}):(?!//)(.*)$", url)
    if short:
        return _host_and_path(short[1], short[2])
    if "://" not in url:
        return _local_remote(url, folder)
    from urllib.parse import unquote, urlsplit  # two milliseconds, and most remotes are of the short form

    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme.lower() == "file":
        return _local_remote(unquote(parts.path), folder)
    if port and port != _USUAL_PORTS.get(parts.scheme.lower()):
        host = f"{host}:{port}"
    return _host_and_path(host, unquote(parts.path))


def read_text(path: Path) -> str | None:
    """The text of a small regular file; None if there is none to be had."""
    if not is_regular(path):  # a pipe or a device would block
        return None
    try:
        with path.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError):
        return None
    return content.decode("utf-8", "replace") if len(content) <= _MOST_BYTES else None


def is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_git_directory(path: Path) -> bool:
    return is_regular(path / "HEAD") and (_is_folder(path / "objects") or is_regular(path / "commondir"))


def _linked(folder: Path, git_file: Path) -> Repository | None:
    """Follow `gitdir: …` of a linked work tree or a submodule."""
    pointed = _path_in(git_file, folder, prefix="gitdir:")
    if pointed is None or not _is_git_directory(pointed):
        return None
    if not is_regular(pointed / "commondir"):
        # A submodule or a separate git directory. Another work tree's own .git is not ours to take.
        return None if pointed.name == ".git" else Repository(folder, pointed, folder)
    common = _path_in(pointed / "commondir", pointed)
    if common is None or not _is_git_directory(common) or not _links_back(pointed, git_file):
        return None
    main = common.parent if common.name == ".git" else None
    return Repository(folder, common, main)


def _links_back(git_directory: Path, git_file: Path) -> bool:
    """Whether the repository knows this work tree. A moved one is forgiven: what it was known by is gone."""
    known = _path_in(git_directory / "gitdir", git_directory)
    return known is not None and (known == real_path(git_file) or not is_regular(known))


def _path_in(file: Path, folder: Path, prefix: str = "") -> Path | None:
    text = (read_text(file) or "").strip()
    value = text.removeprefix(prefix).strip()
    if not value or not text.startswith(prefix) or not value.isprintable():
        return None
    return real_path(folder / value)


def _config_value(raw: str) -> str:
    """A value of a git config file without quotes and remarks."""
    kept, quoted, characters = [], False, iter(raw)
    for character in characters:
        if character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            kept.append(next(characters, "") if character == "\\" else character)
    return "".join(kept).strip()


def _host_and_path(host: str, path: str) -> str | None:
    path = re.sub(r"/+", "/", path).strip("/").removesuffix(".git").rstrip("/")
    return f"{host.lower()}/{path}" if host and path and path.isprintable() else None


def _local_remote(path: str, folder: Path) -> str | None:
    place = real_path(folder / path) if path else None
    if place is None:
        return None
    name = place.parent.as_posix() if place.name == ".git" else place.as_posix().removesuffix(".git")
    return f"file:{name}"


def _spelling_on_disk(path: str) -> str:
    """macOS keeps letters as typed when it follows links; only the open file knows its own name."""
    if sys.platform == "darwin":
        import fcntl

        try:
            handle = os.open(path, os.O_RDONLY)
        except OSError:
            return path
        try:
            answer = fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024))
            return os.fsdecode(answer.rstrip(b"\0")) or path
        except OSError:
            return path
        finally:
            os.close(handle)
    return path
