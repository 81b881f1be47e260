"""Reading notes, their history and events; every statement is bounded by the visible spaces."""

from collections.abc import Sequence
from typing import Any

from recollect.ids import Ref
from recollect.store.relational.notes import NoteTables
from recollect.store.relational.rows import NOTE_FROM, NOTE_SELECT, Row, batches, load, marks, note_clauses, note_of
from recollect.types import Event, Filter, Note, Revision


class NoteReading(NoteTables):
    def notes(self, refs: Sequence[Ref], spaces: Sequence[int]) -> list[Note]:
        found: dict[int | str, Note] = {}
        for column in ("id", "uid"):
            wanted = [value for ref in refs if (value := getattr(ref, column)) is not None]
            for part in batches(wanted):
                rows = self._rows(
                    f"{NOTE_SELECT}{NOTE_FROM}where n.space in ({marks(spaces)}) and n.{column} in ({marks(part)})",
                    (*spaces, *part),
                )
                found.update((getattr(note, column), note) for note in self._with_links(rows, spaces))
        ordered = (found.get(ref.id if ref.id is not None else ref.uid or "") for ref in refs)
        return [note for note in ordered if note is not None]

    def _with_links(self, rows: Sequence[Row], spaces: Sequence[int]) -> list[Note]:
        links = self._links([row[1] for row in rows], spaces)
        return [note_of(row, links.get(row[1], ())) for row in rows]

    def list_notes(self, where: Filter, limit: int, before: tuple[int, int] | None = None) -> list[Note]:
        clauses = note_clauses(where, self.tag_sql)
        if before is not None:
            clauses.add("(n.created_ms, n.id) < (?, ?)", *before)
        rows = self._rows(
            f"{NOTE_SELECT}{NOTE_FROM}where {clauses.sql} order by n.created_ms desc, n.id desc limit ?",
            (*clauses.values, limit),
        )
        return self._with_links(rows, where.spaces)

    def neighbours(
        self, at: tuple[int, int], where: Filter, before: int, after: int
    ) -> tuple[list[Note], list[Note]]:
        sides = []
        for sign, order, limit in (("<", "desc", before), (">", "asc", after)):
            clauses = note_clauses(where, self.tag_sql)
            clauses.add(f"(n.created_ms, n.id) {sign} (?, ?)", *at)
            rows = self._rows(
                f"{NOTE_SELECT}{NOTE_FROM}where {clauses.sql} order by n.created_ms {order}, n.id {order} limit ?",
                (*clauses.values, limit),
            )
            sides.append(self._with_links(rows, where.spaces))
        return sides[0], sides[1]

    def history(self, uid: str, spaces: Sequence[int]) -> list[Revision]:
        rows = self._rows(
            "select n.uid, r.rev, r.operation, r.at_ms, r.image, r.salt, m.name from revisions r "
            "join notes n on n.id = r.note_id and n.space = r.space left join spaces m on m.id = r.moved_from "
            f"where n.uid = ? and n.space in ({marks(spaces)}) order by r.rev",
            (uid, *spaces),
        )
        return [Revision(row[0], row[1], row[2], row[3], load(row[4]), bytes(row[5]), row[6]) for row in rows]

    def images_at(self, spaces: Sequence[int], at_ms: int) -> dict[int, tuple[int, dict[str, Any]]]:
        rows = self._rows(
            f"select r.note_id, r.rev, r.image from revisions r where r.space in ({marks(spaces)}) and r.at_ms > ? "
            "and r.rev = (select min(q.rev) from revisions q where q.space = r.space and q.note_id = r.note_id "
            "and q.at_ms > ?)",
            (*spaces, at_ms, at_ms),
        )
        return {note_id: (rev, load(image)) for note_id, rev, image in rows}

    def salt(self, uid: str, spaces: Sequence[int]) -> bytes | None:
        rows = self._rows(f"select salt from notes where uid = ? and space in ({marks(spaces)})", (uid, *spaces))
        return bytes(rows[0][0]) if rows else None

    def events(self, spaces: Sequence[int], since: int = 0, limit: int = 1000) -> list[Event]:
        return self._events(f"e.space in ({marks(spaces)}) and e.seq > ?", (*spaces, since), limit)

    def latest_events(self, spaces: Sequence[int], limit: int) -> list[Event]:
        # Within a space the sequence is the order of what happened; clocks may jump, and only spaces are put by them.
        order = "e.seq desc" if len(spaces) == 1 else "e.at_ms desc, e.space, e.seq desc"
        rows = self._rows(
            "select s.name, e.seq, e.operation, e.verb, e.uid, e.rev, e.actor, e.at_ms, e.digest, e.hash "
            f"from events e join spaces s on s.id = e.space where e.space in ({marks(spaces)}) "
            f"order by {order} limit ?",
            (*spaces, limit),
        )
        return [Event(*row) for row in rows]

    def operation(self, operation: str, spaces: Sequence[int]) -> list[Event]:
        return self._events(f"e.operation = ? and e.space in ({marks(spaces)})", (operation, *spaces), 10_000_000)

    def _events(self, where: str, values: Sequence[object], limit: int) -> list[Event]:
        rows = self._rows(
            "select s.name, e.seq, e.operation, e.verb, e.uid, e.rev, e.actor, e.at_ms, e.digest, e.hash "
            f"from events e join spaces s on s.id = e.space where {where} order by e.space, e.seq limit ?",
            (*values, limit),
        )
        return [Event(*row) for row in rows]
