"""Ranking is pure: every rule of it can be seen on a handful of candidates."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.rank import (
    Asking,
    Boosts,
    Candidate,
    Lanes,
    Statistics,
    Window,
    bm25,
    diversify,
    fuse_rrf,
    fuse_weighted,
    idf,
    matches,
    needles,
    participants,
    rank,
    trust_of,
    window_of,
    without_names,
)
from recollect.rank.boosts import OFF

DAY = 86_400_000
NOW = 1_700_000_000_000  # Tuesday, 14 November 2023


def ask(*terms: str, total: int = 100, frequencies: dict[str, int] | None = None, **more: object) -> Asking:
    known = dict.fromkeys(terms, 1) if frequencies is None else frequencies
    return Asking(terms, Statistics(total, 8.0, known), **more)  # type: ignore[arg-type]


def note(at: int, terms: str, cosine: float | None = None, **more: object) -> Candidate:
    given_: dict[str, object] = {"owner": ("note", at), "uid": f"u{at:03}", **more}
    return Candidate(at, terms=terms, cosine=cosine, **given_)  # type: ignore[arg-type]


def turn(position: int, terms: str, cosine: float | None = None, session: int = 1, **more: object) -> Candidate:
    at = session * 1000 + position
    return note(at, terms, cosine, owner=("turn", at), session=session, position=position, **more)


def owners(rows: list) -> list[int]:  # type: ignore[type-arg]
    return [row.owner[1] for row in rows]


# -- scores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [1, 3, 100, 1_000_000])
def test_a_single_exact_hit_scores_well_above_nothing_in_a_store_of_any_size(total: int) -> None:
    [hit] = rank(ask("zebra", total=total), [note(1, "the zebra")])
    assert 0.2 < hit.score < 1


def test_a_word_that_is_in_every_chunk_still_finds_them_but_proves_less_than_a_rare_one() -> None:
    common = rank(ask("the", frequencies={"the": 100}), [note(1, "the end")])
    rare = rank(ask("end", frequencies={"end": 1}), [note(1, "the end")])
    assert 0 < common[0].score < rare[0].score


def test_a_score_does_not_depend_on_the_other_candidates() -> None:
    asking = ask("zebra", "stripe", frequencies={"zebra": 9, "stripe": 4})
    alone = rank(asking, [note(1, "zebra stripe", 0.5)])[0].score
    among = rank(asking, [note(1, "zebra stripe", 0.5), note(2, "zebra", 0.9), note(3, "horse", 0.1)])
    assert {row.owner[1]: row.score for row in among}[1] == pytest.approx(alone)


def test_more_matched_words_and_a_nearer_vector_score_higher() -> None:
    asking = ask("zebra", "stripe", "grass")
    rows = rank(
        asking,
        [note(1, "zebra cow", 0.4), note(2, "zebra stripe", 0.4), note(3, "zebra cow", 0.6), note(4, "cow", 0.4)],
    )
    place = {owner: at for at, owner in enumerate(owners(rows))}
    assert place[2] < place[1] < place[4]
    assert place[3] < place[1]


def test_parts_add_up_to_the_evidence() -> None:
    asking = ask("zebra", names=frozenset({"anna"}), window=Window(0, NOW), now_ms=NOW)
    rows = rank(
        asking,
        [turn(1, "zebra", 0.5, speaker="Anna", created_ms=5, question=True), turn(2, "yes", 0.3, speaker="Ben")],
    )
    for row in rows:
        assert sum(row.parts.values()) == pytest.approx(row.evidence)
    assert {"meaning", "keyword", "neighbours", "session", "speaker", "question", "time"} <= set(rows[0].parts)


@given(
    st.lists(
        st.tuples(st.sampled_from(["zebra", "zebra zebra", "cow", "grass zebra cow"]), st.floats(-1, 1)), max_size=12
    )
)
def test_scores_are_between_0_and_1_and_falling_in_every_mode(found: list[tuple[str, float]]) -> None:
    pool = [note(at, terms, cosine) for at, (terms, cosine) in enumerate(found)]
    for mode in ("hybrid", "keyword", "vector"):
        for fusion in ("default", "rrf", "weighted"):
            scores = [row.score for row in rank(ask("zebra", "grass"), pool, mode=mode, fusion=fusion)]
            assert all(0 <= score <= 1 for score in scores)
            assert scores == sorted(scores, reverse=True)


# -- lanes ---------------------------------------------------------------------------------------------------------


def test_without_any_vector_the_keyword_lane_ranks_alone() -> None:
    pool = [note(1, "zebra"), note(2, "zebra grass"), note(3, "cow")]
    rows = rank(ask("zebra", "grass"), pool)
    assert rows == rank(ask("zebra", "grass"), pool, mode="keyword")
    assert owners(rows) == [2, 1]
    assert all(row.matched_by == ("keyword",) for row in rows)


def test_without_any_keyword_match_the_vector_lane_ranks_alone() -> None:
    rows = rank(ask("zebra"), [note(1, "cow", 0.2), note(2, "horse", 0.7)])
    assert owners(rows) == [2, 1]
    assert all(row.matched_by == ("vector",) and row.score > 0 for row in rows)


def test_a_chunk_without_a_vector_is_not_lost_among_those_that_have_one() -> None:
    rows = rank(ask("zebra", "grass"), [note(1, "zebra grass"), note(2, "cow", 0.3), note(3, "zebra", 0.2)])
    assert owners(rows)[0] == 1


def test_no_candidates_give_no_answer() -> None:
    assert rank(ask("zebra"), []) == []


def test_vector_mode_leaves_out_what_has_no_vector() -> None:
    assert owners(rank(ask("zebra"), [note(1, "zebra"), note(2, "cow", 0.3)], mode="vector")) == [2]


def test_a_model_that_cannot_read_the_script_hardly_counts() -> None:
    pool = [note(1, "梅雨", 0.3), note(2, "天気", 0.8)]
    assert owners(rank(ask("梅雨"), pool))[0] == 2
    assert owners(rank(ask("梅雨", trust=trust_of("梅雨とは", latin_only=True)), pool))[0] == 1
    assert trust_of("梅雨とは", latin_only=False) == trust_of("rain", latin_only=True) == 1


# -- order ---------------------------------------------------------------------------------------------------------


def test_equal_scores_go_to_the_newer_then_to_the_smaller_uid() -> None:
    pool = [
        note(at, "zebra", 0.5, created_ms=when, uid=uid) for at, when, uid in ((1, 5, "b"), (2, 9, "c"), (3, 5, "a"))
    ]
    assert owners(rank(ask("zebra"), pool)) == [2, 3, 1]
    assert owners(rank(ask("zebra"), pool[::-1])) == [2, 3, 1]


@given(st.permutations(range(8)), st.sampled_from([0.0, 0.5]))
def test_a_smaller_limit_gives_the_beginning_of_a_larger_one_whatever_the_order_of_arrival(
    order: list[int], diversity: float
) -> None:
    pool = [note(at, f"zebra w{at % 3} v{at}", at % 4 / 10) for at in range(8)]
    whole = owners(rank(ask("zebra", "w1"), pool, diversity=diversity))
    for limit in range(9):
        some = rank(ask("zebra", "w1"), [pool[at] for at in order], diversity=diversity, limit=limit)
        assert owners(some) == whole[:limit]


def test_an_owner_appears_once_with_its_best_chunk() -> None:
    pool = [note(1, "cow", 0.1), replace(note(1, "zebra", 0.6), chunk=7), note(2, "zebra", 0.1)]
    rows = rank(ask("zebra"), pool)
    assert owners(rows) == [1, 2]
    assert rows[0].chunk == 7


def test_words_count_where_most_of_them_stand_together() -> None:
    beside = [note(1, "zebra", 0.9), replace(note(1, "a long walk through the old town", 0.2), chunk=11)]
    together = [note(2, "zebra", 0.9), replace(note(2, "a red zebra at the gate of town", 0.2), chunk=12)]
    assert owners(rank(ask("red", "zebra"), [*beside, *together])) == [2, 1]


def test_a_long_turn_pays_for_its_many_chances() -> None:
    short = turn(1, "we take the train", 0.5)
    long = [replace(turn(9, "we take the train", 0.5), chunk=9000 + number) for number in range(6)]
    rows = rank(ask("train"), [short, *long])
    assert owners(rows) == [1001, 1009]
    assert "length" not in rows[0].parts and rows[1].parts["length"] < 0


def test_a_long_text_does_not_win_by_having_many_chances() -> None:
    long = [replace(note(1, f"word{at}", 0.5 if at == 3 else 0.1), chunk=at) for at in range(6)]
    assert owners(rank(ask("zebra"), [*long, note(2, "short", 0.48)])) == [2, 1]


# -- conversation --------------------------------------------------------------------------------------------------


def test_a_short_answer_is_lifted_by_the_question_before_it_and_a_long_one_is_not() -> None:
    asked = turn(1, "which animal did you see", 0.8)
    far = turn(1, "good morning", 0.0, session=2)

    def part(answer: Candidate) -> float:
        rows = rank(ask("animal"), [asked, answer, far])
        return next(row.parts.get("neighbours", 0.0) for row in rows if row.chunk == answer.chunk)

    assert part(turn(2, "a zebra", 0.2)) > 0.05
    assert part(turn(2, "zebra " * 80, 0.2)) == 0


def test_a_long_neighbour_lends_nothing() -> None:
    rows = rank(ask("animal"), [turn(1, ("animal " * 120).strip(), 0.9), turn(2, "thanks", 0.1)])
    assert rows[1].parts.get("neighbours", 0.0) == 0


def test_neighbours_of_another_session_lend_nothing() -> None:
    rows = rank(ask("animal"), [turn(1, "animal", 0.9, session=1), turn(2, "zebra", 0.2, session=2)])
    assert all("neighbours" not in row.parts for row in rows)


def test_the_turns_of_the_one_who_is_named_come_first() -> None:
    pool = [turn(1, "zebra", 0.5, speaker="Ben"), turn(1, "zebra", 0.5, session=2, speaker="Anna Smith")]
    assert owners(rank(ask("zebra", names=frozenset({"anna"})), pool)) == [2001, 1001]


def test_what_only_surrounds_a_hit_lends_evidence_and_is_no_answer() -> None:
    rows = rank(ask("animal"), [turn(1, "which animal", 0.9, shown=False), turn(2, "a zebra", 0.2)])
    assert owners(rows) == [1002]
    assert rows[0].parts["neighbours"] > 0


def test_names_are_taken_out_of_what_is_embedded_but_not_roles_and_not_everything() -> None:
    names = participants(["Anna Smith", "user", "Tool", "ben"])
    assert names == {"anna", "smith", "ben"}
    assert without_names("When did Anna's dog run?", names) == ("When did dog run?", frozenset({"anna"}))
    assert without_names("Who is Ben?", frozenset()) == ("Who is Ben?", frozenset())
    assert without_names("Anna Smith", names) == ("Anna Smith", frozenset({"anna", "smith"}))
    assert without_names("the user", names)[1] == frozenset()


def test_a_name_that_is_a_word_too_counts_only_with_a_capital_letter() -> None:
    names = participants(["Will", "Anna"])
    assert without_names("what will anna eat", names) == ("what will eat", frozenset({"anna"}))
    assert without_names("what did Will eat", names) == ("what did eat", frozenset({"will"}))


# -- time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("what did I buy 10 days ago", -11, -9),
        ("what happened two weeks ago?", -16, -12),
        ("a month ago", -36, -24),
        ("a couple of days ago", -3, -1),
        ("what did we do yesterday", -1, -1),
        ("who came last Friday", -4, -4),
        ("who came on Tuesday", -7, -7),
        ("in the past week", -8, 0),
        ("in the last two months", -67, 0),
        ("what did I do today", 0, 0),
    ],
)
def test_relative_times_mean_whole_days(query: str, first: int, last: int) -> None:
    window = window_of(query, NOW)
    midnight = NOW - NOW % DAY
    assert window is not None
    assert (window.start_ms - midnight) // DAY == first
    assert (window.end_ms - midnight) // DAY - 1 == last


@pytest.mark.parametrize("query", ["how long ago was it", "the last time", "weekly report", "may I ask", ""])
def test_questions_without_a_time_have_no_window(query: str) -> None:
    assert window_of(query, NOW) is None


def test_what_is_of_the_time_meant_comes_first() -> None:
    asking = ask("zebra", window=window_of("yesterday", NOW), now_ms=NOW)
    pool = [note(1, "zebra", 0.5, created_ms=NOW - 5 * DAY), note(2, "zebra", 0.45, created_ms=NOW - DAY)]
    assert owners(rank(asking, pool)) == [2, 1]


# -- boosts and diversity ------------------------------------------------------------------------------------------


def test_boosts_are_neutral_when_off_and_decide_only_between_near_equals() -> None:
    plain = note(1, "zebra", 0.5, created_ms=NOW - 400 * DAY)
    for better in ({"importance": 10}, {"standing": 1.0}, {"created_ms": NOW}):
        pool = [plain, replace(plain, chunk=2, owner=("note", 2), uid="zzz", **better)]
        asking = ask("zebra", now_ms=NOW)
        off = rank(asking, pool, boosts=OFF)
        assert off[0].score == off[1].score
        assert owners(rank(asking, pool)) == [2, 1]
        pool[0] = replace(plain, cosine=0.7)
        assert owners(rank(asking, pool)) == [1, 2]


def test_recency_halves_with_its_half_life_and_the_future_is_no_newer_than_now() -> None:
    boosts = Boosts(recency=0.1, half_life_days=10)
    assert boosts.recent(10 * DAY) == pytest.approx(0.05)
    assert boosts.recent(-DAY) == pytest.approx(0.1)
    assert Boosts(half_life_days=0).recent(0) == 0


def test_diversity_keeps_the_first_and_moves_what_repeats_it_down() -> None:
    pool = [note(1, "zebra stripe run", 0.6), note(2, "zebra stripe run", 0.59), note(3, "zebra grass eat", 0.55)]
    asking = ask("zebra")
    assert owners(rank(asking, pool)) == [1, 2, 3]
    assert owners(rank(asking, pool, diversity=0.5)) == [1, 3, 2]
    assert diversify([3, 2, 1], float, lambda a, b: 1.0, 0.0, 2) == [3, 2]


# -- keyword and named fusions -------------------------------------------------------------------------------------


def test_bm25_is_a_share_that_grows_with_repetition_and_shrinks_with_length() -> None:
    weights = {"zebra": 5.0, "grass": 5.0}
    once, twice = (
        bm25(matches(needles(["zebra", "grass"]), text), 4, weights) for text in ("zebra a b c", "zebra zebra b c")
    )
    long = bm25(matches(needles(["zebra", "grass"]), "zebra" + " a" * 30), 4, weights)
    assert 0 < long < once < twice < 0.5
    assert bm25(matches(needles(["zebra"]), "cow"), 4, {"zebra": 5.0}) == 0


def test_terms_are_matched_whole_and_counted_also_next_to_themselves() -> None:
    found = matches(needles(["run", "zebra"]), "run run run runner zebra", "zebra run")
    assert found.often == {"run": pytest.approx(3.7), "zebra": pytest.approx(1.7)}
    assert found.own == 5
    assert found.length == pytest.approx(6.4)
    assert matches(needles(["run"]), "").often == {}


def test_idf_is_positive_for_a_term_that_is_everywhere_or_miscounted() -> None:
    assert 0 < idf(100, 100) < idf(100, 1)
    assert idf(3, 9) > 0


def test_rrf_of_the_first_in_both_lanes_is_1_and_in_one_a_half() -> None:
    assert fuse_rrf(Lanes(1, 1)) == 1
    assert fuse_rrf(Lanes(1, None)) == 0.5
    assert fuse_rrf(Lanes(61, 1)) == pytest.approx((61 / 121 + 1) / 2)


def test_equals_in_a_lane_share_their_rank() -> None:
    rows = rank(ask("zebra"), [note(1, "zebra", 0.5), note(2, "zebra", 0.5), note(3, "zebra", 0.2)], fusion="rrf")
    assert [row.vector_rank for row in rows] == [1, 1, 3]
    assert [row.keyword_rank for row in rows] == [1, 1, 1]


def test_weighted_fusion_takes_the_lane_that_ran_alone_at_its_word() -> None:
    lanes = Lanes(1, 1, keyword_score=0.5, vector_score=1.0)
    assert fuse_weighted(lanes) == pytest.approx(0.85)
    assert fuse_weighted(lanes, 0, 0) == 0
    assert fuse_weighted(lanes, one_lane="keyword") == 0.5


def test_fusions_by_name_look_at_the_lanes_alone() -> None:
    pool = [note(1, "zebra grass", 0.2), note(2, "zebra", 0.8), note(3, "cow", 0.1)]
    rows = rank(ask("zebra", "grass"), pool, fusion="rrf")
    assert {row.owner[1]: (row.keyword_rank, row.vector_rank) for row in rows} == {1: (1, 2), 2: (2, 1), 3: (None, 3)}
    assert owners(rank(ask("zebra", "grass"), pool, fusion="weighted"))[0] == 2
    assert owners(rank(ask("zebra", "grass"), pool, fusion="weighted", weights=(0.1, 0.9)))[0] == 1
