"""The proxy itself: one MCP server in front of many, which offers the tools that fit and learns from each call.

A call is answered before anything is learned from it; learning runs in a thread behind a bounded queue and can neither
delay nor fail a call. Names are `server__tool`; schemas and annotations are those of the upstream.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from recollect import __version__
from recollect.errors import RecollectError
from recollect.interfaces.proxy.clients import ClientContext, Clients
from recollect.interfaces.proxy.config import SEPARATOR, ProxyConfig
from recollect.interfaces.proxy.upstream import Upstream, failed
from recollect.memory import Memory
from recollect.tools import COLD, OFFER
from recollect.types import Tool

START_SECONDS = 10.0  # that the first list of tools waits for slow servers
MOST_WAITING = 1000  # lessons; more are dropped
INSTRUCTIONS = (
    "Tools of several servers, named server__tool. Call set_context with what you are about to do, and the list of"
    " tools narrows to those that fit; search_available_tools looks through all; call_tool calls any by name."
)
log = logging.getLogger("recollect.proxy")

_TEXT = {"type": "string"}
_QUERY = {
    "type": "object",
    "properties": {"query": {**_TEXT, "description": "what is to be done"}},
    "required": ["query"],
}
META = (
    types.Tool(
        name="set_context", input_schema=_QUERY,
        description="Say what you are about to do: the list of tools narrows to those that fit.",
    ),
    types.Tool(
        name="search_available_tools", input_schema=_QUERY,
        annotations=types.ToolAnnotations(read_only_hint=True),
        description="Find tools among all servers for a request; answers with names, descriptions and input schemas.",
    ),
    types.Tool(
        name="call_tool",
        description="Call any tool by its full name, also one that is not in the list now.",
        input_schema={
            "type": "object", "required": ["name"],
            "properties": {"name": {**_TEXT, "description": "server__tool"}, "arguments": {"type": "object"}},
        },
    ),
)  # fmt: skip


class Proxy:
    def __init__(self, config: ProxyConfig, memory: Memory) -> None:
        self.config = config
        self.memory = memory
        self.upstreams = {server.name: Upstream(server, self._changed) for server in config.servers}
        self.clients = Clients()
        self._bus = InMemorySubscriptionBus()
        self._lessons, self._waiting = anyio.create_memory_object_stream[Callable[[], Any]](MOST_WAITING)
        self._indexing = anyio.Event()
        self._teaching = False
        self.server: Server[Any] = self._server()

    def _server(self) -> Server[Any]:
        return Server(
            "recollect-proxy", version=__version__, instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools, on_call_tool=self.call_tool, on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates, on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts, on_get_prompt=self.get_prompt,
            on_subscriptions_listen=ListenHandler(self._bus),
        )  # fmt: skip

    def options(self) -> Any:
        changes = NotificationOptions(tools_changed=True, resources_changed=True, prompts_changed=True)
        return self.server.create_initialization_options(changes)

    # -- life -----------------------------------------------------------------------------------------------------

    async def start(self, upstreams: Any, learning: Any) -> None:
        """In two groups of tasks, since what was learned is still written while the upstreams leave."""
        self.prune()
        for upstream in self.upstreams.values():
            upstreams.start_soon(upstream.run)
        learning.start_soon(self._learn)
        learning.start_soon(self._index)

    async def finish_lessons(self) -> None:
        """Until the last lesson is learned; each takes a few milliseconds, for vectors are made later."""
        while self._waiting.statistics().current_buffer_used or self._teaching:
            await anyio.sleep(0.005)

    def prune(self) -> None:
        try:
            gone = self.memory.tools.prune(
                least_confidence=self.config.least_confidence, unused_days=self.config.unused_days,
                most=self.config.most_pairs, standing=True,
            )  # fmt: skip
        except RecollectError as trouble:
            log.warning("pruning: %s", trouble.message)
            return
        if any(gone.values()):
            log.warning("pruned %s", ", ".join(f"{count} {what}" for what, count in gone.items()))

    async def _learn(self) -> None:
        async for lesson in self._waiting:
            await self._teach(lesson)

    async def _teach(self, lesson: Callable[[], Any]) -> None:
        self._teaching = True
        try:
            await anyio.to_thread.run_sync(lesson)
        except Exception as trouble:  # noqa: BLE001 - a background loop: reported, and the next lesson follows
            log.warning("learning: %s", trouble)
        finally:
            self._teaching = False
        self._indexing.set()

    async def _index(self) -> None:
        """Vectors of tools that are new, in the background; until then they are found by keyword."""
        while True:
            await self._indexing.wait()
            self._indexing = anyio.Event()
            with suppress(RecollectError):
                await anyio.to_thread.run_sync(self.memory.tools.embed_pending, abandon_on_cancel=True)

    async def _changed(self, what: str) -> None:
        """An upstream has other tools, resources or prompts than before."""
        if what == "tools":
            offered = [_described(up.name, tool) for up in self.upstreams.values() for tool in up.tools.values()]
            await anyio.to_thread.run_sync(self.memory.tools.offer, offered)
            self._indexing.set()
        await self._tell(what, self.clients.sessions())

    async def _tell(self, what: str, sessions: Sequence[Any]) -> None:
        events: dict[str, ServerEvent] = {
            "tools": ToolsListChanged(), "resources": ResourcesListChanged(), "prompts": PromptsListChanged(),
        }  # fmt: skip
        await self._bus.publish(events[what])
        for session in sessions:
            send = {
                "tools": session.send_tool_list_changed, "resources": session.send_resource_list_changed,
                "prompts": session.send_prompt_list_changed,
            }[what]  # fmt: skip
            with suppress(Exception):  # a client that left, or one of the later protocol
                await send()

    # -- tools ----------------------------------------------------------------------------------------------------

    async def list_tools(self, request: Any, _params: Any) -> types.ListToolsResult:
        await self._settled()
        context = self.clients.of(request)
        every = {
            f"{up.name}{SEPARATOR}{tool.name}": _passed_on(up.name, tool)
            for up in self.upstreams.values()
            for tool in up.tools.values()
        }
        names = await self._narrowed(context, every)
        context.offered = frozenset(names if len(names) < len(every) else ())  # a list of everything chose nothing
        return types.ListToolsResult(
            tools=[*META, *(every[name] for name in names)], ttl_ms=0, cache_scope="private", result_type="complete"
        )

    async def _settled(self) -> None:
        with anyio.move_on_after(START_SECONDS):
            for upstream in self.upstreams.values():
                await upstream.settled.wait()

    async def _narrowed(self, context: ClientContext, every: dict[str, Any]) -> list[str]:
        """All of them without a context, or while usage says too little about it; else the best, and the latest."""
        if not context.query or len(every) <= OFFER:
            return list(every)
        try:
            if await anyio.to_thread.run_sync(self.memory.tools.confidence, context.query) < COLD:
                return list(every)
            hits = await anyio.to_thread.run_sync(self.memory.tools.search, context.query)
        except RecollectError as trouble:
            log.warning("narrowing: %s", trouble.message)
            return list(every)
        best = [f"{hit.tool.server}{SEPARATOR}{hit.tool.name}" for hit in hits]
        return [name for name in dict.fromkeys((*best, *context.recent)) if name in every]

    async def call_tool(self, request: Any, params: types.CallToolRequestParams) -> Any:
        context = self.clients.of(request)
        given = params.arguments or {}
        if params.name == "set_context":
            return await self._set_context(request, context, given)
        if params.name == "search_available_tools":
            return await self._search(context, given)
        if params.name == "call_tool":
            name, arguments = given.get("name"), given.get("arguments")
            if not isinstance(name, str) or not isinstance(arguments, dict | None):
                return failed("call_tool takes a name and an object of arguments")
            params = params.model_copy(update={"name": name, "arguments": arguments})
        return await self._pass_on(request, context, params)

    async def _set_context(self, request: Any, context: ClientContext, given: dict[str, Any]) -> Any:
        query = given.get("query")
        if not isinstance(query, str) or not query.strip():
            context.query = ""
            await self._tell("tools", [request.session])
            return _said("The context is empty now; all tools are offered.")
        intent = given.get("intent")
        context.query = f"{query} {intent}" if isinstance(intent, str) and intent.strip() else query
        await self._tell("tools", [request.session])
        return _said("The list of tools follows this context now.")

    async def _search(self, context: ClientContext, given: dict[str, Any]) -> Any:
        query = given.get("query")
        if not isinstance(query, str) or not query.strip():
            return failed("search_available_tools takes a query")
        await self._settled()
        try:
            hits = await anyio.to_thread.run_sync(self.memory.tools.search, query)
        except RecollectError as trouble:
            return failed(f"{trouble.message} ({trouble.hint})")
        rows = []
        for hit in hits:
            upstream = self.upstreams.get(hit.tool.server)
            tool = upstream.tools.get(hit.tool.name) if upstream is not None else None
            if tool is not None:
                name = f"{hit.tool.server}{SEPARATOR}{tool.name}"
                row = {"name": name, "description": tool.description or "", "score": round(hit.score, 4)}
                rows.append(row | {"input_schema": tool.input_schema})
        if not rows:
            return _said(f"No tools found matching {query!r}.")
        context.search, context.found = query, frozenset(str(row["name"]) for row in rows)
        lines = [f"{row['name']}: {row['description']}" for row in rows]
        return types.CallToolResult(
            content=[types.TextContent(type="text", text="\n".join(lines))], structured_content={"tools": rows}
        )

    async def _pass_on(self, request: Any, context: ClientContext, params: types.CallToolRequestParams) -> Any:
        server, _, tool = params.name.partition(SEPARATOR)
        upstream = self.upstreams.get(server)
        if upstream is not None and not upstream.settled.is_set():
            await self._settled()
        if upstream is None or (upstream.client is not None and tool not in upstream.tools):
            return failed(f"Unknown tool: {params.name}")

        async def progress(done: float, total: float | None, message: str | None) -> None:
            with suppress(Exception):  # the client may be gone
                await request.session.report_progress(done, total, message)

        meta = {key: told for key, told in (params.meta or {}).items() if key != "progressToken"} or None
        result = await upstream.call(params, tool, progress, meta)
        if isinstance(result, types.CallToolResult):
            self._note(context, server, tool, success=not result.is_error)
            if not result.is_error:
                context.used(params.name)
        return result

    def _note(self, context: ClientContext, server: str, tool: str, *, success: bool) -> None:
        lesson = context.learning(f"{server}{SEPARATOR}{tool}")
        if lesson is None:
            return
        query, signal = lesson
        learn = self.memory.tools.learn
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._lessons.send_nowait(
                lambda: learn(query, tool, server=server, signal=signal, success=success, embed=False)
            )

    # -- resources and prompts ------------------------------------------------------------------------------------

    async def list_resources(self, _request: Any, _params: Any) -> types.ListResourcesResult:
        found = [one for _, result in await self._ask_all("resources", "list_resources") for one in result.resources]
        return types.ListResourcesResult(resources=found, ttl_ms=0, cache_scope="private", result_type="complete")

    async def list_templates(self, _request: Any, _params: Any) -> types.ListResourceTemplatesResult:
        results = await self._ask_all("resources", "list_resource_templates")
        found = [one for _, result in results for one in result.resource_templates]
        return types.ListResourceTemplatesResult(
            resource_templates=found, ttl_ms=0, cache_scope="private", result_type="complete"
        )

    async def list_prompts(self, _request: Any, _params: Any) -> types.ListPromptsResult:
        found = [
            prompt.model_copy(update={"name": f"{name}{SEPARATOR}{prompt.name}"})
            for name, result in await self._ask_all("prompts", "list_prompts")
            for prompt in result.prompts
        ]
        return types.ListPromptsResult(prompts=found, ttl_ms=0, cache_scope="private", result_type="complete")

    async def get_prompt(self, _request: Any, params: types.GetPromptRequestParams) -> Any:
        server, _, prompt = params.name.partition(SEPARATOR)
        upstream = self.upstreams.get(server)
        if upstream is None or upstream.client is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        return await upstream.client.get_prompt(prompt, params.arguments)

    async def read_resource(self, _request: Any, params: types.ReadResourceRequestParams) -> Any:
        """An address does not say whose it is: those who list it are asked first, then all others."""
        uri = str(params.uri)
        listed = {name for name, result in await self._ask_all("resources", "list_resources")
                  if any(str(one.uri) == uri for one in result.resources)}  # fmt: skip
        for upstream in sorted(self.upstreams.values(), key=lambda up: up.name not in listed):
            client = upstream.client
            if client is not None and client.server_capabilities.resources is not None:
                with suppress(MCPError):
                    return await client.read_resource(uri)
        raise MCPError(types.INVALID_PARAMS, f"Unknown resource: {uri}")

    async def _ask_all(self, capability: str, verb: str) -> list[tuple[str, Any]]:
        await self._settled()
        answers: list[tuple[str, Any]] = []
        for name, upstream in self.upstreams.items():
            client = upstream.client
            if client is not None and getattr(client.server_capabilities, capability) is not None:
                with suppress(Exception), anyio.fail_after(START_SECONDS):  # one that fails does not stop the rest
                    answers.append((name, await getattr(client, verb)()))
        return answers


def _passed_on(server: str, tool: types.Tool) -> types.Tool:
    changed = {"name": f"{server}{SEPARATOR}{tool.name}", "description": f"[{server}] {tool.description or ''}".strip()}
    return tool.model_copy(update=changed)


def _described(server: str, tool: types.Tool) -> Tool:
    properties = tool.input_schema.get("properties")
    parameters = {
        str(name): str(told.get("description") or "") if isinstance(told, dict) else ""
        for name, told in (properties if isinstance(properties, dict) else {}).items()
    }
    return Tool(tool.name, tool.description or tool.title or "", server, parameters)


def _said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])
