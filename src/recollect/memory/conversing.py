"""Conversations: sessions, and the turns that were said in them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect import spaces as placing
from recollect.memory.reading import Reading
from recollect.types import Session, Space, Turn

if TYPE_CHECKING:
    from recollect.scratchpad import Scratchpad


class Conversing(Reading):
    """The verbs about sessions and turns."""

    def start_session(self, key: str | None = None, *, agent: str = "", title: str = "", source: str = "") -> Session:
        """The session of (agent, key) in this space; made if it is new, opened again if it had ended."""
        from recollect import conversation

        op = self._operation("session")
        begun = conversation.start(self._store, self._writable().id, op, key, agent or self.actor, title, source)
        if begun.started_ms == op.at_ms and not begun.turns:  # a new one takes over what the last one left at hand
            self.scratchpad.of(begun).restore()
        return begun

    def was_forgotten(self, key: str, *, agent: str = "") -> bool:
        """Whether the session of (agent, key) was forgotten in this space, and is therefore not to be brought back."""
        space = placing.find(self._store, self._wish)
        return space is not None and self._store.forgotten_session(space.id, agent or self.actor, key)

    def end_session(self, session: Session | str, *, summary: str = "") -> Session:
        op = self._operation("session")
        found = self.session(session)
        from recollect.text.redact import clean

        ended = replace(found, ended_ms=op.at_ms, summary=clean(summary).text or found.summary)
        return self._store.put_session(op, self._space_id(found.space), ended)

    def about(self, session: Session | str) -> str:
        """A session in one line: of its summary, its title, or the first words that were said."""
        from recollect.summary import line_of

        found = self.session(session)
        said = () if found.summary or found.title else self._store.turns(
            [self._space_id(found.space)], session=found.uid, around=(1, 3)
        )  # fmt: skip
        return line_of(found, said)

    def add_turns(self, session: Session | str, turns: Iterable[Turn], *, allow_secrets: bool = False) -> Sequence[int]:
        """Remembers what was said; turns whose record the session already has are left alone."""
        from recollect import conversation

        op = self._operation("turns")
        found = self.session(session)
        stored = conversation.add(
            self._store, self._space_id(found.space), found, list(turns), op, self._limits, allow_secrets
        )
        return stored.ids

    @property
    def scratchpad(self) -> "Scratchpad":
        """What an agent has at hand for a while; `scratchpad.of(session)` is that of one session."""
        from recollect.scratchpad import Scratchpad

        def space(make: bool) -> Space | None:
            return self._writable() if make else placing.find(self._store, self._wish)

        return Scratchpad(self._store, self.settings, self._limits, self._operation, space, self.actor)
