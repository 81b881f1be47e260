"""The proxy with real servers behind it, as processes, and a real client in front, over a pipe and over HTTP."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from recollect import ConfigInvalid, Memory
from recollect.interfaces.proxy.config import read_config

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals and process groups")]
HERE = Path(__file__).parent / "upstreams"
UNLIKELY = "water the plants on the balcony"
META = {"set_context", "search_available_tools", "call_tool"}


def plain(*arguments: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", str(HERE / "plain.py"), *arguments], **more}


def sdk() -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(HERE / "sdk.py")]}


THREE = {"files": plain("files"), "weather": plain("weather"), "music": sdk()}


def environment(home: Path) -> dict[str, str]:
    return {"RECOLLECT_HOME": str(home), "RECOLLECT_SPACE": "desk"}


def configured(folder: Path, servers: dict[str, Any], **storage: Any) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers, "storage": {"path": "pairs.db", **storage}}, indent=2))
    return path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextlib.contextmanager
def served(folder: Path, config: Path) -> Iterator[tuple[str, str]]:
    """A proxy over HTTP: its address and its token."""
    port = free_port()
    command = [sys.executable, "-m", "recollect", "proxy", "--config", str(config), "--http", f"127.0.0.1:{port}"]
    with running(command, folder, port):
        yield f"http://127.0.0.1:{port}/mcp", (folder / "token").read_text().strip()


@contextlib.asynccontextmanager
async def web_client(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, cache=None, read_timeout_seconds=60) as client:
            yield client


@contextlib.asynccontextmanager
async def connected(folder: Path, servers: dict[str, Any], **options: Any) -> AsyncIterator[Client]:
    arguments = ["-m", "recollect", "proxy", "--config", str(configured(folder, servers))]
    pipe = StdioServerParameters(command=sys.executable, args=arguments, env=environment(folder))
    async with Client(pipe, cache=None, read_timeout_seconds=60, **options) as client:
        yield client


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def found(client: Client, query: str) -> list[str]:
    answer = await client.call_tool("search_available_tools", {"query": query})
    assert answer.structured_content is not None
    return [tool["name"] for tool in answer.structured_content["tools"]]


async def until(what: Callable[[], Any], seconds: float = 10) -> Any:
    """What is true, once it is."""
    for _ in range(int(seconds * 20)):
        if got := what():
            return got
        await anyio.sleep(0.05)
    raise AssertionError("it never came true")


def pairs(folder: Path) -> list[Any]:
    with Memory(folder / "pairs.db", space="desk") as memory:
        return list(memory.tools.pairs())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return True


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_the_tools_of_all_servers_are_listed_and_called(tmp_path: Path, era: str) -> None:
    async def run() -> None:
        async with connected(tmp_path, THREE, mode=era) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) > META
            assert {"files__read_note", "weather__forecast", "music__play_song"} < set(tools)
            read = tools["files__read_note"]
            assert read.description == "[files] Read the whole text of a note file"
            assert read.input_schema["properties"]["text"] == {"type": "string", "description": "what to work on"}
            assert read.annotations is not None and read.annotations.read_only_hint is True
            answer = await client.call_tool("weather__forecast", {"text": "Oslo"})
            assert answer.structured_content == {"done": "forecast", "text": "Oslo"}
            louder = await client.call_tool("music__volume", {"level": 3})
            assert (louder.structured_content, louder.is_error) == ({"level": 3}, False)
            unknown = await client.call_tool("weather__nothing", {})
            assert unknown.is_error and "Unknown tool: weather__nothing" in unknown.content[0].text  # type: ignore[union-attr]
            assert (await client.call_tool("nobody__nothing", {})).is_error
            through = await client.call_tool("call_tool", {"name": "music__play_song", "arguments": {"title": "Ode"}})
            assert through.content[0].text == "playing Ode"  # type: ignore[union-attr]
            assert (await client.list_resources()).resources[0].uri == "music://now"
            assert (await client.read_resource("music://now")).contents[0].text == "silence"  # type: ignore[union-attr]
            assert (await client.list_prompts()).prompts[0].name == "music__mood"
            prompt = await client.get_prompt("music__mood", {"feeling": "calm"})
            assert prompt.messages[0].content.text == "Play something calm"  # type: ignore[union-attr]
            with pytest.raises(MCPError):
                await client.read_resource("music://nothing")

    anyio.run(run)


def test_an_unlikely_pair_ranks_first_after_a_restart_only_because_it_was_learned(tmp_path: Path) -> None:
    (tmp_path / "control").mkdir()

    async def learn() -> None:
        async with connected(tmp_path, THREE) as client:
            assert (await found(client, UNLIKELY))[0] != "music__volume"
            await client.call_tool("music__volume", {"level": 1})

    async def ask(folder: Path) -> list[str]:
        async with connected(folder, THREE) as client:
            return await found(client, UNLIKELY)

    anyio.run(learn)
    assert anyio.run(ask, tmp_path)[0] == "music__volume"
    assert anyio.run(ask, tmp_path / "control")[0] != "music__volume"


def test_signals_and_confidence_are_exact_after_a_restart(tmp_path: Path) -> None:
    """Searched and used 1.5, then used unasked 0.5: 1.3; a failed call lowers and never makes a pair."""

    async def search_and_use() -> None:
        async with connected(tmp_path, {"weather": plain("weather"), "odd": plain("odd")}) as client:
            await found(client, UNLIKELY)
            await client.call_tool("odd__fail", {})
            await client.call_tool("weather__tides", {})
            await client.call_tool("weather__forecast", {})  # the search is answered: this serves something else

    async def use() -> None:
        async with connected(tmp_path, {"weather": plain("weather"), "odd": plain("odd")}) as client:
            await client.call_tool("set_context", {"query": UNLIKELY})
            await client.call_tool("weather__tides", {})
            await client.call_tool("odd__fail", {})

    anyio.run(search_and_use)
    assert [(pair.tool, pair.confidence) for pair in pairs(tmp_path)] == [("tides", 1.5)]
    anyio.run(use)
    assert [(pair.tool, pair.confidence, pair.uses) for pair in pairs(tmp_path)] == [("tides", 1.3, 2)]


def test_a_context_narrows_the_list_once_usage_knows_it(tmp_path: Path) -> None:
    servers = {"many": plain("many"), "weather": plain("weather")}
    with Memory(tmp_path / "pairs.db", space="desk") as memory:
        for number in range(12):
            memory.tools.learn(f"what will the weather be like on day {number}", "forecast", server="weather")

    async def run() -> None:
        changes: list[str] = []

        async def heard(message: Any) -> None:
            changes.append(type(message).__name__)

        async with connected(tmp_path, servers, mode="legacy", message_handler=heard) as client:
            assert len(await names(client)) == 35
            await client.call_tool("set_context", {"query": "prove a theorem of algebra"})
            assert len(await names(client)) == 35
            changes.clear()
            await client.call_tool("set_context", {"query": "what will the weather be like tomorrow"})
            await until(lambda: "ToolListChangedNotification" in changes)
            narrow = await names(client)
            assert len(narrow) == 18 and set(narrow) > META
            assert narrow[3] == "weather__forecast"
            left_out = next(name for name in (f"many__gadget_{n}" for n in range(30)) if name not in narrow)
            await client.call_tool("call_tool", {"name": left_out, "arguments": {}})
            assert left_out in await names(client)
            await client.call_tool("set_context", {"query": ""})
            assert len(await names(client)) == 35

    anyio.run(run)


def test_servers_that_fail_crash_hang_or_flood_do_not_stop_the_rest(tmp_path: Path) -> None:
    servers = {
        "absent": {"command": str(tmp_path / "nothing"), "args": []},
        "quits": {"command": sys.executable, "args": ["-S", "-c", "print('no protocol here')"]},
        "odd": plain("odd", timeout=2), "weather": plain("weather"),
        "off": {"command": "nothing", "enabled": False},
    }  # fmt: skip

    async def run() -> None:
        async with connected(tmp_path, servers) as client:
            assert "weather__forecast" in await names(client)
            flood = await client.call_tool("odd__flood", {})
            assert len(flood.content[0].text) == 1_000_000  # type: ignore[union-attr]
            crashed = await client.call_tool("odd__crash", {})
            assert crashed.is_error
            assert not (await client.call_tool("weather__forecast", {})).is_error
            assert (await client.call_tool("absent__x", {})).is_error
            await anyio.sleep(1)
            for _ in range(100):
                if "odd__fail" in await names(client):
                    break
                await anyio.sleep(0.1)
            assert not (await client.call_tool("odd__same__name", {})).is_error
            hung = await client.call_tool("odd__hang", {})
            assert hung.is_error

    anyio.run(run)


def test_progress_and_new_tools_are_passed_on(tmp_path: Path) -> None:
    async def run() -> None:
        steps: list[tuple[float, float | None]] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            steps.append((progress, total))

        async with connected(tmp_path, {"odd": plain("odd")}) as client:
            assert "odd__grown" not in await names(client)
            await client.call_tool("odd__slow", {}, progress_callback=heard)
            assert steps == [(1, 3), (2, 3), (3, 3)]
            await client.call_tool("odd__grow", {})
            for _ in range(100):
                if "odd__grown" in await names(client):
                    return
                await anyio.sleep(0.05)
            raise AssertionError("the new tool never came")

    anyio.run(run)


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_call_that_is_cancelled_is_cancelled_upstream(tmp_path: Path, era: str) -> None:
    mark = tmp_path / "cancelled"

    async def run() -> None:
        async with connected(tmp_path, {"odd": plain("odd", str(mark))}, mode=era) as client:
            await names(client)
            with anyio.move_on_after(0.3):
                await client.call_tool("odd__wait", {})
            await until(mark.exists)
            assert not (await client.call_tool("odd__grow", {})).is_error

    anyio.run(run)


def test_clients_over_http_have_contexts_of_their_own(tmp_path: Path) -> None:
    """One upstream is reached over HTTP too."""
    port = free_port()
    config = configured(
        tmp_path, {"music": {"url": f"http://127.0.0.1:{port}/mcp"}, "many": plain("many"), "weather": plain("weather")}
    )
    with Memory(tmp_path / "pairs.db", space="desk") as memory:
        for number in range(12):
            memory.tools.learn(f"what will the weather be like on day {number}", "forecast", server="weather")

    async def run(url: str, token: str) -> None:
        async with web_client(url, token, "legacy") as one, web_client(url, token, "legacy") as other:
            assert "music__play_song" in await names(one)
            assert not (await other.call_tool("music__play_song", {"title": "Ode"})).is_error
            await one.call_tool("set_context", {"query": "what will the weather be like tomorrow"})
            assert (len(await names(one)), len(await names(other))) == (18, 37)

    player = [sys.executable, str(HERE / "sdk.py"), str(port)]
    with running(player, tmp_path, port, signal.SIGKILL), served(tmp_path, config) as (url, token):
        anyio.run(run, url, token)
        assert httpx2.post(url, json={}).status_code == 401


def test_a_server_over_http_that_went_away_is_used_again_when_it_is_back(tmp_path: Path) -> None:
    port = free_port()
    player = [sys.executable, str(HERE / "sdk.py"), str(port)]
    servers = {"music": {"url": f"http://127.0.0.1:{port}/mcp"}, "weather": plain("weather")}

    async def play(client: Client) -> bool:
        with anyio.fail_after(10):
            return not (await client.call_tool("music__play_song", {"title": "Ode"})).is_error

    async def run() -> None:
        with running(player, tmp_path, port, signal.SIGKILL):
            pass
        async with connected(tmp_path, servers) as client:
            assert not await play(client)
            with running(player, tmp_path, port, signal.SIGKILL):
                while not await play(client):
                    await anyio.sleep(0.2)
            assert not await play(client)
            assert not (await client.call_tool("weather__forecast", {})).is_error
            with running(player, tmp_path, port, signal.SIGKILL):
                while not await play(client):
                    await anyio.sleep(0.2)

    anyio.run(run)


@contextlib.contextmanager
def running(command: list[str], home: Path, port: int, end: int = signal.SIGTERM) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(command, env={**os.environ, **environment(home)}, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(end)
        try:
            process.wait(10)
        finally:
            process.kill()


def started(folder: Path, servers: dict[str, Any]) -> subprocess.Popen[bytes]:
    """A proxy that a bare client has shaken hands with."""
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "proxy", "--config", str(configured(folder, servers))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environment(folder)},
    )  # fmt: skip
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    ask(process, 1, "initialize", hello)
    assert process.stdin is not None
    process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    ask(process, 2, "tools/list", {})
    return process


def ask(process: subprocess.Popen[bytes], id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n")
    process.stdin.flush()
    while True:
        message = json.loads(process.stdout.readline())
        if message.get("id") == id:
            result: dict[str, Any] = message["result"]
            return result


@pytest.mark.parametrize("how", ["eof", "terminated", "killed"])
def test_nothing_is_left_behind_and_what_was_learned_stays(tmp_path: Path, how: str) -> None:
    """Servers that ignore the end of their input and SIGTERM, and their children, are gone too."""
    mark = tmp_path / "pids"
    proxy = started(tmp_path, {"stubborn": plain("stubborn", str(mark)), "weather": plain("weather")})
    ask(proxy, 3, "tools/call", {"name": "set_context", "arguments": {"query": UNLIKELY}})
    ask(proxy, 4, "tools/call", {"name": "weather__tides", "arguments": {}})
    if how == "killed":
        anyio.run(until, lambda: pairs(tmp_path))
    pids = [int(pid) for pid in mark.read_text().split()]
    assert all(alive(pid) for pid in pids)
    begun = time.monotonic()
    if how == "eof":
        assert proxy.stdin is not None
        proxy.stdin.close()
    else:
        proxy.send_signal(signal.SIGTERM if how == "terminated" else signal.SIGKILL)
    proxy.wait(10)
    took = time.monotonic() - begun
    anyio.run(until, lambda: not any(alive(pid) for pid in pids))
    if how != "killed":
        assert took < 3, took
    assert [(pair.tool, pair.confidence) for pair in pairs(tmp_path)] == [("tides", 0.5)]
    for stream in (proxy.stdin, proxy.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def test_pairs_are_pruned_at_the_end_by_the_storage_block(tmp_path: Path) -> None:
    with Memory(tmp_path / "pairs.db", space="desk") as memory:
        for number in range(11):
            memory.tools.learn(f"request {number}", "tides", server="weather", signal=0.5 + number / 100, embed=False)
    config = configured(tmp_path, {"weather": plain("weather")}, pruneThreshold=10)
    command = [sys.executable, "-m", "recollect", "proxy", "--config", str(config)]
    done = subprocess.run(
        command, env={**os.environ, **environment(tmp_path)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=30,
    )  # fmt: skip
    assert done.returncode == 0
    assert "pruned 0 doubtful, 0 unused, 2 surplus" in done.stderr
    assert len(pairs(tmp_path)) == 9


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{\n"mcpServers": {\n"a": {"command": "x",}\n}}', 3, ""),
        ('{"servers_": {}}', 1, "no mcpServers"),
        ('{\n"mcpServers": {\n"a__b": {"command": "x"}}}', 3, "no name"),
        ('{\n"mcpServers": {\n"a_": {"command": "x"}}}', 3, "no name"),
        ('{\n"mcpServers": {\n"a": {}}}', 3, "either a command or a url"),
        ('{\n"mcpServers": {\n"a": {"command": "x", "url": "y"}}}', 3, "either a command or a url"),
        ('{\n"mcpServers": {\n"a": {"command": "x",\n "args": "y"}}}', 4, "no list"),
        ('{\n"mcpServers": {\n"a": {"command": "x",\n "colour": 1}}}', 4, "unknown key"),
        ('{\n"mcpServers": {\n"a": {"command": "x",\n "env": {"A": 1}}}}', 4, "no object of texts"),
        ('{\n"mcpServers": {\n"a": {"command": "x",\n "timeout": 0}}}', 4, "above 0"),
        ('{\n"mcpServers": {"a": {"command": "x"}},\n"storage": {\n"pruneMinConfidence": 2}}', 4, "from 0 to 1.5"),
        ('{\n"mcpServers": {"a": {"command": "x"}},\n"storage": {\n"paht": "x"}}', 4, "paht"),
        ('{\n"mcpServers": {"a": {"command": "x", "enabled": false}}}', 2, "no server is enabled"),
        ("[]", 1, "no mcpServers"),
    ],
)  # fmt: skip
def test_an_invalid_configuration_says_which_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ConfigInvalid) as caught:
        read_config(path)
    assert f"line {line}" in caught.value.message and what in caught.value.message


def test_paths_of_a_configuration_are_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    server = {"command": "x", "cwd": "work", "env": {"A": "b"}}
    path.write_text(json.dumps({"mcpServers": {"a": server}, "storage": {"path": "./pairs.db"}}))
    found = read_config(path)
    assert Path(found.store) == tmp_path / "pairs.db"
    assert (found.servers[0].cwd, found.servers[0].env) == (str(tmp_path / "work"), (("A", "b"),))
    assert (found.most_pairs, found.least_confidence, found.unused_days) == (5000, 0.1, 30)
