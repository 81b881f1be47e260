"""Notes that leave and come back: export, import, backup. What matters is that nothing is lost on the way."""

import csv
import io
import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Memory
from recollect.interfaces.cli import formats
from recollect.interfaces.cli.formats import Rows
from shell import PYTHON, Shell

FORMULAS = ("=SUM(A1:A9)", "+1 555 0100", "-5 degrees", "@mention", "\tindented")
TEXTS = (*FORMULAS, 'with "quotes", commas\nand lines', "日本 🚀")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    with Memory(shell.store, space="user") as memory:
        for number, text in enumerate(TEXTS):
            memory.add(text, tags=["t"], importance=number + 1, metadata={"n": number, "list": [1, "zwei"]})
        first = memory.list(limit=100)[-1]
        memory.link(first, memory.add("linked to"), "replaces")
        memory.pin(first)
        memory.update(first, context="changed once")
    return shell


def rows(shell: Shell, store: Path | None = None) -> list[str]:
    options = ["--store", str(store)] if store is not None else []
    return shell("export", "--space", "user", *options).out.splitlines()


# -- export ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["notes.jsonl", "notes.json"])
def test_what_was_exported_comes_back_without_loss(filled: Shell, tmp_path: Path, name: str) -> None:
    file, other = tmp_path / name, tmp_path / "other.db"
    assert filled("export", "--output", str(file), "--space", "user").code == 0
    done = filled("import", str(file), "--store", str(other), "--space", "user", "--json").json
    assert (done["imported"], done["skipped"]) == (8, [])
    assert rows(filled, other) == rows(filled)
    again = filled("import", str(file), "--store", str(other), "--space", "user", "--json").json
    assert (again["imported"], again["updated"], again["unchanged"]) == (0, 0, 8)


def test_an_export_can_be_piped_into_an_import(filled: Shell, tmp_path: Path) -> None:
    out = filled("export", "--space", "user").out
    done = filled("import", "-", "--store", str(tmp_path / "o.db"), "--space", "user", "--json", stdin=out.encode())
    assert done.json["imported"] == 8


def test_a_spreadsheet_runs_nothing_of_a_csv(filled: Shell) -> None:
    out = filled("export", "--format", "csv", "--space", "user").out
    table = list(csv.DictReader(io.StringIO(out, newline="")))
    contents = [row["content"] for row in table]
    assert contents[:5] == [f"'{text}" for text in FORMULAS]
    assert contents[5:7] == list(TEXTS[5:])
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in table for cell in row.values())


@given(cell=st.text(max_size=20))
def test_no_cell_begins_like_a_formula(cell: str) -> None:
    row = {"uid": cell, "title": cell, "content": cell, "tags": [cell], "created_ms": 0, "metadata": {cell: cell}}
    for cells in csv.reader(io.StringIO("".join(formats.as_csv([row])), newline="")):
        assert not any(each.startswith(("=", "+", "-", "@", "\t", "\r")) for each in cells)


def test_markdown_is_grouped_by_day(shell: Shell) -> None:
    with Memory(shell.store, space="user") as memory:
        memory.add("Older\n\nwith a body", created_ms=1_700_000_000_000, tags=["a"], kind="fact")
        memory.add("Newer", created_ms=1_700_200_000_000, kind="task")
    text = shell("export", "--format", "md", "--space", "user", TZ="UTC").out
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Memory", "## 2023-11-14", "### Older", "## 2023-11-17", "### Newer",
    ]  # fmt: skip
    assert "fact, user, #a" in text and "with a body" in text


def test_an_exported_file_is_private_and_whole(filled: Shell, tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    file.write_text("old")
    said = filled("export", "-o", str(file), "--space", "user").out
    assert f"wrote 8 notes to {file}" in said and file.read_text().startswith("uid,space,")
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_an_export_never_overwrites_the_store(filled: Shell) -> None:
    before = filled.store.read_bytes()
    for name in (str(filled.store), f"{filled.store}-wal"):
        result = filled("export", "-o", name, "--space", "user")
        assert result.code == 2 and "is the store itself" in result.err
    assert filled("export", "-o", str(filled.home)).code == 2
    assert filled.store.read_bytes() == before


def test_an_export_takes_filters(filled: Shell) -> None:
    assert len(filled("export", "--tag", "t", "--space", "user").out.splitlines()) == 7
    assert filled("export", "--since", "2100-01-01", "--space", "user").out == ""
    assert filled("export", "--format", "json", "--since", "2100-01-01", "--space", "user").json == []


# -- import ------------------------------------------------------------------------------------------------------------


def test_a_bad_line_is_skipped_with_its_reason_and_the_rest_comes_in(shell: Shell) -> None:
    lines = [
        '{"content": "first good"}', "not json", "", '{"content": 5}', "[1, 2]", '{"content": "x", "importance": 99}',
        '{"content": "bad uid", "uid": "17"}', '{"content": "y", "created_ms": "today"}', '{"content": "last good"}',
    ]  # fmt: skip
    done = shell("import", "-", "--json", stdin="\n".join(lines).encode()).json
    assert done["imported"] == 2
    assert [row["row"] for row in done["skipped"]] == [2, 3, 4, 5, 6, 7]
    assert done["skipped"][0]["reason"].startswith("line 2 is not JSON")
    assert all(row["reason"] for row in done["skipped"])
    said = shell("import", "-", stdin="\n".join(lines).encode()).out
    assert "skipped 6" in said and "line 2 is not JSON" in said


def test_a_dry_run_changes_nothing_and_makes_nothing(filled: Shell, tmp_path: Path) -> None:
    out = filled("export", "--space", "user").out.encode()
    other = tmp_path / "other.db"
    would = filled("import", "-", "--dry-run", "--store", str(other), "--space", "user", "--json", stdin=out).json
    assert (would["imported"], would["dry_run"], would["operation"]) == (8, True, None)
    assert not other.exists()
    before = rows(filled)
    again = filled("import", "-", "--dry-run", "--space", "user", stdin=out).out
    assert again.startswith("would import 0 notes") and "unchanged 8" in again
    assert filled("import", "-", "--dry-run", "--space", "fresh", "--json", stdin=out).json["imported"] == 8
    assert rows(filled) == before
    assert "fresh" not in filled("spaces").out


def test_an_import_restores_what_was_deleted_and_takes_what_is_newer(filled: Shell) -> None:
    exported = rows(filled)
    number = filled("list", "--space", "user", "--json").json["notes"][0]["id"]
    filled("delete", str(number), "--space", "user")
    newer = json.loads(exported[1])
    newer |= {"title": "A newer title", "updated_ms": newer["updated_ms"] + 1000}
    older = json.loads(exported[2]) | {"title": "An older title", "updated_ms": 5}
    lines = [exported[0], json.dumps(newer), json.dumps(older), *exported[3:]]
    done = filled("import", "-", "--space", "user", "--json", stdin="\n".join(lines).encode()).json
    assert (done["restored"], done["updated"], done["unchanged"], done["imported"]) == (1, 1, 6, 0)
    titles = {json.loads(line)["title"] for line in rows(filled)}
    assert "A newer title" in titles and "An older title" not in titles


def test_an_import_is_one_operation_that_can_be_undone(filled: Shell, tmp_path: Path) -> None:
    out = filled("export", "--space", "user").out.encode()
    at = ("--store", str(tmp_path / "o.db"), "--space", "user")
    operation = filled("import", "-", *at, "--json", stdin=out).json["operation"]
    assert filled("undo", operation, *at).code == 0
    assert filled("list", *at, "--json").json["notes"] == []


MANY = 20_000  # takes a second or two: time to interrupt it, on a quick machine too


@pytest.mark.skipif(os.name != "posix", reason="signals are sent differently elsewhere")
def test_ctrl_c_in_an_import_leaves_whole_batches_and_doing_it_again_finishes(shell: Shell) -> None:
    lines = "".join(
        json.dumps({"content": f"note {n}", "uid": f"0198c9a2-7d1e-7001-8f00-{n:012x}"}) + "\n" for n in range(MANY)
    )
    (shell.folder / "many.jsonl").write_text(lines)
    command, environ = [*PYTHON, "import", "many.jsonl"], {**os.environ, **shell.environ}
    with Memory(shell.store) as memory:
        for _ in range(3):
            before = memory.stats()["notes"]
            running = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=shell.folder, env=environ)
            while running.poll() is None and memory.stats()["notes"] == before:
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
            assert (running.returncode, said.decode()) == (130, "interrupted; the store is sound\n")
            assert before < memory.stats()["notes"] < MANY
    done = shell("import", "many.jsonl", "--json").json
    assert done["imported"] + done["unchanged"] == MANY and done["unchanged"] % 500 == 0
    assert shell("doctor").code == 0 and shell("stats", "--json").json["notes"] == MANY


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    ["content", "uid", "kind", "title", "tags", "importance", "confidence", "metadata", "links", "created_ms",
     "updated_ms", "expires_ms", "state", "origin", "tier", "session", "pinned", "space", "context", "source",
     "superseded_by", "valid_from_ms", "content_hash", "id", "vector", "strange"]
)  # fmt: skip


@pytest.fixture(scope="module")
def shared_shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("rows"))


@settings(max_examples=100)
@given(row=st.dictionaries(fields, plain_values, max_size=6))
def test_any_row_at_all_is_imported_or_skipped_with_a_reason(shared_shell: Shell, row: dict[str, object]) -> None:
    shell = shared_shell
    lines = [json.dumps({"content": "good", **row}), '{"content": "the next one"}']
    done = shell("import", "-", "--json", stdin="\n".join(lines).encode())
    assert done.code == 0, done
    counts = [done.json[name] for name in ("imported", "unchanged", "updated", "restored")]
    assert sum(counts) + len(done.json["skipped"]) == 2
    assert shell("list", "--json", "--limit", "10").code == 0 and shell("export", "--since", "1d").code == 0


def test_rows_are_read_from_lines_and_from_an_array() -> None:
    assert list(Rows('{"a": 1}\r\n\n{"a": 2}')) == [{"a": 1}, {"a": 2}]
    assert list(Rows(' [{"a": 1}, {"a": 2}]\n')) == [{"a": 1}, {"a": 2}]
    assert list(Rows('{"text": "a\u2028b"}')) == [{"text": "a\u2028b"}]
    assert len(Rows("")) == len(Rows("[]")) == 0


# -- backup ------------------------------------------------------------------------------------------------------------


def test_a_backup_is_private_listed_and_brought_back(filled: Shell) -> None:
    made = filled("backup", "create", "--json").json
    path = Path(made["path"])
    assert path.parent == filled.home / "backups" and made["verified"] is True
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    before = rows(filled)
    filled("add", "after the backup", "--space", "user")
    after = rows(filled)
    refused = filled("backup", "restore")
    assert refused.code == 2 and "--yes" in refused.err and rows(filled) == after
    done = filled("backup", "restore", path.name, "--yes", "--json").json
    assert rows(filled) == before
    assert rows(filled, Path(done["aside"])) == after
    listed = {row["path"] for row in filled("backup", "list", "--json").json["backups"]}
    assert listed == {str(path), done["aside"]}
    assert filled("doctor").code == 0


def test_without_a_name_the_newest_backup_of_this_very_store_is_restored(filled: Shell, tmp_path: Path) -> None:
    other = ("--store", str(tmp_path / "memory.db"))
    mine = filled("backup", "create", "--json").json["path"]
    filled("add", "in the other store", *other)
    theirs = filled("backup", "create", "--json", *other).json["path"]
    assert mine != theirs
    assert filled("backup", "restore", "--yes", "--json").json["restored"] == mine
    assert filled("backup", "restore", "--yes", "--json", *other).json["restored"] == theirs


def test_a_backup_that_is_not_sound_is_not_brought_back(filled: Shell, tmp_path: Path) -> None:
    path = Path(filled("backup", "create", "--json").json["path"])
    before = rows(filled)
    whole = path.read_bytes()
    foreign = tmp_path / "foreign.db"
    foreign.write_bytes(b"not a store " * 500)
    empty = tmp_path / "empty.db"
    empty.write_bytes(b"")
    path.write_bytes(whole.replace(b"linked to", b"linked ti"))
    for bad, code in ((path, 6), (foreign, 5), (empty, 5)):
        result = filled("backup", "restore", str(bad), "--yes")
        assert result.code == code and "hint:" in result.err, result
    path.write_bytes(whole[:5000])
    assert filled("backup", "restore", str(path), "--yes").code in (5, 6)
    itself = filled("backup", "restore", str(filled.store), "--yes")
    assert itself.code == 2 and "the store itself" in itself.err
    assert rows(filled) == before
    assert [name for name in os.listdir(filled.home) if name.startswith(".")] == []


def test_a_backup_can_be_restored_where_there_is_no_store(filled: Shell, tmp_path: Path) -> None:
    path = filled("backup", "create", str(tmp_path / "copy.db"), "--json").json["path"]
    new = tmp_path / "new" / "memory.db"
    done = filled("backup", "restore", path, "--yes", "--json", "--store", str(new)).json
    assert done["aside"] is None and rows(filled, new) == rows(filled)


def test_restore_never_overwrites_a_file_that_is_not_ours(filled: Shell, tmp_path: Path) -> None:
    path = filled("backup", "create", str(tmp_path / "copy.db"), "--json").json["path"]
    diary = tmp_path / "diary.txt"
    diary.write_text("Dear diary. " * 400)
    assert filled("backup", "restore", path, "--yes", "--store", str(diary)).code == 5
    assert diary.read_text() == "Dear diary. " * 400


def test_doctor_repairs_what_is_derived(filled: Shell) -> None:
    import apsw

    connection = apsw.Connection(str(filled.store))
    connection.execute("update space_sizes set chunks = chunks + 5")
    connection.close()
    sick = filled("doctor", "--json")
    assert sick.code == 6 and sick.json["status"] == "needs attention" and 0 < sick.json["score"] < 100
    assert "BAD" in filled("doctor").out
    fixed = filled("doctor", "--fix", "--json")
    assert fixed.code == 0 and fixed.json["fixed"] and fixed.json["score"] == 100
    assert "healthy" in filled("doctor").out
