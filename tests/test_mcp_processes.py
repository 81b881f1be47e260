"""Real servers as processes: pipes and sockets, both eras, ten at once on one store, and a prompt, clean leave."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from recollect import Memory

pytestmark = pytest.mark.slow
COMMAND = ["-m", "recollect", "mcp"]


def environment(home: Path) -> dict[str, str]:
    return {"RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "none", "RECOLLECT_SPACE": "shop"}


def pipe(home: Path, *more: str) -> StdioServerParameters:
    return StdioServerParameters(command=sys.executable, args=[*COMMAND, *more], env=environment(home))


async def agree(context: Any, params: Any) -> ElicitResult:
    assert "Shall 1 note be deleted?" in params.message
    return ElicitResult(action="accept", content={"confirm": True})


async def work(client: Client) -> None:
    assert "memory_search" in [tool.name for tool in (await client.list_tools()).tools]
    added = (await client.call_tool("memory_add", {"content": "Deploys happen on Thursdays"})).structured_content
    assert added is not None
    found = (await client.call_tool("memory_search", {"query": "deploys"})).structured_content
    assert found is not None and found["hits"][0]["id"] == added["id"]
    await client.call_tool("memory_timeline", {"id": added["id"]})
    whole = (await client.call_tool("memory_get", {"ids": [added["id"]]})).structured_content
    assert whole is not None and whole["notes"][0]["content"] == "Deploys happen on Thursdays"
    gone = (await client.call_tool("memory_delete", {"ids": [added["id"]]})).structured_content
    assert gone == {"deleted": [added["id"]], "confirmed": True}


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_client_works_over_a_pipe(tmp_path: Path, era: str) -> None:
    async def run() -> None:
        async with Client(pipe(tmp_path), mode=era, elicitation_callback=agree) as client:
            await work(client)

    anyio.run(run)


@contextlib.contextmanager
def http_server(home: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, *COMMAND, "--http", f"127.0.0.1:{port}"], env={**os.environ, **environment(home)},
        stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert server.poll() is None, server.stderr and server.stderr.read()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        started = time.monotonic()
        server.send_signal(signal.SIGTERM)
        server.wait(10)
        assert time.monotonic() - started < 3
        if server.stderr:
            server.stderr.close()


def test_clients_of_both_eras_work_over_http_with_the_token(tmp_path: Path) -> None:
    async def run(url: str, token: str, era: str) -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=era, elicitation_callback=agree) as client:
                await work(client)

    with http_server(tmp_path) as url:
        token = (tmp_path / "token").read_text().strip()
        assert (tmp_path / "token").stat().st_mode & 0o077 == 0 or os.name != "posix"
        for era in ("auto", "legacy"):
            anyio.run(run, url, token, era)
        body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
        assert httpx2.post(url, json=body).status_code == 401
        assert httpx2.post(url, json=body, headers={"Authorization": "Bearer wrong"}).status_code == 401
        good = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        foreign = httpx2.post(url, json=body, headers=good | {"Origin": "http://evil.example"})
        assert foreign.status_code == 403
        assert httpx2.post(url, json=body, headers=good | {"Host": "evil.example"}).status_code == 421


def test_other_machines_are_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, *COMMAND, "--http", "0.0.0.0:0"], env={**os.environ, **environment(tmp_path)},
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 2 and "not this machine" in done.stderr


def test_ten_servers_on_one_store_lose_nothing(tmp_path: Path) -> None:
    async def one(number: int) -> None:
        async with Client(pipe(tmp_path)) as client:
            for each in range(10):
                added = await client.call_tool("memory_add", {"content": f"Server {number} wrote note {each}"})
                assert not added.is_error, added
            found = await client.call_tool("memory_search", {"query": f"server {number}", "limit": 5})
            assert found.structured_content is not None and found.structured_content["hits"]

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(one, number)

    anyio.run(run)
    with Memory(tmp_path / "memory.db", space="shop") as memory:
        assert memory.stats()["notes"] == 100
        assert all(finding.ok for finding in memory.check())


class Raw:
    """A server that we talk to by hand, so that we can leave it in the middle of a call."""

    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *COMMAND], env={**os.environ, **environment(home)}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self.number = 0

    def send(self, method: str, **params: Any) -> None:
        self.number += 1
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def start(self) -> "Raw":
        info = {"name": "raw", "version": "1"}
        self.send("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        assert self.receive()["result"]["serverInfo"]["name"] == "recollect"
        return self

    def seconds_until_gone(self) -> float:
        started = time.monotonic()
        assert self.process.wait(30) == 0
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        return time.monotonic() - started

    def children(self) -> list[str]:
        """Processes of the server's own group, itself apart."""
        rows = subprocess.run(["ps", "-eo", "pid=,pgid="], capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )
        group = str(self.process.pid)
        return [row for row in rows if row.split()[1:] == [group] and row.split()[0] != group]


@pytest.mark.skipif(os.name != "posix", reason="signals and process groups as POSIX has them")
@pytest.mark.parametrize("end", ["eof", "sigterm", "eof while a call waits", "sigterm while a call waits"])
def test_a_server_leaves_within_two_seconds_and_leaves_nothing_behind(tmp_path: Path, end: str) -> None:
    import apsw

    server = Raw(tmp_path).start()
    server.send("tools/call", name="memory_add", arguments={"content": "Kept"})
    assert not server.receive()["result"].get("isError")
    holder = apsw.Connection(str(tmp_path / "memory.db"))
    holder.set_busy_timeout(5000)  # the server has work of its own in the background
    if "waits" in end:
        holder.execute("begin immediate")
        server.send("tools/call", name="memory_add", arguments={"content": "Waits for the lock"})
        time.sleep(0.5)
    if end.startswith("eof"):
        assert server.process.stdin is not None
        server.process.stdin.close()
    else:
        server.process.send_signal(signal.SIGTERM)
    assert server.seconds_until_gone() < 2
    assert server.children() == []
    holder.close()
    with Memory(tmp_path / "memory.db", space="shop") as memory:
        assert memory.stats()["notes"] == 1
