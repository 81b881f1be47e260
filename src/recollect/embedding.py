"""Which model serves this store, and the work that is still owed to it.

The text is durable and searchable by keyword before anything is embedded. Whoever searches, or lives long, embeds what
is pending; two who do the same work at once are harmless. A process that is configured for another model than the
store's never embeds, and says what to type.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recollect.config import Settings
from recollect.embed import EmbedOptions, open_embedder
from recollect.errors import EmbedderUnavailable, NotFound, StoreUnavailable
from recollect.store import Store

if TYPE_CHECKING:
    from recollect.embed import Embedder

BATCH = 8  # texts for the model at a time; small, because the deadline is looked at in between
GROUP = 64  # chunks for the store at a time: a commit waits for the disk
REMEMBERED_QUERIES = 64


class Embedding:
    """The store's model, opened on first need."""

    def __init__(
        self, store: Store, settings: Settings, clock: Callable[[], int], embedder: "Embedder | None" = None
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._embedder = embedder
        self._queries: dict[str, Any] = {}
        self._complete: dict[tuple[int, ...] | None, tuple[int, int]] = {}  # marks at which nothing was owed
        self.notice = ""  # why meaning is not searched, in words for the user

    def open(self) -> "Embedder | None":
        """The embedder if it is the store's own; else None, and `notice` says why."""
        self.notice = ""
        try:
            embedder = self._configured()
        except EmbedderUnavailable as trouble:
            self.notice = f"keyword search only: {trouble.message} ({trouble.hint})"
            return None
        if embedder is None:
            self.notice = "keyword search only: no embedder is configured"
            return None
        active = self._store.active_model()
        if active is None:
            try:
                self._store.set_active_model(embedder.model, embedder.dims)
            except StoreUnavailable as trouble:
                self.notice = f"keyword search only: {trouble.message}"
                return None
        elif active[0] != embedder.model:
            self.notice = (
                f"keyword search only: this store's vectors are of {active[0]}, you are set up for {embedder.model}; "
                f"`recollect reindex --model {embedder.name}` changes the store"
            )
            return None
        return embedder

    def _configured(self) -> "Embedder | None":
        if self._embedder is None:
            self._embedder = open_by_name(self._settings.embedder, self._settings)
        return self._embedder

    def query(self, text: str) -> Any:
        """The query's vector, or None with `notice` set."""
        embedder = self.open()
        if embedder is None:
            return None
        if text not in self._queries:
            try:
                vector = embedder.embed([text])[0]
            except EmbedderUnavailable as trouble:
                self.notice = f"keyword search only: {trouble.message} ({trouble.hint})"
                return None
            if len(self._queries) >= REMEMBERED_QUERIES:
                self._queries.pop(next(iter(self._queries)))
            self._queries[text] = vector
        return self._queries[text]

    @property
    def latin_only(self) -> bool:
        """Whether the model reads Latin letters only; then it is not believed about other scripts."""
        return bool(getattr(self._embedder, "latin_only", False))

    def drain(
        self, spaces: Sequence[int] | None, limit: int, deadline_ms: int, progress: Callable[[int], None] | None = None
    ) -> int:
        """Embeds pending chunks, newest first, until none, `limit` or the deadline; returns how many."""
        embedder = self.open()
        if embedder is None:
            return 0
        mark = self._store.chunk_mark(spaces)
        if self._complete.get(_key(spaces)) == mark:
            return 0
        until = time.monotonic() + deadline_ms / 1000
        try:
            done = embed_pending(
                self._store, embedder, spaces, limit, until, self._clock, self._settings.cache_entries, progress
            )
            if not done:  # it looked and found nothing: looking again is for when something came
                self._complete[_key(spaces)] = mark
            return done
        except (EmbedderUnavailable, StoreUnavailable) as trouble:
            self.notice = f"what is new is found by keyword only: {trouble.message}"
            return 0

    def pending(self, spaces: Sequence[int] | None) -> int:
        if self._complete.get(_key(spaces)) == self._store.chunk_mark(spaces):
            return 0
        active = self._store.active_model()
        return self._store.count_pending(active[0], spaces) if active is not None else 0


def _key(spaces: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if spaces is None else tuple(spaces)


def open_by_name(name: str, settings: Settings) -> "Embedder | None":
    key = os.environ.get(settings.embed_api_key_env, "") if settings.embed_api_key_env else ""
    options = EmbedOptions(
        model=settings.embed_model, base_url=settings.embed_base_url, api_key=key,
        timeout_seconds=settings.embed_timeout_seconds, threads=settings.embed_threads,
    )  # fmt: skip
    return open_embedder(name, options=options)


def embed_pending(
    store: Store, embedder: "Embedder", spaces: Sequence[int] | None, limit: int, until: float,
    clock: Callable[[], int], cache_entries: int, progress: Callable[[int], None] | None = None,
) -> int:  # fmt: skip
    done = 0
    while done < limit and (done == 0 or time.monotonic() < until):
        work = store.pending(embedder.model, spaces, min(GROUP, limit - done))
        if not work:
            break
        key = (embedder.name, embedder.model, embedder.dims)
        known = store.cached(*key, [hash_ for _, hash_, _ in work], clock()) if cache_entries else {}
        fresh = _embedded(embedder, {hash_: text for _, hash_, text in work if hash_ not in known}, until)
        vectors = known | fresh
        with store.transaction([]):
            if cache_entries and fresh:
                store.cache(*key, fresh, clock(), cache_entries)
            ready = [(chunk_id, vectors[hash_]) for chunk_id, hash_, _ in work if hash_ in vectors]
            store.put_vectors(embedder.model, ready)
        done += len(ready)
        if progress is not None:
            progress(done)
    return done


def _embedded(embedder: "Embedder", texts: Mapping[str, str], until: float) -> dict[str, bytes]:
    """Vectors by hash: at least one batch, and as many more as the deadline lets."""
    found: dict[str, bytes] = {}
    hashes = list(texts)
    for start in range(0, len(hashes), BATCH):
        if found and time.monotonic() >= until:
            break
        part = hashes[start : start + BATCH]
        rows = embedder.embed([texts[hash_] for hash_ in part])
        found.update((hash_, row.astype("<f4").tobytes()) for hash_, row in zip(part, rows, strict=True))
    return found


def reindex(
    store: Store, settings: Settings, name: str, clock: Callable[[], int], progress: Callable[[int], None] | None = None
) -> tuple[str, int]:
    """Gives the store another model: gathers its vectors beside the old ones, which serve until the flip."""
    embedder = open_by_name(name, settings)
    if embedder is None:
        raise NotFound("`none` is not a model", hint='to search by keyword only set embedder = "none"')
    old = store.active_model()
    store.add_model(embedder.model, embedder.dims)
    count = embed_pending(store, embedder, None, 10**12, float("inf"), clock, settings.cache_entries, progress)
    with store.transaction([]):
        store.set_active_model(embedder.model, embedder.dims)
        if old is not None and old[0] != embedder.model:
            store.drop_model(old[0])
    return embedder.model, count
