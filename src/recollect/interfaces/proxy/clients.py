"""What the proxy knows of each of its clients: what it is doing, what it was offered, what it used last.

Clients are told apart by their session; over a pipe there is one. Over HTTP without sessions, as in the later protocol,
the client's own name is all there is.
"""

from collections import OrderedDict, deque
from typing import Any

from recollect.tools import OFFERED, SEARCHED, USED

RECENT = 3
MOST_CLIENTS = 1000


class ClientContext:
    def __init__(self) -> None:
        self.query = ""
        self.search = ""
        self.offered: frozenset[str] = frozenset()
        self.found: frozenset[str] = frozenset()
        self.recent: deque[str] = deque(maxlen=RECENT)
        self.session: Any = None

    def learning(self, name: str) -> tuple[str, float] | None:
        """The request that a call of this tool serves, and how telling that is; None if nobody said what it is for."""
        if self.search and name in self.found:
            return self.search, SEARCHED
        if self.query:
            return self.query, OFFERED if name in self.offered else USED
        return None

    def used(self, name: str) -> None:
        """A call worked. It answers the search that found it: what is called next serves something else."""
        self.recent.append(name)
        if name in self.found:
            self.search, self.found = "", frozenset()


class Clients:
    def __init__(self) -> None:
        self._known: OrderedDict[str, ClientContext] = OrderedDict()

    def of(self, request: Any) -> ClientContext:
        key = _key(request)
        context = self._known.pop(key, None) or ClientContext()
        self._known[key] = context
        context.session = request.session
        while len(self._known) > MOST_CLIENTS:
            self._known.popitem(last=False)
        return context

    def sessions(self) -> list[Any]:
        return [context.session for context in self._known.values() if context.session is not None]


def _key(request: Any) -> str:
    http = request.request
    if http is None:
        return "pipe"
    session = http.headers.get("mcp-session-id")
    if session:
        return f"session {session}"
    params = request.session.client_params
    return f"client {params.client_info.name} {params.client_info.version}" if params is not None else "client"
