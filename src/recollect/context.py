"""What an agent should know at the start, within a budget of tokens: gathered by worth, each item with its reason.

Sections come in a fixed order and each has a share of the budget, so that no one of them takes it all; what is left
over is filled in the same order. Text from outside is never included unless it is asked for. A hit counts as relevant
only above a score that tells something from nothing: noise costs more than silence.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from recollect.errors import InvalidInput
from recollect.fence import NOTICE, Fence
from recollect.text.chunk import estimate_tokens
from recollect.types import Answer, Hit, Note, Session
from recollect.values import value

# Measured on five collections: at 0.5 a question put to the wrong project, or to none, brings something in 0 to 13 of
# 100 cases (at 0.4 in 12 to 30), and 54 to 93 of 100 right answers among the first three are kept. A question on the
# right topic that nothing answers cannot be told apart this way.
RELEVANT = 0.5
SHARES = (
    ("scratchpad", 0.3), ("pinned", 0.4), ("relevant", 0.5), ("last session", 0.3), ("decisions", 0.3), ("recent", 0.3),
)  # fmt: skip
ITEM_TOKENS = 120
SUMMARY_TOKENS = 300
LEAST_BUDGET = 50
_ASKED = 12
_FILTERS: dict[str, dict[str, Any]] = {
    "scratchpad": {"tiers": ["scratchpad"]}, "pinned": {"pinned": True}, "decisions": {"kinds": ["decision"]},
}  # fmt: skip
_OF_EACH = 30


class Reading(Protocol):
    """The part of Memory that is read here."""

    def search(self, query: str, *, limit: int | None = None, **options: Any) -> Answer: ...
    def list(self, *, limit: int = 20, before: Note | None = None, **filters: Any) -> Sequence[Note]: ...
    def sessions(self, *, limit: int = 50) -> Sequence[Session]: ...


@value
class ContextItem:
    """One thing that was included: where it comes from, what it cost, and why it is there."""

    section: str
    id: str
    text: str
    why: str
    kind: str = ""
    created_ms: int = 0
    origin: str = "user"
    trusted: bool = True
    tokens: int = 0


@value
class Context:
    """What to tell an agent; `text` is fenced and ready, "" when there is nothing worth telling."""

    text: str
    items: tuple[ContextItem, ...]
    tokens: int
    budget_tokens: int
    left_out: int = 0
    notices: tuple[str, ...] = ()


def compile_context(
    memory: Reading, query: str | None, budget_tokens: int, *, sections: Sequence[str] = (),
    min_score: float = RELEVANT, include_untrusted: bool = False, except_session: str = "", session: str = "",
) -> Context:  # fmt: skip
    """The context for a query, or for a fresh start without one; `sections` narrows it to some of them."""
    if not isinstance(budget_tokens, int) or budget_tokens < LEAST_BUDGET:
        raise InvalidInput(
            f"a budget of {budget_tokens} tokens is too small",
            hint=f"give at least {LEAST_BUDGET}; 2000 is the default",
        )
    known = [name for name, _ in SHARES]
    for name in sections:
        if name not in known:
            raise InvalidInput(f"there is no section {name[:40]!r}", hint=f"one of: {', '.join(known)}")
    gathering = _Gathering(memory, query, min_score, include_untrusted, except_session, session)
    found = {name: gathering.section(name) for name in (sections or known)}
    chosen, left_out = select(found, budget_tokens - _frame_tokens())
    text = render(chosen)
    while chosen and estimate_tokens(text) > budget_tokens:  # the estimate of a whole may exceed that of its parts
        chosen, left_out = chosen[:-1], left_out + 1
        text = render(chosen)
    cost = estimate_tokens(text) if text else 0
    return Context(text, tuple(chosen), cost, budget_tokens, left_out, tuple(gathering.notices))


def select(found: dict[str, list[ContextItem]], budget: int) -> tuple[list[ContextItem], int]:
    """Greedy in the order of the sections: first within each one's share, then with what is left. Pure."""
    shares = dict(SHARES)
    taken: list[ContextItem] = []
    seen: set[str] = set()
    left = budget
    for generous in (False, True):
        for section, items in found.items():
            room = left if generous else min(left, int(budget * shares[section]))
            for item in items:
                if item.id not in seen and item.tokens <= room:
                    taken.append(item)
                    seen.add(item.id)
                    room -= item.tokens
                    left -= item.tokens
    order = list(found)
    taken.sort(key=lambda item: order.index(item.section))
    return taken, len({item.id for items in found.values() for item in items} - seen)


def render(items: Sequence[ContextItem]) -> str:
    """The fenced text; "" without items."""
    if not items:
        return ""
    lines: list[str] = []
    section = ""
    for item in items:
        if item.section != section:
            section = item.section
            lines.append(f"{section}:")
        lines.append(_line(item))
    body = "\n".join(lines)
    trusted = all(item.trusted for item in items)
    return Fence()(f"\n{NOTICE}\n{body}\n", items=len(items), trusted=trusted)


def clip(text: str, tokens: int) -> str:
    """The beginning of `text` on one line, within so many tokens."""
    line = " ".join(text.split())
    if estimate_tokens(line) <= tokens:
        return line
    cut = line[: tokens * 4]
    while cut and estimate_tokens(cut) >= tokens:
        cut = cut[: len(cut) * 9 // 10]
    space = cut.rfind(" ", len(cut) * 2 // 3)
    return (cut[:space] if space > 0 else cut).rstrip(" ,;:") + "…"


def _line(item: ContextItem) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(item.created_ms / 1000)) if 0 < item.created_ms < 10**14 else ""
    about = " ".join(
        part for part in (item.id, item.kind, day, "" if item.trusted else f"untrusted:{item.origin}") if part
    )
    return f"- [{about}] {item.text}"


def _frame_tokens() -> int:
    """What the fence, its notice and the names of the sections cost."""
    return estimate_tokens(Fence("00000000")(f"\n{NOTICE}\n\n", items=99, trusted=True)) + 4 * len(SHARES)


class _Gathering:
    """The candidates of every section, best first."""

    def __init__(
        self, memory: Reading, query: str | None, min_score: float, include_untrusted: bool, except_session: str,
        session: str,
    ) -> None:  # fmt: skip
        self._memory = memory
        self._query = (query or "").strip()
        self._min_score = min_score
        self._untrusted = include_untrusted
        self._except = except_session
        self._session = session
        self.notices: list[str] = []

    def section(self, name: str) -> list[ContextItem]:
        if name == "relevant":
            return [_costed(item) for item in self._relevant()]
        if name == "last session":
            return [_costed(item) for item in self._last_session()]
        filters = _FILTERS.get(name, {})
        if name == "scratchpad" and self._session:
            filters = filters | {"session": self._session}
        why = {"scratchpad": "on the scratchpad", "pinned": "pinned", "decisions": "a decision"}.get(name, "recent")
        notes = self._memory.list(limit=_OF_EACH, trusted_only=not self._untrusted, **filters)
        if name in ("scratchpad", "pinned"):
            notes = sorted(notes, key=lambda note: -note.importance)
        return [_costed(_of_note(note, name, why)) for note in notes]

    def _relevant(self) -> Iterator[ContextItem]:
        if not self._query:
            return
        answer = self._memory.search(
            self._query[:4000], limit=_ASKED, min_score=self._min_score, trusted_only=not self._untrusted
        )
        self.notices += answer.notices
        for hit in answer:
            if not (self._except and hit.session == self._except):
                yield _of_hit(hit)

    def _last_session(self) -> Iterator[ContextItem]:
        for session in self._memory.sessions(limit=10):
            if session.summary and session.uid != self._except:
                text = clip(session.summary.replace("\n", " / "), SUMMARY_TOKENS)
                yield ContextItem(
                    "last session", f"s{session.id}", text, "the last session", session.agent, session.seen_ms, "agent"
                )
                return


def _of_note(note: Note, section: str, why: str) -> ContextItem:
    short = clip(note.content, ITEM_TOKENS)
    text = short if note.title.rstrip("…") in short else clip(f"{note.title}: {note.content}", ITEM_TOKENS)
    return ContextItem(section, str(note.id), text, why, note.kind, note.created_ms, note.origin, note.trusted)


def _of_hit(hit: Hit) -> ContextItem:
    said = hit.snippet if hit.title.rstrip("…") in hit.snippet or hit.kind == "turn" else f"{hit.title}: {hit.snippet}"
    lead = f"{hit.speaker}: " if hit.speaker else ""
    why = f"score {hit.score:.2f}, {hit.why}".rstrip(", ")
    return ContextItem(
        "relevant", hit.id, clip(lead + said, ITEM_TOKENS), why, hit.kind, hit.created_ms, hit.origin, hit.trusted
    )


def _costed(item: ContextItem) -> ContextItem:
    from dataclasses import replace

    return replace(item, tokens=estimate_tokens(_line(item)) + 1)
