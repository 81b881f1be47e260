"""Known-item evaluation: the questions are made from notes, and the history grows."""

from dataclasses import replace
from pathlib import Path

from recollect import Memory, load_settings
from recollect.evaluation import evaluate, question
from recollect.types import Answer


def test_notes_are_found_by_words_of_their_own_and_results_are_kept(tmp_path: Path) -> None:
    settings = replace(load_settings(home=tmp_path / "home"), embedder="none")
    with Memory(tmp_path / "m.db", space="desk", settings=settings) as memory:
        memory.add_many([f"meeting number{n} with colleague{n} about warehouse{n}" for n in range(30)])
        first = memory.evaluate(notes=30)
        assert first["result"]["questions"] == 30 and first["result"]["recall_1"] == 100.0
        assert first["history"] == [] and memory.evaluate(notes=30)["history"] == [first["result"]]


def test_a_search_that_finds_nothing_scores_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "m.db", space="desk") as memory:
        note = memory.add("the harbour master retires in spring")
        done = evaluate([note], lambda text: Answer((), "keyword", text))
        assert (done.recall_10, done.mrr) == (0.0, 0.0)
        assert question(note, 1) == question(note, 1)
        assert set(question(note, 1).split()) <= set(note.content.split())
