"""Knowing when there is nothing: what could tell a question that has an answer from one that has none.

    python bench/abstention.py --data FOLDER [--out file.json] [--only NAME …] [--most-groups 60]

Every conversation of a dataset is a space of its own. Three sorts of questions are asked: those whose answer is there
(`answered`), those on the topic that nothing there answers (`unanswerable`, queries without a relevant document), and
questions of another conversation (`elsewhere`). For each signal that a search gives, the figures say how often an
answered question has the higher value (AUROC), and what a bound on it would do: how many right answers among the first
three are kept, and in how many of the other cases something is told all the same. `together` has one bound for all
datasets: the one that keeps as many right answers in all as the score does today. No bound is chosen here.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import recollect
from datasets import Dataset, datasets, load
from quality import Room, auroc
from recollect.context import RELEVANT
from recollect.types import Hit

DEPTH = 12
FIRST = 3
KEPT = (0.95, 0.9, 0.8, 0.7)  # shares of the right answers that a bound shall keep
SEED = 7
SIGNALS = ("score", "margin", "score+margin", "cosine", "keyword", "agreement", "score+keyword/2", "score*keyword")
SORTS = ("answered", "unanswerable", "elsewhere")

Asked = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--most-groups", type=int, default=60)
    options = parser.parse_args()
    found: dict[str, Any] = {}
    rows: dict[str, list[Asked]] = {}
    for place in datasets(options.data, set(options.only)):
        data = load(place)
        if len(data.groups) > 1:
            rows[data.name] = measure(data, options.most_groups)
            found[data.name] = figures(rows[data.name])
            print_table(data.name, found[data.name])
            if options.out:
                write(options.out, found, together(rows))
    if not found:
        sys.exit(f"no dataset of several conversations in {options.data}")
    print(json.dumps(together(rows), indent=1))


def measure(data: Dataset, most_groups: int) -> list[Asked]:
    chosen = _groups(data, most_groups)
    folder = Path(tempfile.mkdtemp(prefix="recollect-abstention-"))
    os.environ["RECOLLECT_HOME"] = str(folder)
    try:
        rooms = {group: Room(folder, number, group, data.groups[group], data) for number, group in enumerate(chosen)}
        return ask(data, rooms)
    finally:
        shutil.rmtree(folder)


def _groups(data: Dataset, most: int) -> list[str]:
    """Every conversation with an unanswerable question, and others up to a bound."""
    wanted = dict.fromkeys(query.group for query in data.queries if not query.relevant and query.group in data.groups)
    for group in data.groups:
        if len(wanted) < most:
            wanted.setdefault(group)
    return list(wanted)


def ask(data: Dataset, rooms: dict[str, Room]) -> list[Asked]:
    chance = random.Random(SEED)
    rows = []
    for query in data.queries:
        room = rooms.get(query.group)
        if room is None:
            continue
        sort = "answered" if query.relevant else "unanswerable"
        rows.append(asked(room, query.text, query.relevant) | {"sort": sort})
        others = [group for group in rooms if group != query.group]
        if query.relevant and others:
            rows.append(asked(rooms[chance.choice(others)], query.text, {}) | {"sort": "elsewhere"})
    return rows


def asked(room: Room, text: str, relevant: dict[str, float]) -> Asked:
    hits = list(room.memory.search(text, limit=DEPTH, explain=True))
    right = [hit.score for hit in hits[:FIRST] if any(found in relevant for found in room.documents[hit.id])]
    return {"signals": signals(hits), "right": bool(right)}


def signals(hits: list[Hit]) -> dict[str, float]:
    """What one search says about itself; each is higher where there should be an answer."""
    if not hits:
        return dict.fromkeys(SIGNALS, 0.0)
    first, scores = hits[0], [hit.score for hit in hits]
    rest = sum(scores[1:]) / max(1, len(scores) - 1)
    cosine = max(hit.explain.get("cosine") or 0.0 for hit in hits)
    keyword = max(hit.explain.get("keyword") or 0.0 for hit in hits)
    ranks = [first.explain.get(name) for name in ("keyword_rank", "vector_rank")]
    margin, agreement = first.score - rest, sum(1 / rank for rank in ranks if rank) / 2
    values = (first.score, margin, first.score + margin, cosine, keyword, agreement)
    joined = (first.score + keyword / 2, first.score * keyword)
    return dict(zip(SIGNALS, (*values, *joined), strict=True))


# -- figures -----------------------------------------------------------------------------------------------------------


def figures(rows: list[Asked]) -> dict[str, Any]:
    """The counts, what the bound of today does, and each signal."""
    counts = {sort: sum(row["sort"] == sort for row in rows) for sort in SORTS}
    right = [row["signals"]["score"] for row in rows if row["right"]]
    now = {"bound": RELEVANT, "right_answers_kept": _share(right, RELEVANT)} | {
        sort: _share([row["signals"]["score"] for row in rows if row["sort"] == sort], RELEVANT) for sort in SORTS
    }
    return {"questions": counts, "now": now, "signals": {name: _signal(rows, name) for name in SIGNALS}}


def _share(values: list[float], bound: float) -> float | None:
    """Of 100, how many reach the bound."""
    return round(100 * sum(value >= bound for value in values) / len(values), 1) if values else None


def _signal(rows: list[Asked], name: str) -> dict[str, Any]:
    by_sort = {sort: [row["signals"][name] for row in rows if row["sort"] == sort] for sort in SORTS}
    right = sorted(row["signals"][name] for row in rows if row["right"])
    answer: dict[str, Any] = {
        f"auroc_{sort}": round(100 * auroc(by_sort["answered"], by_sort[sort]), 1)
        for sort in ("unanswerable", "elsewhere")
        if by_sort[sort]
    }
    for share in KEPT:
        bound = right[int(len(right) * (1 - share))] if right else 0.0
        told = {sort: _share(values, bound) for sort, values in by_sort.items() if values}
        answer[f"keeping_{share:.0%}"] = {"bound": round(bound, 4)} | told
    return answer


def together(rows: dict[str, list[Asked]]) -> dict[str, dict[str, Any]]:
    """For each signal one bound for all, as many right answers kept as today, and what it does: counts, by dataset."""
    every = [row for found in rows.values() for row in found]
    kept = sum(row["right"] and row["signals"]["score"] >= RELEVANT for row in every)
    answer: dict[str, dict[str, Any]] = {}
    for name in SIGNALS if kept else ():
        bound = sorted((row["signals"][name] for row in every if row["right"]), reverse=True)[kept - 1]
        answer[name] = {"bound": round(bound, 4), "all": _told(every, name, bound)} | {
            dataset: _told(found, name, bound) for dataset, found in rows.items()
        }
    return answer


def _told(rows: list[Asked], name: str, bound: float) -> dict[str, str]:
    sorts = {"right answers": [row for row in rows if row["right"]]} | {
        sort: [row for row in rows if row["sort"] == sort] for sort in ("unanswerable", "elsewhere")
    }
    return {
        sort: f"{sum(row['signals'][name] >= bound for row in found)} of {len(found)}" for sort, found in sorts.items()
    }


def print_table(name: str, found: dict[str, Any]) -> None:
    print(f"\n{name}  {found['questions']}\n  now: {found['now']}")
    print(f"  {'':<16}{'AUROC':>16}{'told although, at 90 % kept':>32}")
    print(f"  {'signal':<16}" + f"{'nothing there':>16}{'elsewhere':>11}" * 2)
    for signal, row in found["signals"].items():
        at = row["keeping_90%"]
        auc = [row.get(f"auroc_{sort}", float("nan")) for sort in ("unanswerable", "elsewhere")]
        told = [at.get(sort, float("nan")) for sort in ("unanswerable", "elsewhere")]
        print(f"  {signal:<16}{auc[0]:>16.1f}{auc[1]:>11.1f}{told[0]:>16.1f}{told[1]:>11.1f}")
    sys.stdout.flush()


def write(path: Path, found: dict[str, Any], joint: dict[str, Any]) -> None:
    """After every dataset; those of earlier runs that were not measured again stay."""
    known = json.loads(path.read_text())["datasets"] if path.exists() else {}
    answer = {
        "date": datetime.now(UTC).date().isoformat(), "version": recollect.__version__,
        "command": "make bench-abstention DATA=… OUT=…",
        "together": joint, "datasets": dict(sorted((known | found).items())),
    }  # fmt: skip
    path.write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main()
