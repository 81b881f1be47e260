"""The command line's verbs: what people and programs type, and what they get."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import click
import pytest

from recollect import Memory
from recollect.interfaces.cli.app import ALIASES, COMMANDS, cli
from recollect.types import Turn
from shell import PYTHON, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


# -- what the rest of the world relies on ------------------------------------------------------------------------------


def test_adding_twice_says_created_and_then_duplicate_with_the_same_id(shell: Shell) -> None:
    first = shell.process("add", "We chose PostgreSQL for billing", "--json")
    again = shell.process("add", "We chose PostgreSQL for billing", "--json")
    assert first.code == again.code == 0
    assert list(first.json)[:5] == ["id", "uid", "created", "duplicate", "kind"]
    assert (first.json["created"], first.json["duplicate"], first.json["kind"]) == (True, False, "decision")
    assert (again.json["created"], again.json["duplicate"]) == (False, True)
    assert (again.json["id"], again.json["uid"]) == (first.json["id"], first.json["uid"])


def test_another_process_finds_what_was_added(shell: Shell) -> None:
    number = shell.process("add", "We chose PostgreSQL for billing", "--json").json["id"]
    answer = shell.process("search", "billing database", "--json").json
    hit = answer["hits"][0]
    assert hit["id"] == number and isinstance(hit["id"], int)
    assert {"id", "title", "kind", "score", "created_at", "matched_by", "space", "snippet"} <= set(hit)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", hit["created_at"])
    assert hit["matched_by"] == ["keyword"] and 0 < hit["score"] <= 1 and hit["score"] == round(hit["score"], 4)
    assert answer["mode"] == "keyword" and isinstance(answer["notices"], list)


def test_every_command_has_the_global_options_an_example_and_the_purpose_in_the_list(shell: Shell) -> None:
    context = click.Context(cli)
    for name, (_, purpose) in COMMANDS.items():
        command = cli.get_command(context, name)
        assert command is not None and command.help is not None
        assert command.help.startswith(purpose), f"{name}: the list and its help differ"
        leaves = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        for leaf in leaves:
            options = {option for parameter in leaf.params for option in parameter.opts}
            assert {"--store", "--space", "--json", "--help"} <= options, leaf.name
            assert "Examples:" in (leaf.epilog or ""), leaf.name


def test_help_is_shown_for_the_program_a_command_and_a_sub_command(shell: Shell) -> None:
    for words in ([], ["--help"], ["add", "--help"], ["spaces", "--help"], ["spaces", "merge", "--help"]):
        result = shell(*words)
        assert result.code == 0 and "Usage: recollect" in result.out and not result.err


def test_save_is_add_and_a_misspelt_command_is_guessed(shell: Shell) -> None:
    assert ALIASES == {"save": "add"}
    assert shell("save", "a text").code == 0
    wrong = shell("serch", "a text")
    assert wrong.code == 2 and "did you mean `recollect search`?" in wrong.err


def test_global_options_may_stand_before_the_command(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert shell("--store", str(other), "--space", "team", "--json", "add", "a text").json["space"] == "team"
    assert other.exists() and not shell.store.exists()


def test_a_store_is_made_by_add_alone(shell: Shell) -> None:
    for words in (["list"], ["search", "x"], ["get", "1"], ["stats"], ["doctor"], ["export"], ["undo"], ["log"]):
        result = shell(*words)
        assert result.code == 3 and "there is no store" in result.err and "hint:" in result.err, words
    assert not shell.store.exists()


# -- adding ------------------------------------------------------------------------------------------------------------


def test_every_option_of_add_arrives_in_the_note(shell: Shell) -> None:
    number = shell.add(
        "The text", "--kind", "insight", "--title", "A title", "--tag", "a", "--tag", "b, c", "--importance", "8",
        "--confidence", "0.5", "--context", "about", "--source", "https://example.org", "--session", "s1", "--pin",
        "--expires", "2100-01-31T10:00Z", "--meta", "ticket=BILL-42", "--meta", "count=3", "--origin", "agent",
    )  # fmt: skip
    note = shell("get", str(number), "--json").json
    expected = {
        "content": "The text", "kind": "insight", "title": "A title", "tags": ["a", "b", "c"], "importance": 8,
        "confidence": 0.5, "context": "about", "source": "https://example.org", "session": "s1", "pinned": True,
        "expires_at": "2100-01-31T10:00:00.000Z", "metadata": {"ticket": "BILL-42", "count": 3}, "origin": "agent",
    }  # fmt: skip
    assert {name: note[name] for name in expected} == expected


def test_text_comes_from_words_from_a_dash_or_from_a_pipe(shell: Shell) -> None:
    numbers = {
        shell.add("some plain words"),
        shell("add", "some", "plain", "words", "--json").json["id"],
        shell("add", "-", "--json", stdin=b"some plain words\n").json["id"],
        shell("add", "--json", stdin=b"\xef\xbb\xbfsome plain words\r\n").json["id"],
    }
    assert len(numbers) == 1


def test_a_span_is_counted_from_now(shell: Shell) -> None:
    with Memory(shell.store, space="user") as memory:
        for span, hours in (("90m", 1.5), ("12h", 12), ("30d", 720), ("2w", 336)):
            note = memory.get(shell.add(f"expires in {span}", "--expires", span, "--space", "user"))
            assert note.expires_ms is not None
            assert abs(note.expires_ms / 3_600_000 - time.time() / 3600 - hours) < 0.1
        assert memory.get(shell.add("stays", "--expires", "never", "--space", "user")).expires_ms is None


def test_a_secret_is_redacted_and_said_unless_allowed(shell: Shell) -> None:
    secret = "ghp_" + "Zx9Kq2Lm7Wp4Rt8Yv3Bn6Hd1Js5Fg0CaQeXu"
    redacted = shell("add", f"token {secret}", "--json").json
    assert redacted["notice"].startswith("redacted")
    assert secret not in shell("get", str(redacted["id"])).out
    kept = shell.add(f"token {secret}", "--allow-secrets")
    assert secret in shell("get", str(kept)).out


# -- reading -----------------------------------------------------------------------------------------------------------


def test_get_takes_numbers_uids_and_several(shell: Shell) -> None:
    one, two = shell.add("first"), shell.add("second")
    uid = shell("get", str(one), "--json").json["uid"]
    assert shell("get", uid, "--json").json["id"] == one
    assert [note["content"] for note in shell("get", f"#{one}", str(two), "--json").json["notes"]] == [
        "first",
        "second",
    ]
    shown = shell("get", str(one), str(two)).out
    assert "first" in shown and "second" in shown


def test_list_pages_and_filters(shell: Shell) -> None:
    numbers = [shell.add(f"note {n}", "--kind", "fact" if n % 2 else "task", "--tag", f"t{n}") for n in range(5)]
    page = [note["id"] for note in shell("list", "--limit", "2", "--json").json["notes"]]
    rest = [note["id"] for note in shell("list", "--before", str(page[-1]), "--json").json["notes"]]
    assert page + rest == numbers[::-1]
    assert [note["id"] for note in shell("list", "--kind", "fact", "--json").json["notes"]] == [numbers[3], numbers[1]]
    assert [note["id"] for note in shell("list", "--tag", "t2", "--json").json["notes"]] == [numbers[2]]
    assert shell("list", "--until", "2000-01-01", "--json").json["notes"] == []
    assert len(shell("list", "--since", "1h", "--json").json["notes"]) == 5
    assert "no notes here" in shell("list", "--since", "2100-01-01").out


def test_search_takes_filters_and_finding_nothing_is_no_error(shell: Shell) -> None:
    one = shell.add("billing runs on PostgreSQL", "--kind", "decision", "--tag", "db")
    shell.add("billing contact is Ana", "--kind", "fact")
    found = shell("search", "billing", "--kind", "decision", "--tag", "db", "--since", "1d", "--source", "notes",
                  "--limit", "5", "--mode", "keyword", "--min-score", "0", "--explain", "--json")  # fmt: skip
    assert [hit["id"] for hit in found.json["hits"]] == [one]
    nothing = shell("search", "zebra")
    assert nothing.code == 0 and "nothing found" in nothing.out
    assert shell("search", "billing", "--source", "sessions", "--json").json["hits"] == []
    wrong = shell("search", "billing", "--source", "books")
    assert wrong.code == 2 and "notes, sessions, files, all" in wrong.err


def test_spaces_do_not_see_each_other_unless_all_is_asked_for(shell: Shell) -> None:
    shell.add("the kettle is red", "--space", "one")
    assert shell("search", "kettle", "--space", "two", "--json").json["hits"] == []
    assert len(shell("search", "kettle", "--space", "all", "--json").json["hits"]) == 1
    assert shell("add", "x", "--space", "all").code == 2


def test_timeline_shows_distance_and_place(shell: Shell) -> None:
    numbers = [shell.add(f"moment {n}") for n in range(4)]
    moments = shell("timeline", str(numbers[1]), "--before", "5", "--after", "1", "--json").json["moments"]
    assert [(m["id"], m["position"], m["distance"]) for m in moments] == [
        (numbers[0], "before", -1), (numbers[1], "anchor", 0), (numbers[2], "after", 1),
    ]  # fmt: skip
    assert "moment 2" in shell("timeline", str(numbers[1])).out


def test_stats_count_what_is_there(shell: Shell) -> None:
    shell.add("one", "--kind", "fact")
    stats = shell("stats", "--json").json
    assert stats["notes"] == 1 and stats["kinds"] == {"fact": 1} and stats["newest_at"].endswith("Z")
    assert "notes: 1" in shell("stats").out


def test_sessions_are_listed_and_shown(shell: Shell) -> None:
    assert shell("sessions", "--store", str(shell.store)).code == 3
    shell.add("something")
    assert "no sessions yet" in shell("sessions").out
    with Memory(shell.store, space="user") as memory:
        session = memory.start_session("k1", agent="tester", title="Tea talk")
        memory.add_turns(session, [Turn("user", "Which tea?"), Turn("assistant", "Green \x1b[31mtea\x1b[0m.")])
    (row,) = shell("sessions", "--space", "user", "--json").json["sessions"]
    assert (row["title"], row["turns"]) == ("Tea talk", 2)
    turns = shell("sessions", "show", row["uid"], "--space", "user", "--json").json["turns"]
    assert [turn["speaker"] for turn in turns] == ["user", "assistant"]
    shown = shell("sessions", "show", row["uid"], "--space", "user").out
    assert "Which tea?" in shown and "\x1b" not in shown
    passage = shell("get", turns[0]["id"], "--space", "user", "--json").json
    assert passage["id"] == turns[0]["id"] and passage["text"] == "Which tea?"


# -- changing ----------------------------------------------------------------------------------------------------------


def test_a_note_is_updated_undone_deleted_and_restored(shell: Shell) -> None:
    number = str(shell.add("We chose MySQL"))
    assert shell("update", number, "We chose PostgreSQL", "--tag", "db", "--json").json["rev"] == 2
    assert shell("get", number, "--json").json["content"] == "We chose PostgreSQL"
    history = shell("history", number, "--json").json["revisions"]
    assert [(revision["rev"], revision["content"]) for revision in history] == [(1, "We chose MySQL")]
    assert "then changed: " in shell("history", number).out
    assert shell("undo", "--json").json["notes"][0]["title"] == "We chose MySQL"
    assert shell("delete", number).code == 0
    assert shell("list", "--json").json["notes"] == []
    assert shell("list", "--state", "deleted", "--json").json["notes"][0]["id"] == int(number)
    again = shell("delete", number)
    assert again.code == 3 and f"recollect restore {number}" in again.err
    assert shell("restore", number, "--json").json["state"] == "live"


def test_one_undo_takes_back_a_delete_of_several(shell: Shell) -> None:
    numbers = [str(shell.add(f"note {number}")) for number in range(3)]
    assert shell("delete", *numbers).code == 0
    assert shell("list", "--json").json["notes"] == []
    assert len(shell("undo", "--json").json["notes"]) == 3
    assert shell("delete", numbers[0], "99").code == 3
    assert len(shell("list", "--json").json["notes"]) == 3


def test_the_log_names_the_operations_that_undo_takes(shell: Shell) -> None:
    assert shell.add("first") and shell.add("second")
    operations = shell("log", "--json").json["operations"]
    assert [row["verb"] for row in operations][:2] == ["add", "add"]
    older = operations[1]["operation"]
    assert older in shell("log").out
    assert shell("undo", older).code == 0
    assert [note["title"] for note in shell("list", "--json").json["notes"]] == ["second"]
    assert shell("undo", "nonsense").code == 3


def test_an_update_that_expects_an_old_revision_is_a_conflict(shell: Shell) -> None:
    number = str(shell.add("text one"))
    shell("update", number, "text two")
    late = shell("update", number, "text three", "--expect-rev", "1", "--json")
    assert late.code == 4 and late.json["error"]["code"] == "conflict"
    assert shell("get", number, "--json").json["content"] == "text two"


def test_an_update_reads_a_pipe_only_when_nothing_else_is_to_be_changed(shell: Shell) -> None:
    number = str(shell.add("old text"))
    shell("update", number, "--title", "A new title", stdin=b"not the text")
    assert shell("get", number, "--json").json["content"] == "old text"
    shell("update", number, stdin=b"new text\n")
    assert shell("get", number, "--json").json["content"] == "new text"
    empty = shell("update", number)
    assert empty.code == 2 and "empty" in empty.err


def test_pins_and_links_come_and_go(shell: Shell) -> None:
    one, two = str(shell.add("one")), str(shell.add("two"))
    assert shell("pin", one, two, "--json").json["notes"][1]["pinned"] is True
    assert shell("unpin", one, "--json").json["pinned"] is False
    assert shell("link", one, two, "--kind", "replaces").code == 0
    uid = shell("get", two, "--json").json["uid"]
    assert shell("get", one, "--json").json["links"] == [{"to": uid, "kind": "replaces"}]
    assert f"replaces {uid}" in shell("get", one).out
    assert shell("unlink", one, two).code == 0
    assert shell("get", one, "--json").json["links"] == []
    assert shell("link", one, one).code == 2


# -- spaces and settings -----------------------------------------------------------------------------------------------


def test_a_merge_shows_first_happens_with_yes_and_can_be_undone(shell: Shell) -> None:
    shell.add("in one", "--space", "one")
    shell.add("in two", "--space", "two")
    preview = shell("spaces", "merge", "one", "two")
    assert preview.code == 0 and "would move 1 note" in preview.out and "--yes" in preview.out
    assert len(shell("list", "--space", "two", "--json").json["notes"]) == 1
    done = shell("spaces", "merge", "one", "two", "--yes")
    assert len(shell("list", "--space", "two", "--json").json["notes"]) == 2
    hint = next(line for line in done.out.splitlines() if "recollect undo" in line)
    assert shell(*hint.partition("recollect ")[2].split()).code == 0
    assert len(shell("list", "--space", "two", "--json").json["notes"]) == 1
    assert len(shell("list", "--space", "one", "--json").json["notes"]) == 1


def test_a_space_is_renamed(shell: Shell) -> None:
    shell.add("in one", "--space", "one")
    assert shell("spaces", "rename", "one", "uno", "--json").json["name"] == "uno"
    assert "uno" in shell("spaces").out
    assert shell("spaces", "rename", "nowhere", "x").code == 3


def test_init_makes_the_folder_a_project(shell: Shell) -> None:
    assert shell("add", "before", "--json").json["space"] == "user"
    report = shell("init", "--json").json
    assert report["created"] is True and report["project"] == "work"
    assert shell("add", "after", "--json").json["space"] == "work"
    assert "already the project work" in shell("init").out
    assert shell("init", "--folder", "nowhere").code == 2


def test_a_project_local_store_is_used_inside_the_project_and_nowhere_else(shell: Shell) -> None:
    project = shell.folder / "garden"
    project.mkdir()
    shell("init", "--local", "--folder", str(project))
    outside = shell.folder
    shell.folder = project
    shell.add("roses need water")
    inside_project = project / ".recollect" / "memory.db"
    assert inside_project.exists() and not shell.store.exists()
    assert shell("config", "get", "store", "--json").json == {
        "name": "store", "value": str(inside_project), "origin": "project", "doc": mock.ANY,
    }  # fmt: skip
    assert shell("stats", "--json").json["store"] == str(inside_project)
    assert Path(shell("backup", "create", "--json").json["path"]).parent == shell.home / "backups"
    other = shell.folder / "other.db"
    assert shell("add", "named", "--store", str(other)).code == 0 and other.exists()
    shell.folder = outside
    assert shell("list").code == 3


def test_settings_are_listed_read_and_written(shell: Shell) -> None:
    assert shell("config", "get", "search_limit").out == "10\n"
    assert shell("config", "set", "search_limit", "7").code == 0
    assert shell("config", "get", "search-limit").out == "7\n"
    rows = {row["name"]: row for row in shell("config", "--json").json["settings"]}
    assert (rows["search_limit"]["value"], rows["search_limit"]["origin"]) == ("7", "file")
    assert rows["embedder"]["origin"] == "environment"
    path = shell("config", "path").out.strip()
    assert Path(path).read_text() == "search_limit = 7\n"
    assert shell("config", "set", "search_limit", "0").code == 2
    assert shell("config", "set", "serch_limit", "5").code == 2
    assert shell("config", "get", "nothing").code == 3
    Path(path).write_text("broken [")
    assert shell("list").code == 2 and shell("config", "path").code == 0


def test_a_setting_of_the_environment_reaches_the_search(shell: Shell) -> None:
    for n in range(3):
        shell.add(f"kettle number {n}")
    assert len(shell("search", "kettle", "--json", RECOLLECT_SEARCH_LIMIT="2").json["hits"]) == 2


# -- the program itself ------------------------------------------------------------------------------------------------


def test_version_and_completion_are_printed(shell: Shell) -> None:
    from recollect import __version__

    assert shell("--version").out == f"recollect {__version__}\n"
    assert shell("version", "--json").json["version"] == __version__
    for name in ("bash", "zsh", "fish"):
        assert "_RECOLLECT_COMPLETE" in shell("completion", name).out
    assert shell("completion", "tcsh").code == 2


def test_the_shell_completes_commands(shell: Shell) -> None:
    done = shell.process(_RECOLLECT_COMPLETE="bash_complete", COMP_WORDS="recollect se", COMP_CWORD="1")
    assert {"plain,search", "plain,sessions"} <= set(done.out.split())


def test_the_demo_finds_what_it_promises(shell: Shell) -> None:
    done = shell.process("demo")
    assert done.code == 0, done.out + done.err
    assert "an earlier process" in done.out and "NOT FOUND" not in done.out
    assert not shell.store.exists(), "the demo keeps to a store of its own"


def test_a_plain_call_loads_nothing_it_does_not_need(shell: Shell) -> None:
    number = shell.add("a text")
    heavy = ["numpy", "onnxruntime", "rich", "re2", "click.shell_completion", "importlib.metadata", "tomllib", "locale"]
    for words in (["get", str(number)], ["add", "another text"], ["list"]):
        script = (
            "import sys; from recollect.interfaces.cli.app import run; "
            f"code = run({words!r}); print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr); sys.exit(code)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=shell.folder,
                              env={**os.environ, **shell.environ}, timeout=60)  # fmt: skip
        assert (done.returncode, done.stderr.strip()) == (0, "[]"), words


def test_a_reader_that_leaves_early_is_no_error(shell: Shell) -> None:
    with Memory(shell.store, space="user") as memory:
        memory.add_many([f"note {n} " + "x" * 500 for n in range(500)])
    command = [*PYTHON, "list", "--limit", "500", "--space", "user"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=shell.folder,
                               env={**os.environ, **shell.environ})  # fmt: skip
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == b""
    assert running.wait(timeout=30) == 0
    running.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent differently elsewhere")
def test_ctrl_c_says_that_the_store_is_sound(shell: Shell) -> None:
    """Interrupted while it waits for its input: the store was not touched, and no traceback is shown."""
    running = subprocess.Popen([*PYTHON, "add", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=shell.folder,
                               env={**os.environ, **shell.environ})  # fmt: skip
    time.sleep(0.7)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (130, b"")
    assert err.decode().strip() == "interrupted; the store is sound"


def test_what_a_note_holds_cannot_steer_the_terminal(shell: Shell) -> None:
    number = shell.add("red \x1b[31malert\x1b[0m and \u202ereversed\u202c \x07bell", "--title", "\x1b]0;owned\x07")
    for words in (["get", str(number)], ["list"], ["search", "alert"], ["history", str(number)], ["log"]):
        for form in ([], ["--json"]):
            out = shell(*words, *form).out
            assert not set(out) & set("\x1b\x07\u202e\u202c"), words
    exact = shell("get", str(number), "--json").json["content"]
    assert exact == "red \x1b[31malert\x1b[0m and \u202ereversed\u202c \x07bell"


def on_a_terminal(shell: Shell, *words: str, typed: bytes = b"") -> tuple[int, str]:
    """The program as a person meets it; returns its exit code and what the screen got."""
    import pty

    ours, theirs = pty.openpty()
    running = subprocess.Popen([*PYTHON, *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=shell.folder,
                               env={**os.environ, **shell.environ, "TERM": "xterm", "COLUMNS": "100"})  # fmt: skip
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is gone
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return running.wait(timeout=30), shown.decode()


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals elsewhere")
def test_a_terminal_gets_a_table_and_the_text_of_a_note_as_text(shell: Shell) -> None:
    shell.add("a text", "--title", "[bold]not markup[/bold] \x1b[2J :smile:", "--tag", "x")
    code, screen = on_a_terminal(shell, "list")
    assert code == 0 and "[bold]not markup[/bold]" in screen and ":smile:" in screen
    assert "\x1b[2J" not in screen and "\\x1b[2J" in screen and "─" in screen
    code, screen = on_a_terminal(shell, "list", "--json")
    assert json.loads(screen)["notes"][0]["tags"] == ["x"] and len(screen.splitlines()) > 5


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals elsewhere")
def test_a_question_on_a_terminal_takes_yes_and_no(shell: Shell) -> None:
    shell.add("in one", "--space", "one")
    shell.add("in two", "--space", "two")
    code, screen = on_a_terminal(shell, "spaces", "merge", "one", "two", typed=b"n\n")
    assert code == 0 and "would move 1 note" in screen and "nothing was changed" in screen
    code, screen = on_a_terminal(shell, "spaces", "merge", "one", "two", typed=b"y\n")
    assert code == 0 and "moved 1 note" in screen


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals elsewhere")
def test_add_without_a_text_on_a_terminal_asks_for_one(shell: Shell) -> None:
    code, screen = on_a_terminal(shell, "add")
    assert code == 2 and "there is no text to remember" in screen


def test_a_bug_is_one_line_and_a_traceback_only_on_request(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr(Memory, "stats", broken)
    shell.add("a text")
    result = shell("stats")
    assert result.code == 1 and "unexpected ZeroDivisionError: oh no" in result.err and "Traceback" not in result.err
    assert json.loads(shell("stats", "--json").out)["error"]["code"] == "error"
    with pytest.raises(ZeroDivisionError):
        shell("stats", RECOLLECT_DEBUG="1")
