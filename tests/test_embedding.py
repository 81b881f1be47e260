"""The model belongs to the store, the text is durable before it is embedded, and trouble is said aloud."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import EmbedderUnavailable, Memory, load_settings
from recollect.embed.hashing import HashingEmbedder


class Counting:
    """The hashing embedder, which needs no model file, and a count of the texts it was asked for."""

    def __init__(self, model: str = "counting@1") -> None:
        self._inner = HashingEmbedder()
        self.name = "counting"
        self.model = model
        self.dims = self._inner.dims
        self.max_tokens = 256
        self.texts: list[str] = []
        self.fails = False
        self.seconds = 0.0
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> "np.ndarray[Any, Any]":
        if self.fails:
            raise EmbedderUnavailable("the service is down", hint="start it")
        time.sleep(self.seconds * len(texts))
        with self._lock:
            self.texts += texts
        return self._inner.embed(texts)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "memory.db"


def opened(place: Path, embedder: Counting, **options: Any) -> Memory:
    return Memory(place, space="user", settings=replace(load_settings(), **options), embedder=embedder)


def test_adding_loads_no_model_and_the_note_is_found_by_keyword(place: Path) -> None:
    embedder = Counting()
    with opened(place, embedder) as memory:
        memory.add("the lighthouse keeper")
        assert embedder.texts == []
        assert len(memory.search("lighthouse", mode="keyword")) == 1
        assert embedder.texts == []
        assert "vector" in memory.search("lighthouse keeper")[0].matched_by


def test_a_second_start_embeds_nothing_but_the_query(place: Path) -> None:
    with opened(place, Counting()) as memory:
        memory.add_many([f"note number {number}" for number in range(20)])
        memory.embed_pending()
        assert memory.stats()["pending"] == 0
    again = Counting()
    with opened(place, again) as memory:
        memory.search("number seven")
    assert again.texts == ["number seven"]


def test_a_text_that_comes_back_is_taken_from_the_cache(place: Path) -> None:
    embedder = Counting()
    with opened(place, embedder) as memory:
        note = memory.add("the same words again")
        memory.embed_pending()
        memory.delete(note)
        memory.restore(note)
        assert memory.embed_pending() == 1
    assert embedder.texts == ["the same words again"]


def test_the_cache_forgets_what_was_used_least_recently(place: Path) -> None:
    embedder = Counting()
    with opened(place, embedder, cache_entries=10) as memory:
        first = memory.add("the very first one")
        memory.embed_pending()
        memory.add_many([f"filler {number}" for number in range(30)])
        memory.embed_pending()
        memory.delete(first)
        memory.restore(first)
        memory.embed_pending()
    assert embedder.texts.count("the very first one") == 2


def test_a_search_embeds_within_its_deadline_and_says_what_is_owed(place: Path) -> None:
    embedder = Counting()
    embedder.seconds = 0.02
    with opened(place, embedder, search_deadline_ms=200) as memory:
        memory.add_many([f"slow note {number}" for number in range(100)])
        started = time.monotonic()
        answer = memory.search("slow note")
        assert time.monotonic() - started < 3
        assert 0 < answer.pending < 100
        assert memory.stats()["pending"] == answer.pending
        embedder.seconds = 0
        memory.embed_pending()
        assert memory.search("slow note").pending == 0


def test_while_the_embedder_is_down_writes_are_kept_and_keywords_answer(place: Path) -> None:
    embedder = Counting()
    embedder.fails = True
    with opened(place, embedder) as memory:
        memory.add("the harbour master retires")
        answer = memory.search("harbour master")
        assert answer.mode == "keyword" and len(answer) == 1
        assert "the service is down" in answer.notices[0] and "start it" in answer.notices[0]
        embedder.fails = False
        answer = memory.search("harbour master")
        assert answer.mode == "hybrid" and not answer.notices and answer.pending == 0


def test_another_model_searches_by_keyword_and_says_what_to_type(place: Path) -> None:
    with opened(place, Counting("one@1")) as memory:
        memory.add("the orchard in May")
        memory.embed_pending()
    other = Counting("two@1")
    with opened(place, other) as memory:
        answer = memory.search("orchard")
        assert answer.mode == "keyword" and "recollect reindex --model" in answer.notices[0]
        assert other.texts == [] and memory.embed_pending() == 0


def test_reindex_gathers_the_new_vectors_and_flips(place: Path) -> None:
    with Memory(place, space="user", settings=replace(load_settings(), embedder="hashing")) as memory:
        memory.add_many([f"stone number {number}" for number in range(20)])
        memory.embed_pending()
        before = memory.stats()["model"]
        seen: list[int] = []
        result = memory.reindex("minilm", progress=seen.append)
        assert result["embedded"] == 20 and seen[-1] == 20
        assert memory.stats()["model"] == result["model"] != before
        assert memory.search("stone number").mode == "hybrid"
    with Memory(place, space="user", settings=replace(load_settings(), embedder="hashing")) as memory:
        assert "reindex" in memory.search("stone").notices[0]


def test_a_reindex_that_was_cut_short_leaves_the_old_model_serving(place: Path) -> None:
    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with Memory(place, space="user", settings=replace(load_settings(), embedder="hashing")) as memory:
        memory.add_many([f"river number {number}" for number in range(40)])
        memory.embed_pending()
        with pytest.raises(KeyboardInterrupt):
            memory.reindex("minilm", progress=stop)
        assert memory.search("river").mode == "hybrid"
        assert memory.reindex("minilm")["embedded"] < 40


def test_no_embedder_is_said(place: Path) -> None:
    with Memory(place, space="user", settings=replace(load_settings(), embedder="none")) as memory:
        memory.add("plain words")
        answer = memory.search("plain words")
        assert answer.mode == "keyword" and "no embedder" in answer.notices[0]


def test_a_service_without_its_key_means_keywords_and_a_hint(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Memory(place, space="user", settings=replace(load_settings(), embedder="openai")) as memory:
        memory.add("plain words")
        answer = memory.search("plain words")
        assert answer.mode == "keyword" and "OPENAI_API_KEY" in answer.notices[0]


def test_after_everything_was_embedded_what_comes_from_elsewhere_is_noticed(place: Path) -> None:
    """A search that found nothing owed looks again when a note was written by another, or moved here from a space
    where nobody had embedded it."""
    embedder = Counting()
    with opened(place, embedder) as memory, opened(place, Counting()) as other:
        memory.add("the lighthouse keeper")
        for _ in range(2):
            assert memory.search("sea").pending == 0
        other.add("a boat at dawn")
        assert "a boat at dawn" in {hit.title for hit in memory.search("boat", mode="vector")}
        with Memory(place, space="harbour", settings=load_settings(embedder="none")) as away:
            away.add("nets are mended on Monday")
        memory.search("sea")
        memory.merge_spaces("harbour", "user")
        assert "nets are mended on Monday" in {hit.title for hit in memory.search("nets", mode="vector")}
        assert memory.stats()["pending"] == 0
