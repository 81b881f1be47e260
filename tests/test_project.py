"""Projects found from real git repositories, and markers that count only after the user trusted them."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigInvalid, InvalidInput
from recollect.project import InitReport, Project, distrust, find_project, init_project, local_store, trust, trusted
from recollect.repository import normal_remote, read_text, real_path, remote_urls

UID = "01890a5d-ac96-774b-bcce-b302099a8057"
OTHER_UID = "01890a5d-ac96-774b-bcce-000000000000"
needs_links = pytest.mark.skipif(os.name != "posix", reason="symbolic links need a privilege on Windows")


def git(folder: Path, *words: str) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environ |= {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-c", "protocol.file.allow=always", "-C", str(folder), *words]
    subprocess.run(command, check=True, capture_output=True, env=environ)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone as people have it: one commit, one remote, a sub-folder."""
    root = real_path(tmp_path) / "api"
    (root / "src" / "deep").mkdir(parents=True)
    git(root, "init", "-q")
    (root / "README").write_text("hello", encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    git(root, "remote", "add", "origin", "https://ann:tok3n@GitHub.com/acme/billing-api.git")
    return root


def found(folder: Path, home: Path) -> Project:
    project = find_project(folder, home)
    assert project is not None
    return project


def alias(project: Project, kind: str) -> str | None:
    return dict(project.aliases).get(kind)


# --- what git says


def test_a_clone_is_known_by_its_git_directory_and_its_remote(repository: Path, home: Path) -> None:
    project = found(repository, home)
    assert project == Project(
        repository,
        "billing-api",
        (("gitdir", str(repository / ".git")), ("remote", "github.com/acme/billing-api")),
    )


def test_credentials_in_a_remote_never_reach_an_alias(repository: Path, home: Path) -> None:
    assert "tok3n" not in repr(found(repository, home))


def test_a_sub_folder_is_the_same_project_even_if_it_does_not_exist_yet(repository: Path, home: Path) -> None:
    assert found(repository / "src" / "deep", home) == found(repository, home)
    assert found(repository / "not" / "there", home) == found(repository, home)


def test_a_worktree_has_the_aliases_of_the_main_clone(repository: Path, home: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "side")
    project = found(tmp_path / "elsewhere", home)
    assert project.root == real_path(tmp_path / "elsewhere")
    assert (project.name, project.aliases) == (found(repository, home).name, found(repository, home).aliases)


def test_a_moved_worktree_is_still_the_same_project(repository: Path, home: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "before"), "-b", "side")
    (tmp_path / "before").rename(tmp_path / "after")
    assert found(tmp_path / "after", home).aliases == found(repository, home).aliases


def test_worktrees_of_a_bare_repository_are_one_project_named_after_it(
    repository: Path, home: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "tool.git")
    git(tmp_path / "tool.git", "remote", "remove", "origin")
    for name in ("one", "two"):
        git(tmp_path / "tool.git", "worktree", "add", "-q", str(tmp_path / name), "-b", name)
    one, two = found(tmp_path / "one", home), found(tmp_path / "two", home)
    assert (one.name, one.aliases) == (two.name, two.aliases)
    assert (one.name, alias(one, "gitdir")) == ("tool", str(real_path(tmp_path) / "tool.git"))


def test_a_submodule_is_a_project_of_its_own(repository: Path, home: Path, tmp_path: Path) -> None:
    outer = real_path(tmp_path) / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(repository), "vendor/api")
    project = found(outer / "vendor" / "api", home)
    assert project.root == outer / "vendor" / "api"
    assert alias(project, "gitdir") == str(outer / ".git" / "modules" / "vendor" / "api")
    assert alias(project, "gitdir") != alias(found(outer, home), "gitdir")


def test_a_renamed_folder_keeps_its_remote_alias_and_name(repository: Path, home: Path) -> None:
    before = found(repository, home)
    moved = repository.rename(repository.with_name("renamed"))
    after = found(moved, home)
    assert (alias(after, "remote"), after.name) == (alias(before, "remote"), before.name)
    assert alias(after, "gitdir") != alias(before, "gitdir")


def test_a_new_remote_adds_an_alias_and_keeps_the_git_directory(repository: Path, home: Path) -> None:
    git(repository, "remote", "remove", "origin")
    before = found(repository, home)
    assert (before.name, alias(before, "remote")) == ("api", None)
    git(repository, "remote", "add", "upstream", "git@example.org:team/api.git")
    after = found(repository, home)
    assert (alias(after, "gitdir"), alias(after, "remote")) == (alias(before, "gitdir"), "example.org/team/api")


def test_of_several_remotes_origin_speaks_and_without_origin_none_does(repository: Path, home: Path) -> None:
    git(repository, "remote", "add", "fork", "https://example.org/fork/api")
    assert alias(found(repository, home), "remote") == "github.com/acme/billing-api"
    git(repository, "remote", "rename", "origin", "mirror")
    assert alias(found(repository, home), "remote") is None


@needs_links
def test_a_symbolic_link_to_a_clone_is_the_same_project(repository: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    assert found(tmp_path / "link" / "src", home) == found(repository, home)


def test_a_folder_in_no_repository_has_no_project(home: Path, tmp_path: Path) -> None:
    assert find_project(tmp_path, home) is None
    assert find_project(Path(tmp_path.anchor), home) is None


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("https://github.com/acme/api", "github.com/acme/api"),
        ("https://github.com/acme/api.git/", "github.com/acme/api"),
        ("https://user:p%40ss@GitHub.COM:443/acme/api.git", "github.com/acme/api"),
        ("git@github.com:acme/api.git", "github.com/acme/api"),
        ("github.com:acme/api", "github.com/acme/api"),
        ("ssh://git@github.com:22/acme/api.git", "github.com/acme/api"),
        ("git+ssh://git@github.com/acme//api", "github.com/acme/api"),
        ("git://github.com/acme/api.git", "github.com/acme/api"),
        ("ssh://git@host:2222/acme/api", "host:2222/acme/api"),
        ("http://[::1]:8080/a/b.git", "::1:8080/a/b"),
        ("https://host/a%20b/c", "host/a b/c"),
        ("https://host/Acme/API", "host/Acme/API"),
        ("https://host:notaport/a", None),
        ("https://host", None),
        ("ext::sh -c evil", None),
        ("", None),
    ],
)
def test_a_remote_has_one_spelling(url: str, wanted: str | None, tmp_path: Path) -> None:
    assert normal_remote(url, tmp_path) == wanted


def test_a_remote_on_this_disk_is_its_real_path(tmp_path: Path) -> None:
    wanted = f"file:{real_path(tmp_path / 'srv' / 'api').as_posix()}"
    for url in (str(tmp_path / "srv" / "api.git"), "srv/api", (tmp_path / "srv" / "api").as_uri()):
        assert normal_remote(url, tmp_path) == wanted


def test_a_git_config_is_read_with_its_quotes_remarks_and_continuations() -> None:
    text = (
        '[core]\n\tbare = false\n[Remote "origin"] URL = "https://h/a#b" ; remark\n'
        '[remote "two"]\r\n\turl = https://h/\\\r\nlong\r\n\turl = https://h/second\n'
        '[branch "x"]\n\turl = no\n[remote "empty"]\n\turl =\n'
    )
    assert remote_urls(text) == {"origin": "https://h/a#b", "two": "https://h/long"}


@given(url=st.text(max_size=200), config=st.binary(max_size=200), head=st.binary(max_size=60))
def test_foreign_contents_of_a_git_folder_never_raise(
    url: str, config: bytes, head: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("odd")
    normal_remote(url, folder)
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_bytes(head)
    (folder / ".git" / "config").write_bytes(b'[remote "origin"]\nurl = ' + config)
    assert find_project(folder, folder / "home") is not None
    linked = folder / "linked"
    linked.mkdir()
    (linked / ".git").write_bytes(b"gitdir: " + head)
    find_project(linked, folder / "home")


def test_an_empty_git_folder_is_passed_over_and_a_dead_git_file_belongs_to_nothing(
    repository: Path, home: Path
) -> None:
    (repository / "src" / ".git").mkdir()
    assert found(repository / "src", home) == found(repository, home)
    (repository / "src" / "deep" / ".git").write_text("gitdir: /gone/.git/worktrees/deep\n", encoding="utf-8")
    assert find_project(repository / "src" / "deep", home) is None


def test_a_git_file_cannot_claim_another_folders_repository(repository: Path, home: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "honest"), "-b", "side")
    thief = tmp_path / "thief"
    thief.mkdir()
    for claim in (repository / ".git", repository / ".git" / "worktrees" / "honest"):
        (thief / ".git").write_text(f"gitdir: {claim}\n", encoding="utf-8")
        assert find_project(thief, home) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_text(tmp_path / "pipe") is None


# --- trust


def init(folder: Path, home: Path, *, local: bool = False, uid: str = UID) -> InitReport:
    return init_project(folder, home, local=local, uid=uid)


def test_init_makes_a_trusted_marker_that_comes_first(repository: Path, home: Path) -> None:
    report = init(repository, home)
    assert report == InitReport(repository, UID, False, True, repository / ".gitignore", False)
    assert found(repository / "src", home).aliases[0] == ("marker", UID)
    assert trusted(repository, home)
    if os.name == "posix":
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (repository / ".recollect", home / "trusted.json")]
        assert modes == [0o700, 0o600]


def test_init_again_changes_nothing_and_keeps_the_first_uid(repository: Path, home: Path) -> None:
    init(repository, home)
    before = {path: path.read_bytes() for path in (repository / ".recollect" / "space", home / "trusted.json")}
    report = init(repository, home, uid=OTHER_UID)
    assert (report.uid, report.created, report.gitignore) == (UID, False, None)
    assert {path: path.read_bytes() for path in before} == before


def test_a_cloned_marker_and_store_do_not_count(repository: Path, home: Path, tmp_path: Path) -> None:
    (repository / ".recollect").mkdir()
    (repository / ".recollect" / "space").write_text(f"{OTHER_UID}\nlocal = true\n", encoding="utf-8")
    (repository / ".recollect" / "memory.db").write_bytes(b"theirs")
    git(repository, "add", "-f", ".recollect")
    git(repository, "commit", "-q", "-m", "trap")
    git(tmp_path, "clone", "-q", str(repository), "clone")
    clone = tmp_path / "clone"
    assert not trusted(clone, home)
    assert alias(found(clone, home), "marker") is None
    assert local_store(clone, home) is None
    report = init(clone, home, local=True)
    assert (report.uid, report.store_was_there) == (UID, True)
    assert alias(found(clone, home), "marker") == UID


def test_a_marker_that_changed_after_it_was_trusted_does_not_count(repository: Path, home: Path) -> None:
    init(repository, home)
    (repository / ".recollect" / "space").write_text(f"{OTHER_UID}\nlocal = true\n", encoding="utf-8")
    assert not trusted(repository, home)
    assert alias(found(repository, home), "marker") is None
    assert local_store(repository, home) is None


def test_a_distrusted_folder_loses_its_marker_and_nothing_else(repository: Path, home: Path) -> None:
    init(repository, home)
    distrust(repository, home)
    distrust(repository, home)
    assert not trusted(repository, home)
    assert [kind for kind, _ in found(repository, home).aliases] == ["gitdir", "remote"]
    assert (repository / ".recollect" / "space").is_file()


def test_a_trusted_folder_without_git_is_a_project_with_a_path(home: Path, tmp_path: Path) -> None:
    notes = real_path(tmp_path) / "notes"
    (notes / "2026").mkdir(parents=True)
    trust(notes, home)
    assert found(notes / "2026", home) == Project(notes, "notes", (("path", str(notes)),))
    report = init(notes, home)
    assert report.gitignore is None
    assert not (notes / ".gitignore").exists()
    assert found(notes, home).aliases == (("marker", UID), ("path", str(notes)))


def test_a_trusted_folder_inside_a_repository_is_a_project_of_its_own(repository: Path, home: Path) -> None:
    init(repository / "src", home)
    assert found(repository / "src" / "deep", home).aliases == (("marker", UID), ("path", str(repository / "src")))
    assert alias(found(repository, home), "marker") is None
    assert (repository / ".gitignore").read_text(encoding="utf-8") == ".recollect/\n"


def test_a_local_store_is_used_only_where_it_was_asked_for(repository: Path, home: Path, tmp_path: Path) -> None:
    init(repository, home)
    assert local_store(repository, home) is None
    report = init(repository, home, local=True)
    assert (report.uid, report.local, report.created) == (UID, True, False)
    store = repository / ".recollect" / "memory.db"
    assert local_store(repository / "src" / "deep", home) == store
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    assert local_store(tmp_path / "tree", home) == store
    assert alias(found(tmp_path / "tree", home), "marker") == UID
    assert local_store(tmp_path, home) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"build\r\n*.o", b"build\r\n*.o\r\n.recollect/\r\n"),
        (b"build\n", b"build\n.recollect/\n"),
        (b"\xff\n", b"\xff\n.recollect/\n"),
        (b" .recollect \nbuild", b" .recollect \nbuild"),
        (b"/.recollect/\n", b"/.recollect/\n"),
    ],
)
def test_gitignore_gets_one_line_in_its_own_style(before: bytes, after: bytes, repository: Path, home: Path) -> None:
    (repository / ".gitignore").write_bytes(before)
    init(repository, home)
    init(repository, home)
    assert (repository / ".gitignore").read_bytes() == after


@needs_links
def test_init_writes_through_no_link_that_the_repository_brought(repository: Path, home: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine\n", encoding="utf-8")
    (repository / ".gitignore").symlink_to(precious)
    init(repository, home)
    assert precious.read_text(encoding="utf-8") == "mine\n"
    assert (repository / ".recollect" / ".gitignore").read_text(encoding="utf-8") == "*\n"
    (repository / "src" / ".recollect").symlink_to(tmp_path)
    with pytest.raises(InvalidInput, match="not a plain folder"):
        init(repository / "src", home)


def test_init_refuses_a_missing_folder_and_a_bad_uid(home: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a folder"):
        init(tmp_path / "missing", home)
    with pytest.raises(InvalidInput, match="identify"):
        init(tmp_path, home, uid="a\nlocal = true")


@pytest.mark.parametrize("content", ["{", "[]", '{"folders": ["/a"]}', '{"folders": {"/a": 1}}'])
def test_a_damaged_trust_list_is_an_error_that_says_what_to_do(content: str, home: Path, tmp_path: Path) -> None:
    home.mkdir()
    (home / "trusted.json").write_text(content, encoding="utf-8")
    for call in (lambda: trusted(tmp_path, home), lambda: trust(tmp_path, home)):
        act: Callable[[], object] = call
        with pytest.raises(ConfigInvalid, match=r"trusted\.json is damaged") as caught:
            act()
        assert "recollect init" in caught.value.hint
    assert (home / "trusted.json").read_text(encoding="utf-8") == content


@needs_links
def test_trust_is_kept_by_real_path(home: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    trust(tmp_path / "link", home)
    assert trusted(tmp_path / "real", home)
    assert list(json.loads((home / "trusted.json").read_text(encoding="utf-8"))["folders"]) == [
        str(real_path(tmp_path / "real"))
    ]
