"""Nothing outside the named folder is opened, secrets and tools' files are left alone, each refusal says why."""

import os
import socket
import sys
from pathlib import Path

import pytest

from recollect.errors import InvalidInput
from recollect.readers import Found, Refused, open_safely, walk

posix_only = sys.platform != "win32"


def reasons(root: Path, max_bytes: int = 1 << 20) -> dict[str, str]:
    return {
        item.path.relative_to(root).as_posix(): item.reason
        for item in walk(root, max_bytes=max_bytes)
        if isinstance(item, Refused)
    }


def found(root: Path, max_bytes: int = 1 << 20) -> list[str]:
    return [
        item.path.relative_to(root).as_posix() for item in walk(root, max_bytes=max_bytes) if isinstance(item, Found)
    ]


def put(root: Path, *places: str) -> None:
    for place in places:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text("words", encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "root"
    folder.mkdir()
    return folder


def test_files_come_in_a_fixed_order_with_size_and_time(root: Path) -> None:
    put(root, "b.md", "a/z.txt", "a/b/c.py", ".claude/projects/x.jsonl")
    assert found(root) == ["b.md", ".claude/projects/x.jsonl", "a/z.txt", "a/b/c.py"]
    first = next(item for item in walk(root) if isinstance(item, Found))
    assert (first.size, first.mtime_ns) == (5, (root / "b.md").stat().st_mtime_ns)


@pytest.mark.parametrize(
    "place",
    [
        ".ssh/config", ".env", ".env.local", ".envrc", "server.pem", "server.key", "id_rsa", "id_rsa.pub", "id_ed25519",
        ".gnupg/x", ".aws/credentials", ".netrc", ".git/config", "node_modules/a/index.js", "__pycache__/a.pyc",
        ".tox/a", ".venv/a", ".recollect/memory.db", "SERVER.PEM", ".SSH/id", "memory.db-wal", ".codex/auth.json",
    ],
)  # fmt: skip
def test_secrets_and_tools_own_files_are_refused_by_name(place: str, root: Path) -> None:
    put(root, place, "keep/notes.md")
    assert found(root) == ["keep/notes.md"]
    assert list(reasons(root).values()) == ["on the ignore list"]


def test_a_virtual_environment_is_known_by_its_marker(root: Path) -> None:
    put(root, "my-env/pyvenv.cfg", "my-env/lib/x.py", "a.md")
    assert found(root) == ["a.md"]
    assert reasons(root) == {"my-env": "virtual environment"}


def test_the_ignore_list_is_for_what_is_inside_the_root_not_for_the_way_to_it(root: Path) -> None:
    put(root, "node_modules/pkg/readme.md")
    assert found(root / "node_modules" / "pkg") == ["readme.md"]


def test_a_file_over_the_cap_is_reported_but_transcripts_are_streamed(root: Path) -> None:
    for place in ("big.md", "big.jsonl", "big.jsonl.zst", "session.jsonl.reset.2026", "store.db"):
        (root / place).write_bytes(b"x" * 2000)
    assert reasons(root, max_bytes=1000) == {"big.md": "larger than the cap"}


def test_a_single_file_may_be_named(root: Path) -> None:
    put(root, "a.md", ".env", "b.md")
    assert [item.path for item in walk(root / "a.md")] == [root / "a.md"]
    assert list(walk(root / ".env")) == [Refused(root / ".env", "on the ignore list")]
    (missing,) = walk(root / "none.md")
    assert isinstance(missing, Refused)
    assert missing.reason.startswith("cannot be read: ")


def test_a_hundred_nested_folders_are_walked(root: Path) -> None:
    deep = root.joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    for index in range(1000):
        (deep / f"{index}.md").touch()
    assert len(found(root)) == 1000


if posix_only:

    def test_symbolic_links_are_not_followed(root: Path) -> None:
        put(root.parent, "outside/secret.md")
        put(root, "real.md")
        (root / "folder").symlink_to(root.parent / "outside")
        (root / "file.md").symlink_to(root.parent / "outside" / "secret.md")
        (root / "inside.md").symlink_to(root / "real.md")
        (root / "loop").symlink_to(root)
        (root / "dangling").symlink_to(root / "nowhere")
        assert found(root) == ["real.md"]
        assert set(reasons(root).values()) == {"symbolic link"}
        assert list(walk(root / "file.md")) == [Refused(root / "file.md", "symbolic link")]

    def test_a_root_that_is_a_link_to_a_folder_is_the_folder(root: Path) -> None:
        put(root, "a.md")
        link = root.parent / "link"
        link.symlink_to(root)
        assert [item.path for item in walk(link)] == [root / "a.md"]

    def test_fifos_sockets_and_devices_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        os.mkfifo(root / "fifo.md")
        monkeypatch.chdir(root)  # a socket's path must be short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("s.md")
            assert reasons(root) == {"fifo.md": "not a regular file", "s.md": "not a regular file"}
        with pytest.raises((InvalidInput, OSError)):
            open_safely(root / "fifo.md", root)
        with pytest.raises((InvalidInput, OSError)):
            open_safely(Path("/dev/zero"), Path("/dev"))

    def test_a_name_that_is_no_text_is_refused(root: Path) -> None:
        try:
            (root / os.fsdecode(b"caf\xe9.md")).touch()
        except OSError:  # some file systems take Unicode names only, and then there is nothing to refuse
            return
        assert list(reasons(root).values()) == ["name is not valid Unicode"]

    def test_an_unreadable_folder_is_reported_and_the_rest_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        put(root, "a/x.md", "b/y.md")
        scan = os.scandir

        def refusing(path: Path) -> object:
            if Path(path).name == "a":
                raise PermissionError(13, "Permission denied")
            return scan(path)

        monkeypatch.setattr(os, "scandir", refusing)  # a test may run as root, whom nothing is denied
        assert found(root) == ["b/y.md"]
        assert reasons(root) == {"a": "cannot be read: Permission denied"}

    def test_a_link_is_not_opened(root: Path) -> None:
        put(root.parent, "outside/secret.md")
        (root / "a.md").symlink_to(root.parent / "outside" / "secret.md")
        with pytest.raises((OSError, InvalidInput)):
            open_safely(root / "a.md", root)

    def test_a_file_reached_through_a_linked_folder_is_not_opened(root: Path) -> None:
        put(root.parent, "outside/secret.md")
        (root / "folder").symlink_to(root.parent / "outside")
        with pytest.raises(InvalidInput, match="outside of"):
            open_safely(root / "folder" / "secret.md", root)

    def test_a_folder_swapped_for_a_link_while_it_is_opened_is_noticed(
        root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The link is there for the moment of opening only: path and root look right before and after."""
        put(root, "folder/a.md")
        put(root.parent, "outside/a.md")
        really_open = os.open

        def swapping(path: Path, flags: int) -> int:
            (root / "folder").rename(root / "aside")
            (root / "folder").symlink_to(root.parent / "outside")
            descriptor = really_open(path, flags)
            (root / "folder").unlink()
            (root / "aside").rename(root / "folder")
            return descriptor

        monkeypatch.setattr(os, "open", swapping)
        with pytest.raises(InvalidInput, match="changed while it was opened"):
            open_safely(root / "folder" / "a.md", root)


def test_a_regular_file_under_the_root_is_opened(root: Path) -> None:
    put(root, "a/b.md")
    with open_safely(root / "a" / "b.md", root) as stream:
        assert stream.read() == b"words"


def test_a_file_outside_the_root_is_not_opened(root: Path) -> None:
    put(root.parent, "outside.md")
    for way in (root.parent / "outside.md", root / ".." / "outside.md"):
        with pytest.raises(InvalidInput, match="outside of"):
            open_safely(way, root)
