"""Ranked rows as hits: compact, with the words around the match and the reason why each is there."""

from collections.abc import Mapping, Sequence

from recollect.ids import Ref
from recollect.rank import Ranked
from recollect.store import Store
from recollect.text.classify import title_of
from recollect.types import TRUSTED_ORIGINS, Chunk, Filter, Hit, Note, Turn

SNIPPET = 200


class Shown:
    """The look of one answer; reads the notes and turns of its rows once."""

    def __init__(
        self, store: Store, where: Filter, chunks: Mapping[int, Chunk], terms: Sequence[str], explain: bool
    ) -> None:
        self._store = store
        self._where = where
        self._chunks = chunks
        self._terms = terms
        self._explain = explain

    def hits(self, rows: Sequence[Ranked]) -> list[Hit]:
        chunks = self._all_chunks(rows)
        notes = self._notes([row.owner[1] for row in rows if row.owner[0] == "note"])
        turns = self._turns([row.owner[1] for row in rows if row.owner[0] == "turn"])
        hits = []
        for row in rows:
            chunk = chunks[row.chunk]
            what, owner_id = row.owner
            if what == "note" and owner_id in notes:
                hits.append(self._note_hit(row, chunk, notes[owner_id]))
            elif what == "turn" and owner_id in turns:
                hits.append(self._turn_hit(row, chunk, turns[owner_id]))
            elif what == "file":
                hits.append(self._file_hit(row, chunk))
        return hits

    def _all_chunks(self, rows: Sequence[Ranked]) -> dict[int, Chunk]:
        """An owner's best chunk may be one that no lane found."""
        missing = [row.chunk for row in rows if row.chunk not in self._chunks]
        return {**self._chunks, **{chunk.id: chunk for chunk in self._store.chunks(missing, self._where)}}

    def _notes(self, ids: Sequence[int]) -> dict[int, Note]:
        found = self._store.notes([Ref("note", note_id, None) for note_id in ids], self._where.spaces)
        return {note.id: note for note in found}

    def _turns(self, ids: Sequence[int]) -> dict[int, Turn]:
        return {turn.id: turn for turn in self._store.turns(self._where.spaces, ids=ids)} if ids else {}

    def _note_hit(self, row: Ranked, chunk: Chunk, note: Note) -> Hit:
        return self._hit(
            row, chunk, id=str(note.id), uid=note.uid, title=note.title, kind=note.kind, created_ms=note.created_ms,
            space=note.space, origin=note.origin, trusted=note.trusted, session=note.session,
        )  # fmt: skip

    def _turn_hit(self, row: Ranked, chunk: Chunk, turn: Turn) -> Hit:
        return self._hit(
            row, chunk, id=f"t{turn.id}", uid=turn.session, title=title_of(f"{turn.speaker}: {turn.text}"), kind="turn",
            created_ms=turn.at_ms, space=turn.space, origin=turn.origin, trusted=turn.origin in TRUSTED_ORIGINS,
            session=turn.session, speaker=turn.speaker, path=chunk.file_path,
        )  # fmt: skip

    def _file_hit(self, row: Ranked, chunk: Chunk) -> Hit:
        return self._hit(
            row, chunk, id=f"c{chunk.id}", uid="", title=title_of(chunk.content), kind="file", origin="file",
            created_ms=chunk.created_ms, space=chunk.space, trusted=False, path=chunk.file_path,
        )  # fmt: skip

    def _hit(self, row: Ranked, chunk: Chunk, **fields: object) -> Hit:
        lines = (chunk.start_line, chunk.end_line) if chunk.start_line and chunk.end_line else None
        explain = {
            "evidence": round(row.evidence, 4), "keyword_rank": row.keyword_rank, "vector_rank": row.vector_rank,
            "keyword": round(row.keyword, 4), "cosine": None if row.cosine is None else round(row.cosine, 4),
            "parts": {name: round(part, 4) for name, part in row.parts.items()},
        }  # fmt: skip
        return Hit(
            score=round(row.score, 6), matched_by=row.matched_by, snippet=snippet(chunk.content, self._terms),
            lines=lines, why=self._why(row), explain=explain if self._explain else {}, **fields,  # type: ignore[arg-type]
        )  # fmt: skip

    def _why(self, row: Ranked) -> str:
        said = [term for term in self._terms if term in row.terms]
        parts = []
        if row.keyword_rank is not None:
            parts.append(f"keyword #{row.keyword_rank}" + (f" ({', '.join(said[:5])})" if said else ""))
        if row.vector_rank is not None:
            parts.append(f"meaning #{row.vector_rank}" + (f" ({row.cosine:.2f})" if row.cosine is not None else ""))
        return " · ".join(parts)


def snippet(text: str, terms: Sequence[str]) -> str:
    """About 200 characters around the first word of the query that the text has."""
    plain = " ".join(text.split())
    if len(plain) <= SNIPPET:
        return plain
    lowered = plain.casefold()
    places = [at for term in terms if (at := lowered.find(term)) >= 0]
    start = max(0, min(places, default=0) - SNIPPET // 4)
    if start:
        start = plain.find(" ", start) + 1 or start
    end = start + SNIPPET
    if end < len(plain):
        end = max(plain.rfind(" ", start + SNIPPET // 2, end), start + SNIPPET // 2)
    return ("…" if start else "") + plain[start:end] + ("…" if end < len(plain) else "")
