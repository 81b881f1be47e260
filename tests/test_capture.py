"""Notes from an agent's output and from its tool calls: what is kept, how it is called, and what is left out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.capture import failed, from_call, from_output, looks_only, pieces
from recollect.fence import Fence
from test_hooks import Host, hook

OUTPUT = """# Cause

The crash came from an empty cart; I fixed the loop in src/cart.py so that it stops.

---
short

## Decision
We decided to keep invoices for ten years, because the law asks for it and storage is cheap.



I found that the gateway retries three times before it gives up, which explains the delays.
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", space="shop", folder=tmp_path) as found:
        yield found


def test_output_is_cut_at_rules_gaps_and_headings_and_short_pieces_go() -> None:
    found = list(pieces(OUTPUT))
    assert [piece.splitlines()[0] for piece in found] == [
        "# Cause", "## Decision",
        "I found that the gateway retries three times before it gives up, which explains the delays.",
    ]  # fmt: skip
    assert list(pieces("x" * 50)) == [] and list(pieces("x" * 51)) == ["x" * 51]
    assert list(pieces(OUTPUT.replace("\n", "\r\n"))) == found


def test_pieces_are_classified_and_titled() -> None:
    drafts = from_output(OUTPUT, "claude-code")
    assert [draft.kind for draft in drafts] == ["bugfix", "decision", "discovery"]
    assert [draft.title for draft in drafts][:2] == ["Cause", "Decision"]
    assert all(len(draft.title or "") <= 80 and draft.origin == "agent" for draft in drafts)


def test_the_same_output_twice_is_remembered_once(memory: Memory) -> None:
    once = memory.capture(OUTPUT, agent="cursor")
    again = memory.capture(OUTPUT + "\n\n\n" + OUTPUT, agent="gemini")
    assert [note.id for note in again] == [note.id for note in once] and all(note.duplicate for note in again)
    assert memory.capture("nothing much") == ()


def test_what_was_recalled_into_an_output_is_not_captured(memory: Memory) -> None:
    recalled = Fence()("An old memory about llamas that is certainly longer than fifty characters", id=1)
    assert memory.capture(f"{recalled}\n\n\nDone.") == ()


@pytest.mark.parametrize(
    "tool", ["Read", "Grep", "LS", "WebSearch", "mcp__recollect__memory_add", "mcp__github__list_issues", "get_user",
             "memory_save", "code_search", "TodoWrite", ""],
)  # fmt: skip
def test_tools_that_only_look_and_our_own_are_left_out(tool: str) -> None:
    assert looks_only(tool)
    assert from_call(tool, {"a": 1}, {}, "codex") is None


@pytest.mark.parametrize("tool", ["Edit", "Write", "Bash", "mcp__github__create_issue", "apply_patch", "deploy"])
def test_tools_that_do_something_are_kept(tool: str) -> None:
    draft = from_call(tool, {"file_path": "src/cart.py"}, "x" * 2000, "codex")
    assert draft is not None and draft.origin == "tool" and len(draft.content) < 700
    assert draft.title is not None and draft.title.startswith(f"{tool}: file_path=src/cart.py") and tool in draft.tags


@pytest.mark.parametrize(
    "result", [{"success": False}, '{"success": false}', {"is_error": True}, {"error": "no"}, '{"isError": true}']
)
def test_calls_that_failed_are_left_out(result: object) -> None:
    assert failed(result) and from_call("Edit", {}, result, "codex") is None


def test_a_call_that_was_just_told_is_not_told_again(memory: Memory) -> None:
    first = memory.capture_call("Edit", {"file_path": "a.py"}, {"ok": 1})
    assert first is not None and not first.trusted
    assert memory.capture_call("Edit", {"file_path": "a.py"}, {"ok": 2}) is None
    assert memory.capture_call("Edit", {"file_path": "b.py"}, {"ok": 1}) is not None


def test_a_hook_after_a_tool_call_is_captured_when_there_is_time(tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    host = Host("claude-code", tmp_path / "home", project)
    for name in ("a.py", "a.py", "b.py"):
        call = {"tool_name": "Edit", "tool_input": {"file_path": name}, "tool_response": {"success": True}}
        given = json.dumps(host.common("PostToolUse") | call).encode()
        assert hook(host.home, "claude-code", "PostToolUse", given, folder=project) == (0, "", "")
    host.hook(4)
    with Memory(host.home / "memory.db", space="all") as memory:
        assert sorted(note.title for note in memory.list()) == ["Edit: file_path=a.py", "Edit: file_path=b.py"]
