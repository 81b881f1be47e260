"""What surrounds a passage: from the index, in order, the right lines and turns."""

import json
from pathlib import Path

import pytest

from recollect import Memory, Turn
from recollect.types import Chunk
from shell import Shell


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "memory.db", space="desk")


def lines_of(text: str) -> list[str]:
    return text.splitlines()


def test_a_passage_of_a_file_comes_with_the_lines_before_and_after(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "notes" / "page.md"
    page.parent.mkdir()
    lines = [f"line {number} tells of thing{number} and nothing else at all" for number in range(1, 121)]
    page.write_text("\n".join(lines) + "\n")
    memory.index(page.parent, embed=False)
    page.unlink()  # it comes from the index
    for wanted in (1, 30, 60, 120):
        hit = memory.search(f"thing{wanted}", mode="keyword")[0]
        assert hit.lines is not None
        first, last = hit.lines
        assert first <= wanted <= last
        around = memory.surroundings(hit.id)
        assert [line for each in around.before for line in lines_of(each.text)] == lines[max(0, first - 6) : first - 1]
        assert [line for each in around.after for line in lines_of(each.text)] == lines[last : last + 5]
        for each in (*around.before, *around.after):
            assert each.lines is not None and lines[each.lines[0] - 1] == lines_of(each.text)[0]


def test_a_line_that_was_cut_goes_on_in_its_neighbours(memory: Memory, tmp_path: Path) -> None:
    page = tmp_path / "notes" / "page.txt"
    page.parent.mkdir()
    page.write_text(" ".join(f"word{number}" for number in range(2000)))
    memory.index(page.parent, embed=False)
    hit = memory.search("word1000", mode="keyword")[0]
    around = memory.surroundings(hit.id)
    passage = memory.passage(hit.id)
    assert isinstance(passage, Chunk)
    joined = around.before[0].text + passage.content + around.after[0].text
    assert joined in page.read_text() and len(joined) == len(passage.content) + 400


def test_a_turn_comes_with_its_neighbours(memory: Memory) -> None:
    session = memory.start_session("s")
    memory.add_turns(session, [Turn("user" if n % 2 else "assistant", f"saying {n}") for n in range(8)])
    turns = memory.turns(session)
    middle = memory.surroundings(f"t{turns[4].id}")
    assert [each.text for each in middle.before] == ["saying 2", "saying 3"]
    assert [(each.text, each.speaker) for each in middle.after] == [("saying 5", "user"), ("saying 6", "assistant")]
    assert memory.surroundings(turns[0]).before == () and memory.surroundings(turns[7]).after == ()


def test_a_session_in_one_line_is_its_summary_its_title_or_its_first_words(memory: Memory) -> None:
    session = memory.start_session("s")
    assert memory.about(session) == ""
    memory.add_turns(
        session, [Turn("assistant", "Good morning!"), Turn("user", "Where does the ferry leave?\nAnd when?")]
    )
    assert memory.about(session) == "Where does the ferry leave?"
    memory.start_session("s", title="The ferry")
    assert memory.about(session) == "The ferry"
    memory.end_session(session, summary="asked: Where does the ferry leave?\nopen: when")
    assert memory.about(session.uid) == "asked: Where does the ferry leave?"


def test_the_command_line_shows_surroundings_and_finds_sessions(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for name, words in (("a", ["The zeppelin landed", "Where?", "In Friedrichshafen"]), ("b", ["What is for lunch?"])):
        said = [{"role": "user", "content": text, "timestamp": "2026-01-01T00:00:00Z"} for text in words]
        (shell.folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in said))
    (shell.folder / "page.md").write_text("".join(f"thing{n} " + "is here " * 30 + "\n" for n in range(1, 40)))
    everywhere = ("--space", "unfiled")
    assert shell("index", ".").code == 0
    listed = shell("sessions", *everywhere)
    assert "The zeppelin landed" in listed.out and "What is for lunch?" in listed.out
    found = shell("sessions", "search", "friedrichshafen", *everywhere, "--json").json["sessions"]
    assert [one["about"] for one in found] == ["The zeppelin landed"]
    turn = found[0]["hits"][0]["id"]
    shown = shell("get", turn, *everywhere)
    assert "before:  t2  user" in shown.out and "    Where?" in shown.out
    assert shell("get", turn, *everywhere, "--json").json["before"][1]["text"] == "Where?"
    assert "friedrichshafen" not in shell("sessions", "search", "lunch", *everywhere).out.lower()
    assert "nothing found" in shell("sessions", "search", "submarine", *everywhere).out
    passage = shell("search", "thing20", *everywhere, "--json").json["hits"][0]
    shown = shell("get", passage["id"], *everywhere)
    first, last = passage["lines"]
    assert f"page.md:{first}-{last}" in shown.out
    assert f"after:  lines {last + 1}-{last + 5}" in shown.out and f"    thing{last + 5} is here" in shown.out
