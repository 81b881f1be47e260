"""Tools that a profile adds: indexing inside the project, and a scratchpad."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from recollect import Memory
from recollect.interfaces.mcp.server import build

Call = tuple[str, dict[str, Any]]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    folder = tmp_path / "garden"
    folder.mkdir()
    with Memory(tmp_path / "memory.db", folder=folder, space="garden", embedder=None) as made:
        yield made


def calls(memory: Memory, profile: str, *wanted: Call) -> list[Any]:
    async def run() -> list[Any]:
        async with Client(build(lambda: memory, profile)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in wanted]

    return asyncio.run(run())


def test_an_agent_indexes_its_project_and_sees_what_is_indexed(memory: Memory) -> None:
    notes = memory.folder / "notes"
    notes.mkdir()
    (notes / "beans.md").write_text("The beans stand beside the gate.\n")
    (notes / "peas.md").write_text("Peas need a trellis.\n")
    nothing, first, again, listed, found = calls(
        memory, "index",
        ("memory_indexed", {}), ("memory_index", {"paths": ["notes"]}), ("memory_index", {"paths": ["notes"]}),
        ("memory_indexed", {}), ("memory_search", {"query": "beans gate"}),
    )  # fmt: skip
    assert nothing.structured_content["files"] == 0 and nothing.structured_content["followed"]["folders"] == []
    assert first.structured_content["files"]["indexed"] == 2 and again.structured_content["files"]["unchanged"] == 2
    told = listed.structured_content
    assert (told["files"], told["transcripts"], told["followed"]) == (2, 0, {"folders": [str(notes)], "agents": False})
    assert told["folders"] == {str(notes): 2} and told["newest_at"]
    assert "beans" in found.structured_content["hits"][0]["title"]


@pytest.mark.parametrize("path", ["..", "../secret.md", "/etc/hostname", "link/secret.md", "~", "absent.md"])
def test_what_lies_outside_of_the_project_is_refused(memory: Memory, path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("the combination is 4711")
    (memory.folder / "link").symlink_to(tmp_path)
    (refused,) = calls(memory, "index", ("memory_index", {"paths": [path]}))
    assert refused.is_error and "hint:" in refused.content[0].text
    assert memory.stats()["chunks"] == 0


def test_indexing_nothing_is_refused(memory: Memory) -> None:
    (refused,) = calls(memory, "index", ("memory_index", {}))
    assert refused.is_error and "name paths" in refused.content[0].text


def test_files_of_another_space_are_not_told(memory: Memory, tmp_path: Path) -> None:
    other = tmp_path / "shed"
    other.mkdir()
    (other / "tools.md").write_text("The spade is behind the door.\n")
    with Memory(tmp_path / "memory.db", folder=other, space="shed", embedder=None) as shed:
        shed.index(other, follow=False)
        assert [Path(file.path).name for file in shed.indexed().files] == ["tools.md"]
    (listed,) = calls(memory, "index", ("memory_indexed", {}))
    assert listed.structured_content["files"] == 0


def test_a_scratchpad_is_written_read_written_over_and_cleared(memory: Memory) -> None:
    put, over, pinned, read, other, gone, left = calls(
        memory, "scratchpad",
        ("memory_scratchpad_put", {"text": "First the beans", "key": "plan"}),
        ("memory_scratchpad_put", {"text": "First the peas", "key": "plan"}),
        ("memory_scratchpad_put", {"text": "Mind the frost", "pinned": True, "ttl_minutes": 0}),
        ("memory_scratchpad", {}),
        ("memory_scratchpad", {"session": "another"}),
        ("memory_scratchpad_drop", {"item": "plan"}),
        ("memory_scratchpad", {}),
    )  # fmt: skip
    assert put.structured_content["created"] is True and over.structured_content["created"] is False
    assert put.structured_content["item"]["expires_at"] and not pinned.structured_content["item"]["expires_at"]
    rows = read.structured_content["items"]
    assert [(row["key"], row["text"]) for row in rows] == [(None, "Mind the frost"), ("plan", "First the peas")]
    assert read.structured_content["tokens"] > 0 and "<recollect-memory" in read.content[0].text
    assert other.structured_content["items"] == [] and other.content[0].text == "the scratchpad is empty"
    assert gone.structured_content["key"] == "plan"
    assert [row["text"] for row in left.structured_content["items"]] == ["Mind the frost"]


def test_what_is_not_on_the_scratchpad_and_what_is_too_long_is_refused(memory: Memory) -> None:
    missing, large = calls(
        memory, "scratchpad",
        ("memory_scratchpad_drop", {"item": "nothing"}),
        ("memory_scratchpad_put", {"text": "word " * 50_000}),
    )  # fmt: skip
    assert missing.is_error and "not_found" in missing.content[0].text
    assert large.is_error and "hint:" in large.content[0].text
