"""An open store and what every room of Memory shares: the settings, the clock, the spaces in sight, one note."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from recollect import spaces as placing
from recollect.config import Settings, load_settings
from recollect.errors import InvalidInput, NotFound, StoreCorrupt, StoreFull
from recollect.filters import make_filter
from recollect.ids import Ref, new_uid, now_ms, parse_ref
from recollect.store import Operation, Use
from recollect.store.opening import may_be_older, open_store
from recollect.types import UNFILED_SPACE, USER_SPACE, Filter, Note, Space

if TYPE_CHECKING:
    from recollect.embed import Embedder
    from recollect.search import Searcher
    from recollect.tools import ToolMemory
    from recollect.write import Limits

Reference = int | str | Note
T = TypeVar("T")
WORDS_FOR_TIMES = frozenset({"since", "until", "as_of"})
BULK = 100  # more notes than this at once are preceded by a copy of the store


class Opened:
    """A store that is open, for one caller."""

    def __init__(
        self,
        store: str | Path | None = None,
        *,
        space: str | None = None,
        settings: Settings | None = None,
        actor: str = "python",
        folder: str | Path | None = None,
        clock: Callable[[], int] = now_ms,
        embedder: "Embedder | None" = None,
        create: bool = True,
    ) -> None:
        chosen: dict[str, Any] = {
            name: str(value) for name, value in (("store", store), ("space", space)) if value is not None
        }
        self.settings = load_settings(**chosen) if settings is None else replace(settings, **chosen)
        self.actor = actor
        self._clock = clock
        self._folder = Path(folder) if folder is not None else Path.cwd()
        if store is None:
            self.settings = placing.with_local_store(self.settings, self._folder)
        if may_be_older(str(self.settings.store)):
            from recollect.backup import before_upgrade

            before_upgrade(self.settings, self._clock())
        self._store = open_store(
            str(self.settings.store), busy_seconds=self.settings.busy_timeout_seconds,
            durability=self.settings.durability, create=create,
        )  # fmt: skip
        if self._store.engine == "sqlite" and self._store.get_meta("pending_scrub"):
            from recollect.upkeep.pending import finish

            finish(self._store)
        self._wish = placing.wish(self.settings.space, self._folder, self.settings.home)
        self._embedder = embedder
        self._searcher: Searcher | None = None
        self._tools: ToolMemory | None = None
        self._on_search: Callable[[], None] | None = None  # what a search asks of the background, if there is one

    @cached_property
    def _limits(self) -> "Limits":
        from recollect.write import limits_of

        return limits_of(self.settings)

    def close(self) -> None:
        if self._searcher is not None:
            self._searcher.flush()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _used(self, notes: Sequence[int], how: str) -> None:
        """Counts accesses: a note that was read in full or told to an agent."""
        from recollect.retention import RATES

        at_ms = self._clock()
        self._store.record_use([Use(note, how, at_ms) for note in notes], RATES[self.settings.forgetting])

    def _note(self, ref: Reference) -> Note:
        wanted = note_ref(ref)
        found = self._store.notes([wanted], self._visible())
        if not found:
            raise NotFound(
                f"no note {wanted.id or wanted.uid}", hint="`recollect list` shows the notes that you can see"
            )
        return self._verified(found[0])

    def _verified(self, note: Note) -> Note:
        from recollect.audit import content_hash

        if content_hash(note.content) != note.content_hash:
            raise StoreCorrupt(
                f"the text of note {note.id} is not what was remembered (its hash differs)",
                hint="run `recollect doctor`; `recollect backup list` shows copies",
            )
        return note

    def _with_room(self, work: Callable[[], T]) -> T:
        """What frees room must be possible on a full disk: then what was kept for that is given up."""
        try:
            return work()
        except StoreFull:
            if not self._store.make_room():
                raise
            return work()

    def _copy_before(self, why: str, notes: int, op: Operation) -> None:
        """A verified copy before many notes change at once."""
        if notes > BULK:
            from recollect.backup import before_bulk

            before_bulk(self.settings, self._store, why, op.at_ms)

    def _operation(self, verb: str) -> Operation:
        at = self._clock()
        return Operation(new_uid(at), verb, self.actor, at)

    def _writable(self) -> Space:
        if self._wish.name == "all":
            raise InvalidInput("all spaces can be read, not written to", hint="name one space")
        return placing.find_or_make(self._store, self._wish, self._operation("space"))

    def _space(self) -> Space:
        found = placing.find(self._store, self._wish)
        if found is None:
            raise NotFound(f"nothing is remembered in {self._wish.name!r} yet", hint="add a note first")
        return found

    def _visible(self) -> tuple[int, ...]:
        """The ids of the spaces that this Memory may read."""
        known = self._store.spaces()
        if self._wish.name == "all":
            return tuple(space.id for space in known if space.merged_into is None)
        found = placing.find(self._store, self._wish)
        kinds = {USER_SPACE} if self._wish.sees_user else {UNFILED_SPACE} if self._wish.outside else set()
        user = [space.id for space in known if space.kind in kinds]
        return tuple(dict.fromkeys(([found.id] if found else []) + user))

    def _space_id(self, name: str) -> int:
        return placing.named(self._store, name).id

    def _times(self, filters: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
        """Filters with their words for times as milliseconds, and which note "the release" was taken to be."""
        from recollect.happened import Happened, in_ms

        return in_ms(filters, self._clock(), Happened(self._store, self._filter()))

    def _filter(self, **filters: Any) -> Filter:
        if not WORDS_FOR_TIMES.isdisjoint(filters):
            filters, _ = self._times(filters)
        return make_filter(self._visible(), self._clock(), tuple(self.settings.kinds), filters)

    def _search(self) -> "Searcher":
        if self._searcher is None:
            from recollect.search import Searcher

            self._searcher = Searcher(self._store, self.settings, self._filter, self._clock, self._embedder)
        return self._searcher


def note_ref(ref: Reference) -> Ref:
    if isinstance(ref, Note):
        return Ref("note", ref.id, None)
    found = parse_ref(ref)
    if found.what != "note":
        raise InvalidInput(
            f"{ref} is a {found.what}, not a note", hint="notes have plain numbers; use passage() for this one"
        )
    return found
