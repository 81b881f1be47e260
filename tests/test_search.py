"""Search through Memory: what is found, what is said about it, and that nothing typed can break it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import InvalidInput, Memory, Turn

NOTES = (
    "We chose PostgreSQL for billing",
    "The café on the corner closes at six",
    "Ask user@example.com about the invoice",
    "parseHttpHeader in src/net/http_parser.rs drops the last line",
    "The C++ build needs -O2, the C# one does not",
    "検索エンジンの設計を決めた",
    "El niño llegó tarde a la reunión",
    "Release 3.11.7 broke the nightly job",
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("search") / "memory.db", space="user") as memory:
        memory.add_many(NOTES)
        yield memory


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("billing database", 0), ("cafe", 1), ("CAFÉ corner", 1), ("user@example.com", 2), ("example.com", 2),
        ("http_parser.rs", 3), ("http header", 3), ("parseHttpHeader", 3), ("C++", 4), ("C#", 4),
        ("検", 5), ("検索", 5), ("設計", 5), ("nino", 6), ("reunion", 6), ("3.11.7", 7),
    ],
)  # fmt: skip
def test_names_accents_scripts_and_identifiers_are_found(memory: Memory, query: str, expected: int) -> None:
    found = memory.search(query, mode="keyword")
    assert found[0].title == NOTES[expected][:80]
    assert found[0].matched_by == ("keyword",)


def test_meaning_finds_what_shares_no_word(memory: Memory) -> None:
    found = memory.search("which database holds the payments?")
    assert found.mode == "hybrid"
    assert found[0].title == NOTES[0]
    assert "vector" in found[0].matched_by


def test_the_first_hit_does_not_depend_on_the_limit(memory: Memory) -> None:
    for query in ("billing", "the build", "invoice corner six", "検索 設計"):
        many = memory.search(query, limit=8)
        for limit in range(1, 8):
            assert [hit.id for hit in memory.search(query, limit=limit)] == [hit.id for hit in many][:limit]


def test_scores_are_between_0_and_1_and_falling(memory: Memory) -> None:
    for fusion in ("default", "rrf", "weighted"):
        scores = [hit.score for hit in memory.search("billing invoice build", fusion=fusion)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)


def test_a_single_exact_hit_has_a_real_score(tmp_path: Path) -> None:
    with Memory(tmp_path / "one.db", space="user") as memory:
        memory.add("The deploy key lives in the vault")
        (hit,) = memory.search("deploy vault", mode="keyword")
        assert hit.score > 0.2


def test_min_score_leaves_out_what_is_below(memory: Memory) -> None:
    everything = memory.search("billing database", limit=10)
    least = everything[0].score
    assert [hit.id for hit in memory.search("billing database", min_score=least)] == [everything[0].id]


def test_filters_go_into_both_lanes(tmp_path: Path) -> None:
    with Memory(tmp_path / "filters.db", space="user") as memory:
        for number in range(300):
            memory.add(f"ordinary note about billing number {number}", kind="fact")
        wanted = memory.add("billing was moved to the new ledger", kind="decision", tags=["ledger"], importance=9)
        for options in ({"kinds": "decision"}, {"tags": "ledger"}, {"min_importance": 8}):
            for mode in ("keyword", "vector", "hybrid"):
                hits = memory.search("billing", mode=mode, **options)
                assert [hit.id for hit in hits] == [str(wanted.id)], (options, mode)


def test_explain_adds_up(memory: Memory) -> None:
    hit = memory.search("billing database", explain=True)[0]
    assert sum(hit.explain["parts"].values()) == pytest.approx(hit.explain["evidence"], abs=1e-3)
    assert hit.explain["keyword_rank"] == 1 and hit.explain["vector_rank"] == 1
    assert hit.why.startswith("keyword #1")


def test_turns_are_found_with_speaker_time_and_neighbours(tmp_path: Path) -> None:
    with Memory(tmp_path / "talk.db", space="user") as memory:
        session = memory.start_session("one", agent="chat")
        said = ["What did the vet say about Biscuit?", "He needs to rest for two weeks.", "Poor thing!"]
        memory.add_turns(session, [Turn(who, text, 1_700_000_000_000 + n, str(n)) for n, (who, text) in enumerate(
            zip(("Ann", "Bob", "Ann"), said, strict=True))])  # fmt: skip
        hits = memory.search("how long must Biscuit rest?")
        assert hits[0].id == "t2" and hits[0].speaker == "Bob" and hits[0].session == session.uid
        assert memory.passage("t2").text == said[1]  # type: ignore[union-attr]


def test_two_spaces_do_not_see_each_other(tmp_path: Path) -> None:
    with Memory(tmp_path / "two.db", space="one") as one, Memory(tmp_path / "two.db", space="two") as two:
        one.add("the harbour office opens at nine")
        assert len(two.search("harbour office")) == 0
        assert len(one.search("harbour office")) == 1
        with Memory(tmp_path / "two.db", space="all") as everyone:
            assert len(everyone.search("harbour office")) == 1


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=200))
def test_no_text_breaks_a_query(memory: Memory, text: str) -> None:
    try:
        memory.search(text, mode="keyword")
    except InvalidInput:
        assert not text.strip() or "\x00" in text


def test_five_thousand_fuzzed_queries_never_fail(memory: Memory) -> None:
    """Pieces of FTS5 syntax, punctuation, scripts and control characters in every order."""
    rng = random.Random(11)
    pieces = [
        "AND", "OR", "NOT", "NEAR", "NEAR(", ")", "(", '"', "'", "*", "^", ":", "a:b", "foo-bar", "col : x", "{a b}",
        "+", "-", "--", ";", "drop table notes", "%", "_", "\\", "/", "?", "!", "\u202e", "\u200b", "\ud7ff", "😀",
        "検索", "é", "İ", "ß", "ﬁ", "\t", "\n", "0", "1e9", "x" * 500, "scope", "s1", "terms", "billing", "[", "]",
        "<", ">", "&", "|",
    ]  # fmt: skip
    for number in range(5000):
        query = rng.choice((" ", "")).join(rng.choices(pieces, k=rng.randint(1, 12)))
        if query.strip():
            mode = "hybrid" if number % 50 == 0 else "keyword"
            assert len(memory.search(query, mode=mode)) <= 10


def test_a_query_of_ten_kilobytes_is_answered(memory: Memory) -> None:
    assert len(memory.search("billing " * 1300)) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"query": " "}, "empty"), ({"query": "a\x00b"}, "NUL"), ({"query": "x", "mode": "psychic"}, "mode"),
        ({"query": "x", "fusion": "cold"}, "fusion"), ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "kinds": "nonsense"}, "kind"), ({"query": "x", "colour": "red"}, "colour"),
    ],
)  # fmt: skip
def test_bad_requests_get_a_clear_error(memory: Memory, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        memory.search(**options)  # type: ignore[arg-type]
    assert caught.value.hint
