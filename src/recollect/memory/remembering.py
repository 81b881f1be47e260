"""Remembering: from a text, or from what an agent said and did, to notes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recollect.errors import InvalidInput
from recollect.ids import Ref
from recollect.memory.reading import Reading
from recollect.store import Applied, Change, Operation
from recollect.types import Added, Draft, Link, Origin, Space
from recollect.values import making_many, widened


class Remembering(Reading):
    """The verbs that add notes."""

    def add(
        self,
        content: str,
        *,
        kind: str | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        importance: int = 5,
        confidence: float = 1.0,
        context: str = "",
        source: str = "",
        origin: Origin = "user",
        session: str | None = None,
        pinned: bool = False,
        expires_ms: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        links: Sequence[Link] = (),
        allow_secrets: bool = False,
        **more: Any,
    ) -> Added:
        """Remembers a text; without a kind the text decides. `more` takes the other fields of `Draft`.

        The text of a live note gives that note back, with `duplicate` set.
        """
        draft = Draft(
            content, kind=kind, title=title, tags=tags, importance=importance, confidence=confidence, context=context,
            source=source, origin=origin, session=session, pinned=pinned, expires_ms=expires_ms,
            metadata=metadata or {}, links=links, **more,
        )  # fmt: skip
        return self.add_many([draft], allow_secrets=allow_secrets)[0]

    def add_many(self, drafts: Iterable[Draft | str], *, allow_secrets: bool = False) -> Sequence[Added]:
        """Remembers many texts in one transaction: all of them or none."""
        given = [draft if isinstance(draft, Draft) else Draft(draft) for draft in drafts]
        if any(draft.tier == "scratchpad" for draft in given):
            raise InvalidInput("what is added is kept, and the scratchpad is not", hint="use scratchpad.put for that")
        with making_many(len(given)):
            added = self._add(given, allow_secrets)
        return self._logged(added) if self.settings.daily_log else added

    def _add(self, drafts: Sequence[Draft], allow_secrets: bool) -> Sequence[Added]:
        from recollect.write import change, prepare

        op, space = self._operation("add"), self._writable()
        changes, redacted = [], []
        for draft in drafts:
            item = prepare(draft, space.name, self._limits, op.at_ms, allow_secrets)
            changes.append(change(item.note, 0, self._limits, rechunk=True, vector=draft.vector, words=item.words))
            redacted.append(item.redacted)
        return self._added(op, space, changes, redacted, self._store.apply(op, space.id, changes))

    def capture(self, output: str, *, agent: str = "", session: str | None = None) -> Sequence[Added]:
        """Remembers what is worth keeping of an agent's output: a note for each part that is long enough."""
        from recollect.capture import from_output

        drafts = from_output(output, agent or self.actor, session)
        return self.add_many(drafts) if drafts else ()

    def capture_call(
        self, tool: str, arguments: Mapping[str, Any], result: Any = None, *, agent: str = "",
        session: str | None = None,
    ) -> Added | None:  # fmt: skip
        """Remembers a tool call that changed something; None for one that only looked, failed or was just told."""
        from recollect.capture import CALL_TAG, LAST_TITLES, from_call

        titles = {note.title for note in self.list(limit=LAST_TITLES, tags=[CALL_TAG])}
        draft = from_call(tool, arguments, result, agent or self.actor, titles, session)
        return self.add_many([draft])[0] if draft is not None else None

    def _added(
        self, op: Operation, space: Space, changes: Sequence[Change], redacted: Sequence[Sequence[str]],
        applied: Sequence[Applied],
    ) -> Sequence[Added]:  # fmt: skip
        """The notes as stored; an insert is already in our hands, only duplicates are read."""
        twins = [Ref("note", done.id, None) for done in applied if done.duplicate]
        found = {note.id: note for note in self._store.notes(twins, [space.id])} if twins else {}
        return [
            widened(
                (found.get(done.id) if done.duplicate else None) or change.note, Added, id=done.id,
                created=not done.duplicate, duplicate=done.duplicate, operation=op.id,
                notice=f"redacted: {', '.join(rules)}" if rules else "",
            )
            for change, rules, done in zip(changes, redacted, applied, strict=True)
        ]  # fmt: skip

    def _logged(self, added: Sequence[Added]) -> Sequence[Added]:
        from recollect.dailylog import append

        trouble = append(self.settings.home, [note for note in added if note.created])
        return [replace(note, notice=trouble) if trouble and note.created else note for note in added]
