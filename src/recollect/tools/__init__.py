"""Tool memory: which tool fits a request, by what tools say of themselves and by what worked before.

    score = 0.6 * (static + learned) + 0.4 * profile

Without usage `learned` is 0 and `profile` is `static`, so a cold start is plain search; every piece of usage adds to
that and is trusted by its confidence. Tools are held in memory and built anew from whoever offers them; pairs are
written through to the store as they are learned, and a copy in memory follows what other processes learn.
"""

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect.config import Settings
from recollect.embedding import Embedding
from recollect.errors import EmbedderUnavailable, InvalidInput, StoreUnavailable
from recollect.store import Store
from recollect.text.redact import clean
from recollect.text.tokens import query_terms
from recollect.tools.wording import views, without_arguments
from recollect.types import Pair, Tool, ToolHit

if TYPE_CHECKING:
    from recollect.tools.described import Described
    from recollect.tools.learned import Learned

SEARCHED, OFFERED, USED = 1.5, 1.0, 0.5  # signals: found by a search and used, offered and used, used unasked
EMA = 0.2  # how far a confidence moves towards a new signal
OFFER = 15
COLD = 0.3  # below this confidence a context narrows nothing
EVIDENCE, PROFILE = 0.6, 0.4
LEAST_CONFIDENCE, UNUSED_DAYS, MOST_PAIRS = 0.1, 30, 5000
KEEP = 0.9  # of the most pairs, once there are more
MAX_QUERY = 4000
_DAY_MS = 86_400_000
_SALT = "tool_query_salt"
_KEPT = "tools.of_space."
_LIMITS = "tools.limits"


def standing_limits(store: Store) -> tuple[float, float, int]:
    """What a clean-up prunes by: the least confidence, the days without use, and the most pairs of a space."""
    kept = store.get_meta(_LIMITS)
    least, days, most = json.loads(kept) if kept else (LEAST_CONFIDENCE, UNUSED_DAYS, MOST_PAIRS)
    return least, days, most


class ToolMemory:
    """The tools and the pairs of the spaces that a Memory sees. May be shared between threads."""

    def __init__(
        self, store: Store, settings: Settings, embedding: Embedding, clock: Callable[[], int],
        seen: Callable[[], Sequence[int]], home: Callable[[], int],
    ) -> None:  # fmt: skip
        self._store = store
        self._settings = settings
        self._embedding = embedding
        self._clock = clock
        self._seen = seen
        self._home = home
        self._lock = threading.RLock()
        self._offered: tuple[Tool, ...] = ()
        self._described: Described | None = None
        self._learned: Learned | None = None
        self._stamp: tuple[tuple[int, ...], int, int] = ((), -1, 0)

    # -- tools ----------------------------------------------------------------------------------------------------

    def offer(self, tools: Iterable[Tool]) -> None:
        """Makes these the live tools, besides those that were added; what they say of themselves is kept in memory."""
        with self._lock:
            self._offered = tuple(tools)
            self._rebuild()

    def add(
        self, name: str, description: str = "", *, server: str = "", parameters: Mapping[str, str] | None = None
    ) -> Tool:
        """Adds a tool to the list that is kept with the space, for those who work without a proxy."""
        if not name.strip():
            raise InvalidInput("a tool needs a name", hint="give the name by which it is called")
        tool = Tool(name.strip(), clean(description).text, server, dict(parameters or {}))
        with self._lock:
            home = self._home()
            kept = [old for old in self._kept([home]) if (old.server, old.name) != (tool.server, tool.name)]
            self._keep(home, [*kept, tool])
        return tool

    def remove(self, name: str, *, server: str = "") -> bool:
        """Takes a tool off the list; what was learned about it stays, in case it returns."""
        with self._lock:
            home = self._home()
            kept = self._kept([home])
            left = [tool for tool in kept if (tool.server, tool.name) != (server, name)]
            if len(left) < len(kept):
                self._keep(home, left)
        return len(left) < len(kept)

    def list(self) -> Sequence[Tool]:
        """The live tools, in the order in which they came."""
        with self._lock:
            return self._described.tools if self._described is not None else self._every()

    def _every(self) -> tuple[Tool, ...]:
        every = {(tool.server, tool.name): tool for tool in (*self._kept(self._seen()), *self._offered)}
        return tuple(every.values())

    def _kept(self, spaces: Sequence[int]) -> Sequence[Tool]:
        texts = [self._store.get_meta(f"{_KEPT}{space}") for space in spaces]
        return [Tool(**row) for text in texts if text for row in json.loads(text)]

    def _keep(self, home: int, tools: Sequence[Tool]) -> None:
        rows = [vars(tool) for tool in tools]
        self._store.set_meta(f"{_KEPT}{home}", json.dumps(rows, ensure_ascii=False))
        if self._described is not None:  # one who only adds need not pay for an index
            self._rebuild()

    def _tools(self) -> "Described":
        with self._lock:
            if self._described is None:
                self._rebuild()
            assert self._described is not None
            return self._described

    def _rebuild(self) -> None:
        from recollect.tools.described import Described

        before, self._described = self._described, Described(self._every())
        if before is not None:
            self._described.take_over(before)
        if self._learned is not None:
            self._learned.stale()

    # -- search ---------------------------------------------------------------------------------------------------

    def search(self, query: str, *, limit: int = OFFER) -> Sequence[ToolHit]:
        """The tools that fit best, by what they say and by what worked for requests like this one."""
        text = _checked(query)
        self.embed_pending(seconds=self._settings.search_deadline_ms / 1000)
        vector = self._vector(text)
        with self._lock:
            tools, learned = self._tools(), self._pairs()
            return _ranked(tools, learned, vector, text, limit)

    def confidence(self, query: str) -> float:
        """0 to 1: how well past usage covers a context. Below 0.3 it is too early to leave tools out."""
        vector = self._vector(_checked(query))
        with self._lock:
            return self._pairs().confidence(vector)

    @property
    def notice(self) -> str:
        """Why meaning is not searched, if it is not."""
        return self._embedding.notice

    def _vector(self, text: str) -> Any:
        """The request's vector: of the whole and of what is left without its arguments, their mean."""
        import numpy as np

        core = without_arguments(text)
        found = [self._embedding.query(part) for part in dict.fromkeys((text, core))]
        if any(vector is None for vector in found):
            return None
        mean = np.sum(found, axis=0)
        return mean / max(float(np.linalg.norm(mean)), 1e-9)

    def embed_pending(self, *, seconds: float = 10**6) -> int:
        """Makes vectors that are owed to tools and to pairs of another model; returns how many are still owed."""
        with self._lock:
            tools = self._tools()
            owed = tools.owed()
            foreign = [] if owed else self._pairs().owed()
        embedder = self._embedding.open() if owed or foreign else None
        if embedder is None:
            return len(owed)
        until = time.monotonic() + seconds
        for done, at in enumerate(owed):
            if time.monotonic() >= until:
                return len(owed) - done
            try:
                tools.give(at, self._tool_vector(embedder, tools.tools[at]))
            except (EmbedderUnavailable, StoreUnavailable):
                return len(owed) - done
            if self._learned is not None:
                self._learned.stale()
        return self._embed_pairs(foreign, embedder.model, until)

    def _tool_vector(self, embedder: Any, tool: Tool) -> Any:
        """From the embedding cache if it was made before: a second start makes no embedding call."""
        import numpy as np

        texts = views(tool)
        key = hashlib.sha256("\x1f".join(("tool", *texts)).encode()).hexdigest()
        place = (embedder.name, embedder.model, embedder.dims)
        now, room = self._clock(), self._settings.cache_entries
        found = self._store.cached(*place, [key], now) if room else {}
        if key in found:
            return np.frombuffer(found[key], dtype="<f4")
        once = dict.fromkeys(texts)
        rows = dict(zip(once, embedder.embed(list(once)), strict=True))
        mean = np.sum([rows[text] for text in texts], axis=0)
        vector = (mean / max(float(np.linalg.norm(mean)), 1e-9)).astype("<f4")
        if room:
            self._store.cache(*place, {key: vector.tobytes()}, now, room)
        return vector

    # -- learning -------------------------------------------------------------------------------------------------

    def learn(
        self, query: str, tool: str, *, server: str = "", signal: float = OFFERED, success: bool = True,
        embed: bool = True,
    ) -> Pair | None:  # fmt: skip
        """Remembers that a tool served a request, durably. A failure lowers what is known and never makes a pair.

        `embed=False` leaves the vector to a later search, for callers in a hurry. None if learning is off or nothing
        was known to lower.
        """
        if not 0 < signal <= SEARCHED:
            raise InvalidInput(f"signal {signal} is not above 0 and at most {SEARCHED}", hint="1.0 is the usual one")
        mode = self._settings.tool_learning
        text = _checked(query)
        if mode == "off":
            return None
        space = self._home()
        kept = self._digest(text) if mode == "hashed" else text
        id = _pair_id(space, kept, server, tool)
        if not success:
            return self._store.fail_pair(space, id, EMA, self._clock())
        vector = self._vector(text) if embed or mode == "hashed" else None
        active = self._store.active_model()
        model, packed = ("", b"") if vector is None or active is None else (active[0], vector.astype("<f8").tobytes())
        now = self._clock()
        pair = Pair(
            id, server, tool, kept, signal, hashed=mode == "hashed", model=model, vector=packed, created_ms=now,
            last_used_ms=now,
        )  # fmt: skip
        return self._store.learn_pair(space, pair, EMA)

    def pairs(self) -> Sequence[Pair]:
        """What was learned, the most trusted first."""
        found = self._store.pairs(self._seen())
        return sorted(found, key=lambda pair: (-pair.confidence, -pair.last_used_ms, pair.id))

    def forget(self, *, tool: str | None = None, server: str | None = None, query: str | None = None) -> int:
        """Removes what was learned about a tool, a server's tools or a request; returns how many pairs."""
        if tool is None and server is None and query is None:
            raise InvalidInput("say what to forget", hint="name a tool, a server or a query")
        wanted = None if query is None else {clean(query).text, self._digest(clean(query).text)}
        ids = [
            pair.id
            for pair in self._store.pairs(self._seen())
            if (tool is None or pair.tool == tool)
            and (server is None or pair.server == server)
            and (wanted is None or pair.query in wanted)
        ]
        gone = self._store.forget_pairs(self._seen(), ids) if ids else 0
        self._start_over()
        return gone

    def prune(
        self, *, least_confidence: float = LEAST_CONFIDENCE, unused_days: float = UNUSED_DAYS, most: int = MOST_PAIRS,
        standing: bool = False,
    ) -> dict[str, int]:  # fmt: skip
        """In one transaction: drops doubtful and unused pairs, and the least trusted where there are too many.

        With `standing` the clean-ups of this store keep to these limits from now on.
        """
        if standing and standing_limits(self._store) != (least_confidence, unused_days, most):
            self._store.set_meta(_LIMITS, json.dumps([least_confidence, unused_days, most]))
        since = self._clock() - int(unused_days * _DAY_MS)
        gone = self._store.prune_pairs(self._seen(), least_confidence, since, most, int(most * KEEP))
        if any(gone.values()):
            self._start_over()
        return gone

    def stats(self) -> dict[str, Any]:
        pairs = self._store.pairs(self._seen())
        return {
            "tools": len(self.list()), "pairs": len(pairs), "queries": len({pair.query for pair in pairs}),
            "uses": sum(pair.uses for pair in pairs), "failures": sum(pair.failures for pair in pairs),
            "average_confidence": sum(pair.confidence for pair in pairs) / len(pairs) if pairs else None,
            "learning": self._settings.tool_learning,
        }  # fmt: skip

    def _digest(self, text: str) -> str:
        """Keyed with a secret of the store, so that nobody can try guesses without it."""
        salt = self._store.get_meta(_SALT)
        if salt is None:
            self._store.set_meta(_SALT, secrets.token_hex(32))
            salt = self._store.get_meta(_SALT) or ""
        return hmac.new(bytes.fromhex(salt), text.encode(), hashlib.sha256).hexdigest()

    def _start_over(self) -> None:
        with self._lock:
            self._stamp = ((), -1, 0)

    def _pairs(self) -> "Learned":
        """The pairs in memory, brought up to date with what this and other processes wrote."""
        from recollect.tools.learned import Learned

        spaces = tuple(self._seen())
        count, newest = self._store.pairs_stamp(spaces) if spaces else (0, 0)
        stamp = (spaces, count, newest)
        if self._learned is not None and stamp == self._stamp:
            return self._learned
        if self._learned is not None and self._stamp[0] == spaces and self._stamp[1] >= 0:
            for pair in self._store.pairs(spaces, after=self._stamp[2]):
                self._learned.add(self._readable(pair))
        if self._learned is None or self._stamp[0] != spaces or len(self._learned.pairs) != count:
            self._learned = Learned(self._readable(pair) for pair in self._store.pairs(spaces))
        self._stamp = stamp
        return self._learned

    def _readable(self, pair: Pair) -> Pair:
        """Without its vector where that is of another model: vectors of different models are never compared."""
        from dataclasses import replace

        active = self._store.active_model()
        return pair if active is not None and pair.model == active[0] else replace(pair, vector=b"", model="")

    def _embed_pairs(self, pairs: Sequence[Pair], model: str, until: float) -> int:
        from dataclasses import replace

        homes = {space.name: space.id for space in self._store.spaces()}
        for done, pair in enumerate(pairs):
            if time.monotonic() >= until:
                return len(pairs) - done
            vector = self._vector(pair.query)
            if vector is None:
                return len(pairs) - done
            packed = vector.astype("<f8").tobytes()
            self._store.put_pair_vectors(homes[pair.space], model, {pair.id: packed})
            with self._lock:
                self._pairs().add(replace(pair, vector=packed, model=model))
        return 0


def _checked(query: str) -> str:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("the query is empty", hint="say what is to be done")
    return clean(query[:MAX_QUERY]).text


def _pair_id(space: int, query: str, server: str, tool: str) -> str:
    return hashlib.sha256("\x1f".join((str(space), query, server, tool)).encode()).hexdigest()


def _ranked(tools: "Described", learned: "Learned", vector: Any, text: str, limit: int) -> list[ToolHit]:
    import numpy as np

    from recollect.rank.fusion import logistic
    from recollect.rank.order import SCALES

    if not tools.tools:
        return []
    terms = query_terms(text)
    arguments = set(terms).difference(query_terms(without_arguments(text)))
    keyword = tools.keyword(terms)
    cosines = tools.cosines(vector, keyword)
    static = cosines + keyword
    lift = learned.lift(static, learned.alike(vector, terms, arguments), tools)
    profiles = learned.profiles(tools) if vector is not None and len(learned) else None
    profile = static if profiles is None else profiles @ vector + keyword
    evidence = EVIDENCE * (static + lift) + PROFILE * profile
    slope, middle = SCALES["hybrid" if vector is not None else "keyword"]
    order = np.argsort(-np.round(evidence, 9), kind="stable")[:limit].tolist()  # among equals the one that came first
    return [
        ToolHit(
            tools.tools[at], logistic(slope * (float(evidence[at]) - middle)),
            {
                "meaning": float(cosines[at]), "keyword": float(keyword[at]), "learned": float(lift[at]),
                "profile": float(profile[at] - static[at]),
            },
        )
        for at in order
    ]  # fmt: skip
