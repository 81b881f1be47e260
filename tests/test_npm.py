"""Programs of others: the reference servers behind our proxy, and the TypeScript client in front of our server."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from npm_packages import ROOT, npm_folder
from test_mcp_processes import environment as server_environment
from test_mcp_processes import http_server
from test_proxy import META, configured, connected, found, names, pairs, served, until, web_client

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals and process groups")]
ODD = "who owes whom for the pizza on Friday"
NO_ARGUMENTS = ("files__list_allowed_directories", "graph__read_graph")


def reference(folder: Path) -> dict[str, Any]:
    """The reference servers for files and for a graph of facts, as anyone would configure them."""
    servers = npm_folder() / "node_modules" / "@modelcontextprotocol"
    files, graph = (str(servers / name / "dist" / "index.js") for name in ("server-filesystem", "server-memory"))
    (folder / "papers").mkdir()
    return {
        "files": {"command": "node", "args": [files, str(folder / "papers")]},
        "graph": {"command": "node", "args": [graph], "env": {"MEMORY_FILE_PATH": str(folder / "graph.jsonl")}},
    }


async def all_there(client: Client) -> None:
    """A busy machine may start the servers later than the proxy waits for them."""
    for _ in range(120):
        if len(await names(client)) == 3 + 14 + 9:
            return
        await anyio.sleep(0.5)


@contextlib.asynccontextmanager
async def client_of(folder: Path, servers: dict[str, Any], over: str, era: str) -> AsyncIterator[Client]:
    """A client of our own proxy, over a pipe or over HTTP."""
    if over == "pipe":
        async with connected(folder, servers, mode=era) as client:
            yield client
    else:
        with served(folder, configured(folder, servers)) as (url, token):
            async with web_client(url, token, era) as client:
                yield client


@pytest.mark.parametrize(("over", "era"), [("pipe", "auto"), ("pipe", "legacy"), ("http", "auto"), ("http", "legacy")])
def test_the_reference_servers_are_listed_called_narrowed_and_learned_across_restarts(
    tmp_path: Path, over: str, era: str
) -> None:
    servers = reference(tmp_path)
    paper = tmp_path / "papers" / "minutes.txt"
    unlikely: list[str] = []

    async def first() -> None:
        async with client_of(tmp_path, servers, over, era) as client:
            await all_there(client)
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(listed) > META and len(listed) == 3 + 14 + 9
            assert listed["files__write_file"].description.startswith("[files] ")  # type: ignore[union-attr]
            assert listed["files__read_text_file"].annotations.read_only_hint is True  # type: ignore[union-attr]
            assert listed["graph__create_entities"].input_schema["required"] == ["entities"]
            assert "files__read_text_file" in (await found(client, "read the text of a file"))[:5]
            written = await client.call_tool("files__write_file", {"path": str(paper), "content": "We met."})
            assert not written.is_error and paper.read_text() == "We met."
            outside = await client.call_tool("files__read_text_file", {"path": "/etc/hostname"})
            assert outside.is_error
            # Which of them are found for this depends on how many vectors there are yet; neither is likely.
            unlikely.append([name for name in (await found(client, ODD))[3:] if name in NO_ARGUMENTS][-1])
            assert not (await client.call_tool(unlikely[0], {})).is_error
            entity = {"name": "Ann", "entityType": "person", "observations": ["owes Bob a pizza"]}
            made = await client.call_tool("graph__create_entities", {"entities": [entity]})
            assert made.structured_content == {"entities": [entity]}

    async def again(wanted: str) -> list[str]:
        async with client_of(tmp_path, servers, over, era) as client:
            await all_there(client)
            graph = await client.call_tool("graph__read_graph", {})
            assert graph.structured_content is not None and graph.structured_content["entities"][0]["name"] == "Ann"
            for _ in range(60):  # a busy machine makes the vectors of the lesson later
                if (best := await found(client, ODD))[0] == wanted or not wanted:
                    break
                await anyio.sleep(0.5)
            return best

    anyio.run(first)
    learned = {(f"{pair.server}__{pair.tool}", pair.query): pair.confidence for pair in pairs(tmp_path)}
    assert learned[unlikely[0], ODD] == 1.5 and not any(name == "files__read_text_file" for name, _ in learned)
    assert anyio.run(again, unlikely[0])[0] == unlikely[0]
    (tmp_path / "pairs.db").unlink()
    assert anyio.run(again, "")[0] != unlikely[0]


def test_a_context_narrows_the_reference_servers_once_usage_knows_it(tmp_path: Path) -> None:
    servers = reference(tmp_path)

    async def run() -> None:
        async with connected(tmp_path, servers) as client:
            await all_there(client)
            for number in range(12):
                await found(client, f"note down that guest {number} comes to the party")
                entity = {"name": f"guest {number}", "entityType": "person", "observations": ["comes"]}
                await client.call_tool("graph__create_entities", {"entities": [entity]})
            await until(lambda: len(pairs(tmp_path)) == 12)
            await client.call_tool("set_context", {"query": "note down that my aunt comes to the party"})
            narrow = await names(client)
            assert len(narrow) == 18 and narrow[3] == "graph__create_entities"
            await client.call_tool("set_context", {"query": ""})
            assert len(await names(client)) == 26

    anyio.run(run)


def run_client(*target: str, environ: dict[str, str]) -> None:
    client = npm_folder() / "mcp-client.mjs"
    shutil.copy(ROOT / "bench" / "reference" / "mcp-client.mjs", client)  # node looks for packages beside the script
    done = subprocess.run(
        ["node", str(client), *target], env={**os.environ, **environ}, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["ok"]), done.stderr
    assert "memory_search" in done.stdout


def test_the_typescript_client_works_over_a_pipe(tmp_path: Path) -> None:
    run_client(sys.executable, "-m", "recollect", "mcp", environ=server_environment(tmp_path))


def test_the_typescript_client_works_over_http(tmp_path: Path) -> None:
    with http_server(tmp_path) as address:
        run_client(address, (tmp_path / "token").read_text().strip(), environ=server_environment(tmp_path))
