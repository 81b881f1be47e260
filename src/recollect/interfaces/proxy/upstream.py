"""One upstream server: connected, its tools known, and connected again when it is lost.

Everything that it says about itself is foreign text: it is passed on, never interpreted.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from recollect.interfaces.proxy.config import ServerConfig
from recollect.interfaces.proxy.process import process_transport

CONNECT_SECONDS = 30.0
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
MOST_TOOLS = 10_000
log = logging.getLogger("recollect.proxy")


class Upstream:
    """`changed` is called when its tools, resources or prompts are other than before."""

    def __init__(self, config: ServerConfig, changed: Callable[[str], Awaitable[None]]) -> None:
        self.config = config
        self.name = config.name
        self.tools: dict[str, types.Tool] = {}
        self.settled = anyio.Event()  # connected and known, or failed once
        self.trouble = ""
        self._changed = changed
        self._client: Client | None = None
        self._lost = anyio.Event()
        self._tasks: TaskGroup | None = None

    @property
    def client(self) -> Client | None:
        return self._client

    async def run(self) -> None:
        """Stays connected until cancelled; each failure is reported and waited out a little longer."""
        wait = FIRST_WAIT
        while True:
            self._lost = anyio.Event()
            try:
                await self._once()
                wait = FIRST_WAIT
            except Exception as trouble:  # noqa: BLE001 - an upstream may fail in any way; the others go on
                self.trouble = _told(trouble)
                log.warning("%s: %s; trying again in %g s", self.name, self.trouble, wait)
            was_known, self.tools, self._client = bool(self.tools), {}, None
            self.settled.set()
            if was_known:
                await self._changed("tools")
            await anyio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _once(self) -> None:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            with anyio.fail_after(CONNECT_SECONDS) as patience:
                client = self._new_client()
                async with client:
                    self._client = client
                    await self._list()
                    patience.deadline = float("inf")
                    self.trouble = ""
                    await self._changed("tools")
                    self.settled.set()  # only now a search finds its tools
                    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                        tasks.start_soon(self._listen, client)
                    await self._lost.wait()
                    self._client = None
            tasks.cancel_scope.cancel()
        log.warning("%s: connection lost", self.name)

    def _new_client(self) -> Client:
        config = self.config
        if config.url:
            import httpx2

            http = httpx2.AsyncClient(headers=dict(config.headers), timeout=config.timeout_seconds)
            transport: Any = streamable_http_client(config.url, http_client=http)
        else:
            transport = process_transport(config, self._lost.set)
        return Client(transport, message_handler=self._message, cache=None)

    async def _list(self) -> None:
        client = self._client
        if client is None or client.server_capabilities.tools is None:
            return
        found: dict[str, types.Tool] = {}
        cursor: str | None = None
        while len(found) < MOST_TOOLS:
            page = await client.list_tools(cursor=cursor)
            found |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                break
        self.tools = found

    async def _message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification) and self._tasks is not None:
            self._tasks.start_soon(self._relist)  # not here: whoever delivers messages would wait for itself
        elif isinstance(message, types.ResourceListChangedNotification):
            await self._changed("resources")
        elif isinstance(message, types.PromptListChangedNotification):
            await self._changed("prompts")

    async def _relist(self) -> None:
        with suppress(MCPError, RuntimeError):
            await self._list()
            await self._changed("tools")

    async def _listen(self, client: Client) -> None:
        """Changes, as the later protocol tells them; a server that does not is asked no more."""
        with suppress(Exception):
            async with client.listen(
                tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True
            ) as events:
                async for event in events:
                    kind = type(event).__name__
                    if kind == "ToolsListChanged":
                        await self._relist()
                    else:
                        await self._changed("resources" if kind.startswith("Resource") else "prompts")

    async def call(self, params: types.CallToolRequestParams, tool: str, progress: Any, meta: Any) -> Any:
        """The upstream's own answer; what goes wrong on the way is an answer too, marked as an error."""
        client = self._client
        if client is None:
            return failed(f"{self.name} is not connected{f': {self.trouble}' if self.trouble else ''}")
        try:
            return await client.session.call_tool(
                tool, params.arguments, read_timeout_seconds=self.config.timeout_seconds, progress_callback=progress,
                input_responses=params.input_responses, request_state=params.request_state, meta=meta,
                allow_input_required=True,
            )  # fmt: skip
        except MCPError as trouble:
            if self.config.url and not self._lost.is_set() and trouble.code == types.CONNECTION_CLOSED:
                self._lost.set()
            return failed(f"{self.name}: {trouble}")
        except Exception as trouble:  # noqa: BLE001 - the edge to a foreign server
            if self.config.url and not isinstance(trouble, RuntimeError | TimeoutError):
                self._lost.set()
            return failed(f"{self.name}: {_told(trouble)}")


def failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _told(trouble: BaseException) -> str:
    while isinstance(trouble, BaseExceptionGroup) and trouble.exceptions:
        trouble = trouble.exceptions[0]
    return f"{type(trouble).__name__}: {trouble}" if str(trouble) else type(trouble).__name__
