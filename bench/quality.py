"""Retrieval quality on evaluation data, through the public API only.

    python bench/quality.py --data FOLDER [--out file.json] [--only NAME …] [--modes default,keyword,…]

Every dataset found in the folder is loaded into a fresh store: conversations as sessions and turns, everything else as
notes, each group in a space of its own. Every query is asked in the first mode, and about 100 of them, evenly chosen,
in the others, which are there to compare; `queries` says how many. Queries without a relevant document are left out of
the figures and used for abstention (how well the top score tells "there is something" from "nothing").
"""

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import recollect
from datasets import Dataset, Query, datasets, load, when
from recollect import Draft, Memory, Turn
from recollect.ids import now_ms

MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "keyword": {"mode": "keyword"},
    "vector": {"mode": "vector"},
    "rrf": {"fusion": "rrf"},
    "weighted": {"fusion": "weighted"},
}
DEPTH = 10
COMPARED = 100
Metrics = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    places = list(datasets(options.data, set(options.only)))
    if not places:
        sys.exit(
            f"no dataset in {options.data}: a dataset is a folder with corpus.jsonl, queries.jsonl and qrels.jsonl"
        )
    modes = options.modes.split(",")
    results: dict[str, Any] = {}
    started = time.time()
    with ProcessPoolExecutor(options.workers) as pool:
        jobs = {pool.submit(measure, place, modes): place.name for place in sorted(places, key=_size, reverse=True)}
        for job in as_completed(jobs):
            if trouble := job.exception():
                print(f"\n{jobs[job]}: {trouble!r}", file=sys.stderr)
                continue
            results[jobs[job]] = job.result()
            print_dataset(jobs[job], results[jobs[job]])
            if options.out:
                write(options.out, results)
    print(f"\n{len(results)} datasets in {(time.time() - started) / 60:.1f} minutes")
    if len(results) < len(jobs):
        sys.exit(f"{len(jobs) - len(results)} of {len(jobs)} datasets failed; what went wrong is told above")


def write(path: Path, results: dict[str, Any]) -> None:
    """After every dataset, so that a run that is cut short leaves what it measured."""
    answer = {
        "date": datetime.now(UTC).date().isoformat(), "version": recollect.__version__,
        "command": "make bench-quality DATA=… OUT=…", "datasets": dict(sorted(results.items())),
    }  # fmt: skip
    path.write_text(json.dumps(answer, indent=1) + "\n")


def _size(place: Path) -> int:
    return sum(path.stat().st_size for path in place.iterdir())


def measure(place: Path, modes: list[str]) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="recollect-quality-"))
    os.environ["RECOLLECT_HOME"] = str(folder)
    try:
        data = load(place)
        started = time.perf_counter()
        rooms = {
            group: Room(folder, number, group, rows, data) for number, (group, rows) in enumerate(data.groups.items())
        }
        loaded = time.perf_counter() - started
        return {
            **ask(data, rooms, modes),
            "seconds": {"load": round(loaded, 1), "all": round(time.perf_counter() - started, 1)},
        }
    finally:
        shutil.rmtree(folder)


class Room:
    """One group of a dataset in a space of its own, and which document each answer means."""

    def __init__(self, folder: Path, number: int, group: str, rows: list[dict[str, Any]], data: Dataset) -> None:
        latest = max((at for row in rows if (at := when(row.get("date"))) is not None), default=0)
        self.memory = Memory(folder / "quality.db", space=f"group-{number}", clock=lambda: latest or now_ms())
        self.documents: dict[str, list[str]] = defaultdict(list)
        (self._add_turns if data.is_conversation else self._add_notes)(rows)
        self.memory.embed_pending()

    def _add_notes(self, rows: list[dict[str, Any]]) -> None:
        drafts = [
            Draft(text_of(row), title=row.get("title") or row.get("name") or None, created_ms=when(row.get("date")))
            for row in rows
        ]
        for row, note in zip(rows, self.memory.add_many(drafts, allow_secrets=True), strict=True):
            self.documents[str(note.id)].append(row["id"])

    def _add_turns(self, rows: list[dict[str, Any]]) -> None:
        sessions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            sessions[row["session"]].append(row)
        for key, said in sessions.items():
            session = self.memory.start_session(key, agent="bench")
            turns = [Turn(row["speaker"], row["text"] or " .", when(row.get("date")) or 1, row["id"]) for row in said]
            self.memory.add_turns(session, turns, allow_secrets=True)
            for turn in self.memory.turns(session):
                self.documents[f"t{turn.id}"].append(turn.record)

    def ask(self, text: str, mode: str) -> tuple[list[str], float]:
        answer = self.memory.search(text, limit=DEPTH, **MODES[mode])
        found = [document for hit in answer for document in self.documents[hit.id]]
        return found, answer[0].score if answer else 0.0


def text_of(row: dict[str, Any]) -> str:
    """The document as a person would write it down: a tool with its parameters' names and descriptions."""
    text = next((given for name in ("text", "title", "name") if (given := str(row.get(name) or "")).strip()), "-")
    params = row.get("params")
    if isinstance(params, dict):
        text += "\n" + "\n".join(f"{name}: {_words(value)}" for name, value in params.items())
    elif isinstance(params, list):
        text += "\n" + "\n".join(_words(value) for value in params)
    return str(text)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(str(value[key]) for key in ("name", "description") if value.get(key))
    return str(value)


def ask(data: Dataset, rooms: dict[str, Room], modes: list[str]) -> dict[str, Any]:
    sums: dict[str, dict[str, list[Metrics]]] = {mode: defaultdict(list) for mode in modes}
    scores: dict[str, tuple[list[float], list[float]]] = {mode: ([], []) for mode in modes}
    step = max(1, len(data.queries) // COMPARED)
    for number, query in enumerate(data.queries):
        room = rooms.get(query.group)
        if room is None:
            continue
        for mode in modes if number % step == 0 else modes[:1]:
            found, top = room.ask(query.text, mode)
            scores[mode][0 if query.relevant else 1].append(top)
            if query.relevant:
                metrics = score(found, query)
                sums[mode][""].append(metrics)
                if query.category:
                    sums[mode][query.category].append(metrics)
    return {mode: summary(sums[mode], scores[mode]) for mode in modes}


def score(found: list[str], query: Query) -> Metrics:
    ranked = list(dict.fromkeys(found))
    relevant = query.relevant
    gains = [relevant.get(document, 0.0) for document in ranked[:10]]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    first = next((rank for rank, document in enumerate(ranked, 1) if document in relevant), None)
    metrics = {"ndcg@10": _dcg(gains) / _dcg(ideal), "mrr": 1 / first if first else 0.0}
    for depth in (5, 10):
        hits = sum(1 for document in ranked[:depth] if document in relevant)
        metrics |= {f"recall@{depth}": hits / len(relevant), f"hit@{depth}": float(hits > 0)}
    return metrics


def _dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def summary(by_category: dict[str, list[Metrics]], scores: tuple[list[float], list[float]]) -> dict[str, Any]:
    whole = _mean(by_category.pop("", []))
    if by_category:
        whole["categories"] = {name: _mean(rows) for name, rows in sorted(by_category.items())}
    if scores[1]:
        whole["abstention_auroc"] = round(100 * auroc(*scores), 1)
    return whole


def _mean(rows: list[Metrics]) -> dict[str, Any]:
    if not rows:
        return {"queries": 0}
    return {name: round(100 * sum(row[name] for row in rows) / len(rows), 2) for name in rows[0]} | {
        "queries": len(rows)
    }


def auroc(positive: list[float], negative: list[float]) -> float:
    """How often a query that has an answer scores above one that has none."""
    ordered = sorted([(value, 1) for value in positive] + [(value, 0) for value in negative])
    ranks = 0.0
    at = 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        ranks += sum(label for _, label in ordered[at:end]) * (at + end + 1) / 2
        at = end
    count = len(positive)
    return (ranks - count * (count + 1) / 2) / (count * len(negative)) if count and negative else 0.0


def print_dataset(name: str, result: dict[str, Any]) -> None:
    seconds, asked = result["seconds"], result[next(iter(result))]["queries"]
    print(f"\n{name}  ({asked} queries, loaded in {seconds['load']} s, {seconds['all']} s in all)")
    columns = ("recall@5", "recall@10", "hit@5", "hit@10", "ndcg@10", "mrr")
    print(f"  {'':<24}" + "".join(f"{column:>11}" for column in columns))
    for mode, whole in result.items():
        if mode == "seconds":
            continue
        _print_row(mode, whole, columns)
        if mode == "default":
            for category, row in whole.get("categories", {}).items():
                _print_row(f"  {category}"[:24], row, columns)
        if "abstention_auroc" in whole:
            print(f"  {'':<24}abstention AUROC {whole['abstention_auroc']}")
    sys.stdout.flush()


def _print_row(title: str, row: dict[str, Any], columns: tuple[str, ...]) -> None:
    print(f"  {title:<24}" + "".join(f"{row.get(column, float('nan')):>11.1f}" for column in columns))


if __name__ == "__main__":
    main()
