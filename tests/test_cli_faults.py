"""Bad input and broken stores: a clear error with a hint and the documented exit code, and nothing half-written."""

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from shell import PYTHON, Result, Shell

HEBREW_AND_ARABIC = "שלום עולם مرحبا بالعالم"
EMOJI = "ship it 🚀 👩‍👩‍👧‍👦 🇩🇪"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def assert_refused(result: Result, code: int, *words: str) -> None:
    """An error for people: what is wrong, what to do, no traceback, nothing on standard output."""
    assert result.code == code, result
    assert result.err.startswith("error: ") and "\nhint: " in result.err, result.err
    assert "Traceback" not in result.err and result.out == ""
    for word in words:
        assert word in result.err, result.err


def count(shell: Shell) -> int:
    notes: int = shell("stats", "--space", "all", "--json").json["notes"]
    return notes


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "stdin", "code", "said"),
    [
        (["add", ""], b"", 2, "empty"),
        (["add", "   \n\t "], b"", 2, "empty"),
        (["add"], b"", 2, "empty"),
        (["add", "-"], b"", 2, "empty"),
        (["add", "-"], b"x" * 10_000_000, 2, "10,000,000 bytes"),
        (["add", "-"], b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", 2, "not valid UTF-8"),
        (["add", "-"], b"text with a \x00 inside", 2, "NUL"),
        (["add", "-"], b"caf\xe9 in Latin-1", 2, "not valid UTF-8 (byte 3)"),
        (["add", "caf\udce9"], b"", 2, "not valid UTF-8"),
        (["search", "caf\udce9"], b"", 2, "not valid UTF-8"),
        (["add", "x", "--title", "a\udcff"], b"", 2, "not valid UTF-8"),
        (["add", "-"], None, 2, "closed"),
        (["add"], None, 2, "closed"),
        (["import", "-"], None, 2, "closed"),
        (["update", "1", "-"], None, 2, "closed"),
        (["add", "x", "--kind", "poem"], b"", 2, "unknown kind 'poem'"),
        (["search", "x", "--kind", "poem"], b"", 2, "unknown kind 'poem'"),
        (["list", "--state", "gone"], b"", 2, "unknown state 'gone'"),
        (["add", "x", "--importance", "11"], b"", 2, "importance 11"),
        (["add", "x", "--importance", "0"], b"", 2, "importance 0"),
        (["add", "x", "--importance", "high"], b"", 2, "not a valid integer"),
        (["add", "x", "--confidence", "1.5"], b"", 2, "confidence 1.5"),
        (["add", "x", "--confidence", "nan"], b"", 2, "confidence nan"),
        (["add", "x", "--origin", "nobody"], b"", 2, "unknown origin"),
        (["add", "x", "--expires", "soon"], b"", 2, "'soon' is no date"),
        (["add", "x", "--expires", "2026-02-30"], b"", 2, "is no date"),
        (["add", "x", "--meta", "novalue"], b"", 2, "no key=value"),
        (["add", "x", "--tag", "t" * 200], b"", 2, "tag"),
        (["add", "x", "--tag", ",".join(f"t{n}" for n in range(100))], b"", 2, "100 tags"),
        (["get", "99"], b"", 3, "no note 99"),
        (["get", "0198c9a2-7d1e-7001-8f00-5d0f6a3c2b11"], b"", 3, "no note"),
        (["get", "99999999999999999999999"], b"", 2, "not an id"),
        (["get", "one"], b"", 2, "not an id"),
        (["get", "-1"], b"", 2, "No such option"),
        (["get", "c99"], b"", 3, "c99"),
        (["get", "t99"], b"", 3, "t99"),
        (["delete", "c1"], b"", 2, "not a note"),
        (["get"], b"", 2, "Missing argument"),
        (["update", "99", "text"], b"", 3, "no note 99"),
        (["undo", "nothing"], b"", 3, "no operation"),
        (["timeline", "99"], b"", 3, "no note 99"),
        (["history", "99"], b"", 3, "no note 99"),
        (["sessions", "show", "nobody"], b"", 3, "no session"),
        (["spaces", "merge", "user", "nowhere"], b"", 3, "no space"),
        (["search", ""], b"", 2, "empty"),
        (["search", " "], b"", 2, "empty"),
        (["search"], b"", 2, "empty"),
        (["search", "x", "--limit", "0"], b"", 2, "limit 0"),
        (["search", "x", "--limit", "ten"], b"", 2, "not a valid integer"),
        (["search", "x", "--mode", "magic"], b"", 2, "unknown mode"),
        (["search", "x", "--since", "yesterday-ish"], b"", 2, "is no time that we understand"),
        (["list", "--limit", "0"], b"", 2, "range"),
        (["export", "--format", "pdf"], b"", 2, "unknown format"),
        (["import", "nowhere.jsonl"], b"", 2, "cannot read"),
        (["import", "-"], b"", 2, "nothing to import"),
        (["import", "-"], b"\xff\xfe", 2, "not valid UTF-8"),
        (["backup", "restore", "nowhere"], b"", 3, "no backup"),
        (["add", "x", "--no-such-option"], b"", 2, "No such option"),
        (["add", "x", "--space", "a\nb"], b"", 2, "is not accepted"),
        (["config", "set", "redact", "maybe"], b"", 2, "not accepted"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_with_a_hint(
    shell: Shell, words: list[str], stdin: bytes | None, code: int, said: str
) -> None:
    shell.add("the one note")
    assert_refused(shell(*words, stdin=stdin), code, said)
    as_json = shell(*words, "--json", stdin=stdin)
    error = as_json.json["error"]
    assert as_json.code == code and set(error) == {"code", "message", "hint"} and error["hint"] and not as_json.err
    assert count(shell) == 1


def test_an_argument_of_broken_bytes_is_refused_by_the_real_program(shell: Shell) -> None:
    assert_refused(shell.process("add", b"caf\xe9"), 2, "not valid UTF-8")
    assert not shell.store.exists()


@pytest.mark.skipif(os.name != "posix", reason="there is no `<&-` elsewhere")
def test_a_closed_standard_input_is_an_error_only_when_it_is_needed(shell: Shell) -> None:
    def closed(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", '"$@" <&-', "sh", *PYTHON, *words]
        environ = {**os.environ, **shell.environ}
        return subprocess.run(command, capture_output=True, text=True, cwd=shell.folder, env=environ, timeout=60)

    refused = closed("add", "-")
    assert refused.returncode == 2 and "standard input is closed" in refused.stderr
    assert closed("add", "a text").returncode == 0


@pytest.mark.parametrize(
    "text", [EMOJI, HEBREW_AND_ARABIC, "e\u0301 é", "日本語のメモ", "a\tb\r\nc", "-- x", "'; drop table notes"]
)
def test_any_text_that_is_text_comes_back_as_it_was(shell: Shell, text: str) -> None:
    number = shell("add", "--json", "--", text).json["id"]
    assert shell("get", str(number), "--json").json["content"] == text
    shell("get", str(number))
    shell("list")


@pytest.mark.parametrize(
    "query",
    ["AND", "OR NOT", '"', '""', "'", "foo-bar", "a:b", "*", "foo*", "(", "NEAR(a b)", "^a", "{x}:", "-a", "a AND",
     "\\", "title:x", "x" * 10_240, "kettle " * 1500, "🚀", "%", "_", "space:1", "\u200b"],
)  # fmt: skip
def test_no_query_is_syntax(shell: Shell, query: str) -> None:
    shell.add("foo-bar a:b AND the kettle")
    result = shell("search", "--json", "--", query)
    assert result.code == 0 and isinstance(result.json["hits"], list), result
    assert shell("search", "--", query).code == 0


def test_words_that_look_like_syntax_are_found(shell: Shell) -> None:
    number = shell.add("foo-bar runs AND a:b")
    for query in ("foo-bar", "a:b", "foo*", '"foo'):
        assert [hit["id"] for hit in shell("search", "--json", "--", query).json["hits"]] == [number], query


@pytest.fixture(scope="module")
def shared_shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("fuzz"))
    shell.add("foo-bar a:b AND the kettle")
    return shell


@settings(max_examples=150)
@given(query=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_any_query_at_all_gives_an_answer(shared_shell: Shell, query: str) -> None:
    assert shared_shell("search", "--json", "--", query).code == (0 if query.strip() else 2)


# -- stores that cannot be used ----------------------------------------------------------------------------------------


def test_a_missing_store_is_named(shell: Shell) -> None:
    assert_refused(shell("list", "--store", "nowhere.db"), 3, "no store at", "recollect add")


@pytest.mark.parametrize(
    "content", [b"", b"just some text that is long enough to be a header of a page" * 40, "folder", "sqlite"]
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(shell: Shell, tmp_path: Path, content: bytes | str) -> None:
    path = tmp_path / "other.db"
    if content == "folder":
        path.mkdir()
    elif content == "sqlite":
        import sqlite3

        with sqlite3.connect(path) as connection:
            connection.execute("create table t (x)")
        connection.close()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    before = path.read_bytes() if path.is_file() else None
    for words in (["add", "x"], ["list"], ["search", "x"], ["backup", "create"]):
        assert_refused(shell(*words, "--store", str(path)), 5, "store")
    if before is not None:
        assert path.read_bytes() == before
    assert [name for name in os.listdir(tmp_path) if name.startswith("other.db")] == ["other.db"]


def test_a_store_of_a_newer_recollect_is_refused(shell: Shell) -> None:
    shell.add("a text")
    import apsw

    connection = apsw.Connection(str(shell.store))
    connection.pragma("user_version", 999)
    connection.close()
    assert_refused(shell("add", "another"), 5, "newer recollect", "upgrade")


def test_a_truncated_store_is_damaged_and_a_backup_brings_it_back(shell: Shell) -> None:
    shell.add("precious")
    backup = shell("backup", "create", "--json").json["path"]
    whole = shell.store.read_bytes()
    shell.store.write_bytes(whole[: len(whole) // 2])
    for words in (["list"], ["add", "x"], ["get", "1"]):
        assert_refused(shell(*words), 6, str(shell.store), "recollect ")
    sick = shell("doctor", "--json")
    assert sick.code == 6 and sick.json["status"] == "damaged" and sick.json["checks"][0]["hint"]
    done = shell("backup", "restore", "--yes", "--json")
    assert done.code == 0 and done.json["restored"] == backup
    assert Path(done.json["aside"]).read_bytes() == whole[: len(whole) // 2]
    assert shell("get", "1", "--json").json["content"] == "precious"


def test_a_damaged_text_is_noticed_by_get_and_doctor(shell: Shell) -> None:
    number = str(shell.add("the account number is 12345"))
    shell.store.write_bytes(shell.store.read_bytes().replace(b"number is 12345", b"number is 12845"))
    result = shell("get", number)
    assert_refused(result, 6, "hash", "recollect doctor")
    assert shell("doctor").code == 6


@contextmanager
def write_lock(shell: Shell) -> Iterator[None]:
    """Another process that holds the store's write lock until we are done."""
    script = textwrap.dedent(
        """
        import apsw, sys
        connection = apsw.Connection(sys.argv[1])
        connection.execute("begin immediate")
        print("held", flush=True)
        sys.stdin.read()
        """
    )
    holder = subprocess.Popen([sys.executable, "-c", script, str(shell.store)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)  # fmt: skip
    assert holder.stdin is not None and holder.stdout is not None
    try:
        assert holder.stdout.readline().strip() == b"held"
        yield
    finally:
        holder.stdin.close()
        holder.wait(timeout=10)
        holder.stdout.close()


def test_a_locked_store_can_be_read_and_a_write_gives_up_in_time(shell: Shell) -> None:
    number = str(shell.add("readable"))
    with write_lock(shell):
        assert shell("get", number).code == 0
        assert len(shell("search", "readable", "--json").json["hits"]) == 1
        late = shell("add", "unwritable", RECOLLECT_BUSY_TIMEOUT_SECONDS="0.2")
        assert_refused(late, 5, "in use", "try again")
        assert shell("add", "x", "--json", RECOLLECT_BUSY_TIMEOUT_SECONDS="0.1").json["error"]["code"] == "store_busy"
    assert count(shell) == 1
    assert shell("add", "unwritable").code == 0


def test_restoring_is_refused_while_another_process_has_the_store_open(shell: Shell) -> None:
    shell.add("before the backup")
    shell("backup", "create")
    shell.add("after the backup")
    with write_lock(shell):
        assert_refused(shell("backup", "restore", "--yes"), 5, "in use by another process")
    assert count(shell) == 2
    assert shell("backup", "restore", "--yes").code == 0
    assert count(shell) == 1


@pytest.fixture
def public_shell() -> Iterator[Shell]:
    """In a folder that another user can reach, which pytest's own folders are not."""
    with tempfile.TemporaryDirectory(prefix="recollect-test-") as folder:
        Path(folder).chmod(0o755)
        yield Shell(Path(folder))


def as_other_user(shell: Shell, *words: str) -> Result:
    """The command as somebody who may read the store but not write it, or its folder.

    Root may write everything, so root becomes nobody first; what the command imports later was loaded before, since
    nobody may not be able to reach this Python.
    """
    script = textwrap.dedent(
        """
        import contextlib, io, os, sys, tempfile
        from recollect.interfaces.cli.app import run
        if os.getuid() == 0:
            quiet = contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO())
            with tempfile.TemporaryDirectory() as folder, quiet[0], quiet[1]:
                for words in (["add", "x"], ["list"], ["search", "x"], ["get", "1"]):
                    run([*words, "--store", folder + "/warm.db", "--space", "user"])
                run(["get", "9", "--store", folder + "/warm.db", "--json"])
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        sys.exit(run(sys.argv[1:]))
        """
    )
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, cwd="/", timeout=60,
                          stdin=subprocess.DEVNULL, env={**os.environ, **shell.environ})  # fmt: skip
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.skipif(os.name != "posix", reason="permissions work differently elsewhere")
def test_a_read_only_store_can_be_read_and_says_so_when_written(public_shell: Shell) -> None:
    shell, here = public_shell, ("--space", "user")
    shell.add("readable", *here)
    shell.store.chmod(0o444)
    shell.home.chmod(0o777)
    before = shell.store.read_bytes()
    assert_refused(as_other_user(shell, "add", "x", *here), 5, "cannot be written", "permissions")
    for words in (["list"], ["search", "readable"], ["get", "1"]):
        assert "readable" in as_other_user(shell, *words, *here).out, words
    assert shell.store.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="permissions work differently elsewhere")
def test_a_store_in_a_read_only_folder_is_left_alone(public_shell: Shell) -> None:
    """SQLite keeps its shared index of the log in the folder, so even a reader needs to write there."""
    shell, here = public_shell, ("--space", "user")
    shell.add("readable", *here)
    shell.store.chmod(0o444)
    shell.home.chmod(0o555)
    before = shell.store.read_bytes()
    try:
        assert_refused(as_other_user(shell, "add", "x", *here), 5, "cannot be written", "permissions")
        listed = as_other_user(shell, "list", *here)
        assert "readable" in listed.out or "cannot be written" in listed.err
        assert shell.store.read_bytes() == before and os.listdir(shell.home) == ["memory.db"]
    finally:
        shell.home.chmod(0o700)


@pytest.mark.skipif(os.name != "posix", reason="there is no file size limit elsewhere")
def test_a_full_disk_loses_nothing_and_leaves_nothing_half_written(shell: Shell) -> None:
    number = str(shell.add("was there before"))
    script = textwrap.dedent(
        """
        import resource, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limit = int(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        from recollect.interfaces.cli.app import run
        sys.exit(run(sys.argv[2:]))
        """
    )
    for limit in (0, 4096, 40_000):
        done = subprocess.run(
            [sys.executable, "-c", script, str(limit), "add", "-"], input="big " * 50_000, capture_output=True,
            text=True, cwd=shell.folder, env={**os.environ, **shell.environ}, timeout=60,
        )  # fmt: skip
        assert done.returncode == 5, (limit, done)
        assert done.stderr.startswith("error: ") and "hint: " in done.stderr and "Traceback" not in done.stderr
        assert count(shell) == 1
    assert shell("doctor").code == 0
    assert shell("get", number, "--json").json["content"] == "was there before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_answer_that_cannot_be_printed_is_an_error(shell: Shell) -> None:
    shell.add("a text")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PYTHON, "list"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=shell.folder,
                              env={**os.environ, **shell.environ}, timeout=60)  # fmt: skip
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: No space left on device" in done.stderr and "bug" not in done.stderr


def test_a_broken_config_file_and_a_broken_variable_are_named(shell: Shell) -> None:
    assert_refused(shell("add", "x", RECOLLECT_SEARCH_LIMIT="many"), 2, "RECOLLECT_SEARCH_LIMIT", "whole number")
    shell.home.mkdir(exist_ok=True)
    (shell.home / "config.toml").write_text("colour = 3\n")
    assert_refused(shell("add", "x"), 2, "unknown setting 'colour'")
    assert not shell.store.exists()


def test_two_processes_that_make_the_store_at_once_both_succeed(shell: Shell) -> None:
    environ = {**os.environ, **shell.environ}
    running = [
        subprocess.Popen([*PYTHON, "add", f"text {n}", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         cwd=shell.folder, env=environ)
        for n in range(4)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    assert count(shell) == 4


def test_a_copied_store_without_its_log_is_still_whole(shell: Shell, tmp_path: Path) -> None:
    """After every command the file alone is the store: nothing is left in a log beside it."""
    shell.add("travels well")
    copy = tmp_path / "copy.db"
    shutil.copyfile(shell.store, copy)
    with Memory(copy, space="all") as memory:
        assert [note.content for note in memory.list()] == ["travels well"]
