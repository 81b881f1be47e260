"""An upstream server as a process of its own group, spoken to over its pipes, and surely gone in the end.

The process gets the whole environment, as a host that started it directly would give it. Closing its standard input
asks it to leave; then its group is terminated, then killed, all within GRACE. A line that never ends is cut off with
the process, so that a flooding server cannot fill our memory.
"""

import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import Process
from mcp.shared.message import SessionMessage

from recollect.interfaces.proxy.config import ServerConfig
from recollect.interfaces.proxy.guard import GUARD, POSIX, end_group

GRACE = (0.4, 0.4)  # seconds to leave after standard input closed, and after being told to terminate
LONGEST_LINE = 64 << 20
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@asynccontextmanager
async def process_transport(server: ServerConfig, lost: Callable[[], None]) -> AsyncGenerator[Any, None]:
    """Streams of messages to and from the process; `lost` is called when it closes its side."""
    process = await _start(server)
    GUARD.watch(process.pid)
    to_us, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sending, to_it = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, to_us, lost)
        tasks.start_soon(_write, process, to_it)
        try:
            yield received, sending
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
            for stream in (received, sending, to_us, to_it):
                stream.close()
            tasks.cancel_scope.cancel()


async def _start(server: ServerConfig) -> Process:
    command = [_found(server.command), *server.args]
    return await anyio.open_process(
        command, env={**os.environ, **dict(server.env)}, cwd=server.cwd or None, stderr=sys.stderr,
        start_new_session=POSIX, creationflags=0 if POSIX else getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )  # fmt: skip


def _found(command: str) -> str:
    """On Windows `npx` is `npx.cmd`, which only a search of the path finds."""
    if POSIX:
        return command
    import shutil

    return shutil.which(command) or command


async def _read(process: Process, out: Any, lost: Callable[[], None]) -> None:
    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    try:
        with suppress(*_GONE):
            while True:
                *lines, rest = (await process.stdout.receive(1 << 16)).split(b"\n")
                for line in lines:
                    parts.append(line)
                    await _deliver(b"".join(parts), out)
                    parts, size = [], 0
                parts.append(rest)
                size += len(rest)
                if size > LONGEST_LINE:
                    break
    finally:
        out.close()
        lost()


async def _deliver(line: bytes, out: Any) -> None:
    if not line.strip():
        return
    try:
        message: Any = SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as trouble:  # a server that prints to its standard output
        message = trouble
    await out.send(message)


async def _write(process: Process, source: Any) -> None:
    assert process.stdin is not None
    with suppress(*_GONE):
        async for message in source:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")


async def _stop(process: Process) -> None:
    assert process.stdin is not None
    with suppress(*_GONE):
        with anyio.move_on_after(GRACE[0]):
            await process.stdin.aclose()
    if not await _left(process, GRACE[0]):
        end_group(process.pid, kill=False)
        await _left(process, GRACE[1])
    # Whoever is left of the group, also when its leader went by itself.
    end_group(process.pid, kill=True)
    await _left(process, GRACE[1])
    GUARD.release(process.pid)


async def _left(process: Process, seconds: float) -> bool:
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(0.01)
    return process.returncode is not None
