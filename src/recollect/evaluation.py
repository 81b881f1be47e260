"""Measuring search on one's own notes: known-item questions made from them, asked through search, kept as history.

A question is a few telling words of one note, in another order than there; the note is the only right answer. That says
nothing about questions in other words, but it shows at once when a change of model, settings or ranking hurts.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recollect.files import make_private_folder
from recollect.text.tokens import query_terms
from recollect.types import Answer, Note
from recollect.values import value

WORDS = 5
DEPTH = 10


@value
class Evaluated:
    """Shares are in percent, times in milliseconds."""

    questions: int
    recall_1: float
    recall_5: float
    recall_10: float
    mrr: float
    p50_ms: float
    p95_ms: float
    mode: str


def question(note: Note, seed: int) -> str:
    """Some of the longest words of a note, shuffled; the same for the same seed."""
    wanted = set(query_terms(note.content, 3 * WORDS))
    words = [word for word in dict.fromkeys(note.content.split()) if wanted & set(query_terms(word))]
    rng = random.Random(f"{seed}:{note.uid}")
    chosen = sorted(words, key=lambda word: (-len(word), word))[: 2 * WORDS]
    rng.shuffle(chosen)
    return " ".join(chosen[:WORDS])


def evaluate(notes: Sequence[Note], ask: Callable[[str], Answer], seed: int = 1) -> Evaluated:
    ranks: list[int | None] = []
    times: list[float] = []
    mode = "none"
    for note in notes:
        text = question(note, seed)
        if not text:
            continue
        started = time.perf_counter()
        answer = ask(text)
        times.append((time.perf_counter() - started) * 1000)
        mode = answer.mode
        ranks.append(next((place for place, hit in enumerate(answer, 1) if hit.uid == note.uid), None))
    times.sort()
    return Evaluated(
        questions=len(ranks), recall_1=_share(ranks, 1), recall_5=_share(ranks, 5), recall_10=_share(ranks, DEPTH),
        mrr=_percent([1 / rank if rank else 0.0 for rank in ranks]), p50_ms=_at(times, 0.5), p95_ms=_at(times, 0.95),
        mode=mode,
    )  # fmt: skip


def _share(ranks: Sequence[int | None], depth: int) -> float:
    return _percent([float(rank is not None and rank <= depth) for rank in ranks])


def _percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / len(values), 1) if values else 0.0


def _at(ordered: Sequence[float], share: float) -> float:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0


def remember(path: Path, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Adds an entry to the history and returns those before it."""
    before = []
    if path.exists():
        before = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    make_private_folder(path.parent)
    with path.open("a", encoding="utf-8") as history:
        history.write(json.dumps(entry) + "\n")
    return before
