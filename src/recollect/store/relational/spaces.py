"""Spaces and their aliases. The first alias that is known decides; names are unique, so a taken one gets a number."""

from collections.abc import Sequence

from recollect import audit
from recollect.errors import Conflict, NotFound
from recollect.ids import new_uid
from recollect.store import Operation
from recollect.store.relational.base import Chains, Engine
from recollect.types import Space


class SpaceTables(Engine):
    def spaces(self) -> list[Space]:
        aliases: dict[int, list[tuple[str, str]]] = {}
        for kind, value, space in self._rows("select kind, value, space from space_aliases order by kind, value"):
            aliases.setdefault(space, []).append((kind, value))
        rows = self._rows("select id, uid, name, kind, created_ms, merged_into from spaces order by id")
        return [
            Space(id, uid, name, kind, created_ms, merged, tuple(aliases.get(id, ())))
            for id, uid, name, kind, created_ms, merged in rows
        ]

    def ensure_space(self, name: str, kind: str, aliases: Sequence[tuple[str, str]], op: Operation) -> Space:
        every = self.spaces()
        known = _space_of(aliases, every)
        if known is not None and all(_space_of([alias], every) for alias in aliases):
            return known
        with self.transaction([]):
            self._lock_registry()
            known = _space_of(aliases, self.spaces())  # another process may have been quicker
            space = known.id if known is not None else self._make_space(name, kind, op)
            self._many(
                "insert into space_aliases (kind, value, space) values (?, ?, ?) on conflict (kind, value) do nothing",
                [(*alias, space) for alias in aliases],
            )
        return self._space(space)

    def rename_space(self, space: int, name: str, op: Operation) -> Space:
        with self.transaction([space]):
            self._lock_registry()
            if name.casefold() in self._names(but=space):
                raise Conflict(
                    f"there is already a space called {name!r}", hint="`recollect spaces` lists the names in use"
                )
            self._rows("update spaces set name = ? where id = ?", (name, space))
            self._space_event(op, space)
        return self._space(space)

    def close_space(self, space: int, merged_into: int | None, op: Operation) -> None:
        with self.transaction([space] if merged_into is None else [space, merged_into]):
            self._lock_registry()
            if merged_into is not None and _home(self._space(merged_into), self.spaces()).id == space:
                raise Conflict("a space cannot be merged into itself", hint="`recollect spaces` shows what was merged")
            self._rows("update spaces set merged_into = ? where id = ?", (merged_into, space))
            self._space_event(op, space)

    def _space_event(self, op: Operation, space: int) -> None:
        chains = Chains(self, op, [space])
        chains.append(space, self._space(space).uid, 0, audit.GENESIS)
        chains.write()

    def _space(self, space: int) -> Space:
        found = [row for row in self.spaces() if row.id == space]
        if not found:
            raise NotFound(f"no space with number {space}", hint="`recollect spaces` lists them")
        return found[0]

    def _names(self, but: int = 0) -> set[str]:
        """Names in use, folded here and not in SQL: databases disagree on the case of letters beyond ASCII."""
        return {row[0].casefold() for row in self._rows("select name from spaces where id <> ?", (but,))}

    def _make_space(self, name: str, kind: str, op: Operation) -> int:
        taken = self._names()
        names = (name if n == 1 else f"{name}-{n}" for n in range(1, len(taken) + 2))
        free = next(option for option in names if option.casefold() not in taken)
        (space,) = self._next_ids("spaces", 1)
        self._rows(
            "insert into spaces (id, uid, name, kind, created_ms, seq, head) values (?, ?, ?, ?, ?, 0, ?)",
            (space, new_uid(op.at_ms), free, kind, op.at_ms, audit.GENESIS),
        )
        self._space_event(op, space)
        return space


def _space_of(aliases: Sequence[tuple[str, str]], spaces: Sequence[Space]) -> Space | None:
    """The space of the first alias that is known."""
    by_alias = {alias: space for space in spaces for alias in space.aliases}
    found = next((by_alias[alias] for alias in aliases if alias in by_alias), None)
    return None if found is None else _home(found, spaces)


def _home(space: Space, spaces: Sequence[Space]) -> Space:
    """A merged space stands for the one it went into."""
    by_id = {row.id: row for row in spaces}
    while space.merged_into is not None:
        space = by_id[space.merged_into]
    return space
