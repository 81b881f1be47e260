"""Keeping: numbers, transfer, what is derived, copies, bounds and checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect import spaces as placing
from recollect.memory.opened import BULK
from recollect.memory.reading import Reading
from recollect.types import TIERS, Answer, Event, Finding, Space

if TYPE_CHECKING:
    from recollect.transfer import Imported
    from recollect.upkeep.cleanup import Cleaned
    from recollect.upkeep.verify import Verified


class Keeping(Reading):
    """The verbs that look after a store."""

    def events(self, since: int = 0, *, limit: int = 1000) -> Sequence[Event]:
        """Changes of this space after a sequence number, oldest first; text-free."""
        spaces = self._visible() if self._wish.name == "all" else [self._space().id]
        return self._store.events(spaces, since, limit)

    def stats(self) -> dict[str, Any]:
        spaces = self._visible()
        numbers = self._store.stats(spaces)
        return numbers | self._search().stats(spaces) | {"store": self._store.location, "engine": self._store.engine}

    def export(self, **filters: Any) -> Iterator[dict[str, Any]]:
        """Every note as plain values, oldest first; `import_notes` takes them back without loss."""
        from recollect import transfer

        return transfer.export(self._store, self._filter(**{"states": transfer.EXPORTED, "tiers": TIERS, **filters}))

    def import_notes(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        progress: Callable[[int], None] | None = None,
        dry_run: bool = False,
    ) -> "Imported":
        """Takes exported notes; a note is known by its uid, so that importing twice changes nothing."""
        from recollect import transfer

        op = self._operation("import")
        found = placing.find(self._store, self._wish) or Space(0, "", self._wish.name, self._wish.kind, op.at_ms)
        space = found if dry_run else self._writable()
        given, count = transfer.counted(rows, BULK + 1)
        if not dry_run:
            self._copy_before("import", count, op)
        return transfer.import_rows(self._store, space, given, op, self._limits, progress, dry_run)

    def embed_pending(
        self, *, limit: int = 10**9, seconds: float = 10**6, progress: Callable[[int], None] | None = None
    ) -> int:
        """Makes the vectors that are still owed; searches do a little of this by themselves. Returns how many."""
        return self._search().embedding.drain(None, limit, int(seconds * 1000), progress)

    def reindex(
        self, model: str | None = None, *, force: bool = False, progress: Callable[[int], None] | None = None
    ) -> Mapping[str, Any]:
        """Brings what is derived up to date: cuts and tokenises anew what an older version did (all with `force`),
        and gives the store another model if an embedder is named; the old vectors serve until the new are complete."""
        from recollect.embedding import reindex
        from recollect.rechunking import rechunk

        done = rechunk(self._store, self._limits, self._operation("reindex"), force, progress)
        name = model or self.settings.embedder
        if name == "none":
            return {"model": None, "embedded": 0, "rechunked": done}
        identity, count = reindex(self._store, self.settings, name, self._clock, progress)
        self.settings, self._searcher, self._tools = replace(self.settings, embedder=name), None, None
        return {"model": identity, "embedded": count, "rechunked": done}

    def evaluate(self, *, notes: int = 200, mode: str = "hybrid", fusion: str = "default") -> Mapping[str, Any]:
        """Measures search on known items: asks for notes with words of their own. Results are kept as history."""
        from datetime import UTC, datetime

        from recollect import __version__
        from recollect.evaluation import DEPTH, evaluate, remember

        def ask(text: str) -> Answer:
            return self.search(text, limit=DEPTH, mode=mode, fusion=fusion)

        done = vars(evaluate(self.list(limit=notes), ask))
        at = datetime.fromtimestamp(self._clock() / 1000, UTC).isoformat(timespec="seconds")
        entry = {"date": at, "model": self.stats()["model"], "fusion": fusion, **done, "version": __version__}
        return {"result": entry, "history": remember(self.settings.home / "eval.jsonl", entry)}

    def backup(self, target: str | Path) -> Path:
        """An online, verified copy of the store."""
        path = Path(target)
        self._store.backup(path)
        return path

    def cleanup(
        self, *, max_notes: int | None = None, max_bytes: int | None = None, force: bool = False, dry_run: bool = False
    ) -> "Cleaned":
        """Brings the store back within its bounds and removes what is past its time; `undo` takes evictions back.

        Without `force` notes are evicted only if the store is over a limit. A dry run only says what would go.
        """
        from recollect.upkeep import cleanup

        wanted = cleanup.rules(self.settings, max_notes, max_bytes, force)
        op = self._operation("cleanup")
        return cleanup.run(self._store, self.settings, wanted, op, self._limits, dry_run)

    def upkeep(self) -> "Cleaned | None":
        """What long-lived processes call at start, at shutdown and now and then: cleans up if a run is due.

        On a server that many share nothing is evicted unasked.
        """
        from recollect.upkeep import cleanup

        return cleanup.unasked(self._store, self.settings, self._operation("cleanup"), self._limits)

    def verify(self) -> "Verified":
        """Proves the chain of events and every note and version against it; with `audit_key_file` also by a seal,
        which is made anew when all is well."""
        from recollect.upkeep import verify

        return verify.sealed(self._store, self.settings)

    def check(self, *, surroundings: bool = False) -> Sequence[Finding]:
        """What doctor sees: integrity, index drift, hashes, the chain of events; with `surroundings` also the disk,
        the clock, the model's files and the copies."""
        from recollect.upkeep.checks import check

        findings = check(self._store)
        if surroundings:
            from recollect.upkeep.surroundings import look

            findings += look(self._store, self.settings, self._clock())
        return findings

    def repair(self) -> Sequence[str]:
        """Rebuilds derived data that is damaged; says what it did."""
        from recollect.upkeep.checks import repair

        return repair(self._store, self._limits, self._operation("repair"))
