"""`recollect proxy`: one MCP server in front of all others; `server` says what it does, `upstream` whom it speaks to.

It leaves when its client closes the pipe or a signal asks for it: lessons are finished, pairs pruned, the store closed,
upstreams asked to leave and, if they do not, ended with everything they started.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from recollect.interfaces.proxy.config import ProxyConfig, read_config
from recollect.interfaces.proxy.guard import GUARD
from recollect.interfaces.proxy.server import Proxy
from recollect.memory import Memory

__all__ = ["ProxyConfig", "read_config", "serve_http", "serve_stdio"]

LEAVE_SECONDS = 1.9
LESSON_SECONDS = 1.6  # of those; a lesson takes milliseconds, unless the machine is very busy


def serve_stdio(config: ProxyConfig, memory: Memory) -> None:
    anyio.run(_serve, config, memory, _over_pipes)


def serve_http(config: ProxyConfig, memory: Memory, host: str, port: int, token: str) -> None:
    async def over_http(proxy: Proxy) -> None:
        import uvicorn

        from recollect.interfaces.mcp.server import with_token

        app = with_token(proxy.server.streamable_http_app(host=host), token)
        options = uvicorn.Config(
            app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1, server_header=False
        )

        class Quiet(uvicorn.Server):
            """Signals are ours: the upstreams have to go too."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

        await Quiet(options).serve()

    anyio.run(_serve, config, memory, over_http)


async def _serve(config: ProxyConfig, memory: Memory, serve: Any) -> None:
    """Serves until the door closes or a signal comes. Then it ends the process itself: the thread that reads standard
    input cannot be interrupted, and nothing is left to wait for."""
    proxy = Proxy(config, memory)
    done = anyio.Event()
    async with anyio.create_task_group() as doors:
        doors.start_soon(_until_closed, serve, proxy, done)
        doors.start_soon(_until_signalled, done)
        async with anyio.create_task_group() as learning:
            async with anyio.create_task_group() as upstreams:
                await proxy.start(upstreams, learning)
                await done.wait()
                _end_at_last()
                lessons_end = anyio.current_time() + LESSON_SECONDS
                upstreams.cancel_scope.cancel()
            await _farewell(proxy, lessons_end)
            learning.cancel_scope.cancel()
        sys.stderr.flush()
        os._exit(0)


async def _until_closed(serve: Any, proxy: Proxy, done: anyio.Event) -> None:
    try:
        await serve(proxy)
    finally:
        done.set()


async def _over_pipes(proxy: Proxy) -> None:
    async with stdio_server() as (reading, writing):
        await proxy.server.run(reading, writing, proxy.options())


async def _farewell(proxy: Proxy, lessons_end: float) -> None:
    """What was learned is kept, pruned and closed."""
    with anyio.CancelScope(deadline=lessons_end):
        await proxy.finish_lessons()
    proxy.prune()
    proxy.memory.close()


async def _until_signalled(done: anyio.Event) -> None:
    names = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    # Windows' event loop knows no signals: there the end of the pipe must do.
    with suppress(NotImplementedError, ValueError), anyio.open_signal_receiver(*names) as received:
        async for _ in received:
            done.set()


def _end_at_last() -> None:
    """The process ends, even if a thread never does; upstreams lose their pipes with it."""
    import threading

    def end() -> None:
        GUARD.end_all()
        os._exit(0)

    timer = threading.Timer(LEAVE_SECONDS, end)
    timer.daemon = True
    timer.start()
