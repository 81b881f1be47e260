"""The tools of the `index` profile: make files and agents' histories searchable, and say what is.

An agent indexes inside its own project alone: what it could be talked into reading elsewhere is for a person to decide.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from mcp_types import CallToolResult
from pydantic import Field

from recollect.errors import InvalidInput
from recollect.interfaces import answers
from recollect.interfaces.cli.indexing import indexed_json
from recollect.interfaces.mcp import shapes
from recollect.interfaces.mcp.tools import Spec, spec
from recollect.memory import Memory

MOST_PATHS = 50
SHOWN = 20


class Files(shapes.Open):
    indexed: int
    unchanged: int
    removed: int


class Indexed(shapes.Open):
    files: Files
    sessions: int
    turns: int
    chunks: int


class Followed(shapes.Open):
    folders: list[str]
    agents: bool = Field(description="Whether the histories of the installed agents are followed too.")


class Sources(shapes.Open):
    followed: Followed
    files: int
    transcripts: int
    folders: dict[str, int] = Field(description="How many files of each folder, the fullest first.")


def index_tools(memory: Callable[[], Memory]) -> list[Spec]:
    tools = IndexTools(memory)
    return [
        spec("memory_index", "Index files", tools.index, (
            "Make files or folders of this project, or installed agents' transcripts, findable with memory_search."
            " What did not change is not read again; folders are kept up to date from then on."), idempotent=True),
        spec("memory_indexed", "What is indexed", tools.indexed,
             "Which folders and histories are kept searchable here, and how many files.", reads=True),
    ]  # fmt: skip


class IndexTools:
    def __init__(self, memory: Callable[[], Memory]) -> None:
        self._memory = memory

    def index(
        self,
        paths: Annotated[
            list[str], Field(max_length=MOST_PATHS, description="Files or folders, from the project's folder.")
        ] = [],  # noqa: B006
        agents: Annotated[bool, Field(description="The histories of every agent that is installed here.")] = False,
        force: Annotated[bool, Field(description="Read what did not change again.")] = False,
    ) -> Annotated[CallToolResult, Indexed]:
        memory = self._memory()
        places = [_inside(memory.folder, path) for path in paths]
        if not places and not agents:
            raise InvalidInput("nothing to index", hint="name paths, or set agents to true")
        done = memory.index(*places, agents=agents, force=force, embed=False)
        value = indexed_json(done, 0)
        value["files"]["skipped"] = value["files"]["skipped"][:SHOWN]
        text = f"{done.indexed} files indexed, {done.unchanged} unchanged, {done.removed} removed; {done.turns} turns"
        return shapes.result(text, value)

    def indexed(self) -> Annotated[CallToolResult, Sources]:
        found = self._memory().indexed()
        files = [file for file in found.files if file.source == "files"]
        folders = Counter(str(Path(file.path).parent) for file in found.files)
        value = {
            "followed": {"folders": list(found.folders), "agents": found.agents},
            "files": len(files), "transcripts": len(found.files) - len(files),
            "folders": {shapes.clipped(name, 60): count for name, count in folders.most_common(SHOWN)},
            "newest_at": answers.iso(max((file.indexed_ms for file in found.files), default=None)),
        }  # fmt: skip
        text = f"{len(files)} files and {len(found.files) - len(files)} transcripts are indexed"
        return shapes.result(text, value)


def _inside(folder: Path, path: str) -> Path:
    """The path below the project's folder, links followed; what leads elsewhere is refused."""
    home = folder.resolve()
    place = (home / path).resolve()
    if not place.is_relative_to(home):
        raise InvalidInput(
            f"{path[:200]!r} is outside of this project", hint="a person can index it: `recollect index PATH`"
        )
    if not place.exists():
        raise InvalidInput(f"there is no {path[:200]!r} in this project", hint="name a file or a folder that exists")
    return place
