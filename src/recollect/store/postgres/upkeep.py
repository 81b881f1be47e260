"""Use counters that may be dropped, checks, repair, and where backups of a server come from."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from recollect.errors import InvalidInput, StoreUnavailable
from recollect.store import Use
from recollect.store.postgres.terms import lexemes
from recollect.store.relational.numbers import Numbers
from recollect.types import Finding

_USE_LOCK_MS = 50
# The stored lexemes against the terms they were built from; an index on them is the server's own business.
_DRIFTED = (
    "from chunks where strip(lexemes) <> "
    "array_to_tsvector(array_remove(string_to_array(terms || ' ' || context_terms, ' '), ''))"
)


class PostgresUpkeep(Numbers):
    def _open(self) -> bool:
        raise NotImplementedError

    def _bracket(self, isolation: str, lock_ms: int | None = None) -> contextlib.AbstractContextManager[None]:
        raise NotImplementedError

    def record_use(self, uses: Sequence[Use], rate: float = 0.0) -> bool:
        """Written when no row of it is locked for long; dropped otherwise, so that a search never waits as a writer."""
        try:
            with self._briefly():
                self._write_use(uses, rate)
        except StoreUnavailable:
            return False
        return True

    @contextlib.contextmanager
    def _briefly(self) -> Iterator[None]:
        with self._savepoint() if self._open() else self._bracket("read committed", _USE_LOCK_MS):
            yield

    def _size_on_disk(self) -> int:
        size: int = self._rows("select pg_database_size(current_database())")[0][0]
        return size

    # -- checks ---------------------------------------------------------------------------------------------------

    def check(self) -> list[Finding]:
        return [self._reachable(), self._index_drift(), self._orphans()]

    def _reachable(self) -> Finding:
        version, recovering = self._rows("select version(), pg_is_in_recovery()")[0]
        return Finding(
            "server", not recovering, " ".join(version.split()[:2]) + (" (a read-only replica)" if recovering else ""),
            hint="use the primary's address" if recovering else "",
        )  # fmt: skip

    def _index_drift(self) -> Finding:
        count = self._rows(f"select count(*) {_DRIFTED}")[0][0]
        if count:
            detail = f"{count} chunks are indexed under other terms than theirs"
            return Finding("keyword index", False, detail, "`recollect doctor --fix` rebuilds it", True)
        return Finding("keyword index", True, "it agrees with the chunks")

    def repair(self) -> list[str]:
        with self.transaction([]):
            rows = self._rows(f"select space, id, terms, context_terms {_DRIFTED}")
            self._many(
                "update chunks set lexemes = ?::tsvector where space = ? and id = ?",
                [(lexemes(terms, context), space, id) for space, id, terms, context in rows],
            )
        return [f"rebuilt the keyword index of {len(rows)} chunks"] if rows else []

    def backup(self, target: Path) -> None:
        raise InvalidInput(
            "a store on PostgreSQL is not a file that could be copied",
            hint=f"use the server's own tool: pg_dump --format=custom --file={target} <the store's URL>",
        )
