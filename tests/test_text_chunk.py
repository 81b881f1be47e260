"""Pieces: nothing lost, nothing too long, lines counted right."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.embed.wordpiece import bundled
from recollect.text.chunk import ModelInput, Piece, chunk, estimate_tokens
from recollect.text.graphemes import border

PARTS = ["word", " ", "\n", ". ", "日本語", "。", "x" * 50, "👨‍👩‍👧", "e\u0301", "\r\n", "\t", "한국"]
TEXTS = st.one_of(st.text(max_size=400), st.lists(st.sampled_from(PARTS), max_size=120).map("".join))

PROSE = """
We came down to the harbour in the early evening, when the boats were already tied up and the men had gone home. The
innkeeper, a quiet woman of about sixty, showed us two rooms under the roof and asked whether we wanted fish or soup.
My sister chose the fish; I had the soup, which was far too hot, and burned my tongue on the first spoon of it.

"You will want to see the island," she said when she cleared the table. "Everybody does. My nephew goes over at seven
and again at ten, if the wind allows it, and he is never late. Take a coat with you, even in summer, because the water
is cold and the boat is open. There is a chapel on the other side, a few goats, and nothing else that I know of."

Next morning it rained so hard that nobody went anywhere. We played cards until lunch, wrote letters that we never sent,
and listened to an old man who told us about the great storm of his childhood: how the sea had come over the wall, how
three houses were gone by the morning, and how his mother had carried him up the hill on her back. He told it well, and
I believe that he had told it often. In the afternoon the rain stopped at last, the clouds opened in the west, and the
whole bay turned the colour of copper for a few minutes. We stood at the window and did not say a word. Then the light
went out of it again, somebody called us for dinner, and that was the end of our second day by the sea.

On the third day we finally crossed over. The nephew turned out to be a boy of fifteen who talked without a pause about
engines, football and his plans to leave for the city as soon as he could. Halfway across he let my sister steer, and
she laughed as I had not heard her laugh since the winter. The chapel was locked. The goats came up to us and tried to
eat the strap of my bag. We sat on the warm stones, ate bread with cheese, and looked back at the little town, which
seemed much smaller from there, hardly more than a handful of white dice that somebody had thrown along the shore.
"""


def follows(text: str, piece: Piece, begun: int, reached: int, overlap: int) -> list[tuple[int, int]]:
    """The places `piece` can have in `text` after a piece from `begun` to `reached`, with no gap and little overlap."""
    return [
        (at, at + len(piece.text))
        for at in range(begun, reached + 1)
        if text.startswith(piece.text, at)
        and at + len(piece.text) > reached
        and text.count("\n", 0, at) + 1 == piece.start_line
        and text.count("\n", 0, at + len(piece.text) - 1) + 1 == piece.end_line
        and estimate_tokens(text[at:reached]) <= overlap
    ]


@given(TEXTS, st.integers(1, 40), st.integers(0, 20))
@settings(max_examples=200, deadline=None)
def test_pieces_cover_the_text_keep_the_limit_and_know_their_lines(text: str, limit: int, overlap: int) -> None:
    pieces = chunk(text, limit, overlap)
    assert all(estimate_tokens(piece.text) <= limit for piece in pieces)
    # The same words may stand at several places; follow every reading.
    readings = {(0, 0)}
    for piece in pieces:
        readings = {place for begun, reached in readings for place in follows(text, piece, begun, reached, overlap)}
    assert len(text) in {reached for _, reached in readings}


@given(TEXTS, st.integers(1, 40), st.integers(0, 20), st.integers(8, 60))
@example("0" * 63 + "㐀한0", 13, 5, 8)  # parts of two overlapping pieces, one inside the other
@settings(max_examples=200, deadline=None)
def test_pieces_are_cut_to_what_a_model_reads(text: str, limit: int, overlap: int, most: int) -> None:
    pieces = chunk(text, limit, overlap, ModelInput(most, bundled().count))
    assert all(bundled().count(piece.text) <= most for piece in pieces)
    readings = {(0, 0)}
    for piece in pieces:
        readings = {place for begun, reached in readings for place in follows(text, piece, begun, reached, overlap)}
    assert len(text) in {reached for _, reached in readings}


def test_english_prose_is_cut_by_the_estimate_alone() -> None:
    """The count only ever matters where the estimate is wrong, so that what people write is found as before."""
    assert len(chunk(PROSE)) == 3
    assert chunk(PROSE, model=ModelInput(254, bundled().count)) == chunk(PROSE)
    assert chunk(PROSE, 64, 10, ModelInput(254, bundled().count)) == chunk(PROSE, 64, 10)


def test_what_the_model_reads_first_leaves_less_room() -> None:
    dense = "".join(f"{n:08x} " for n in range(0, 10**9, 10**7))
    model = ModelInput(100, bundled().count)
    plain, led = chunk(dense, 256, 0, model), chunk(dense, 256, 0, model.after("a title of seven words or so. "))
    assert len(led) > len(plain) > 1


def test_a_short_text_is_one_piece_unchanged() -> None:
    assert chunk("hello\nworld\n") == [Piece("hello\nworld\n", 1, 2)]
    assert chunk("x") == [Piece("x", 1, 1)]
    assert chunk("") == []


def test_pieces_begin_and_end_with_lines_and_overlap() -> None:
    text = "".join(f"line {n} has some words in it\n" for n in range(1, 101))
    pieces = chunk(text, max_tokens=80, overlap=20)
    assert len(pieces) > 5
    assert all(piece.text.startswith("line") and piece.text.endswith("\n") for piece in pieces)
    assert pieces[0].start_line == 1
    assert pieces[-1].end_line == 100
    for left, right in pairwise(pieces):
        assert left.end_line >= right.start_line > left.start_line
        assert right.text.startswith(f"line {right.start_line} ")


def test_an_over_long_line_is_cut_at_sentences_then_words() -> None:
    sentences = " ".join(f"Sentence number {n} ends here." for n in range(60))
    assert all(piece.text.strip().endswith(".") for piece in chunk(sentences, 50, 0))
    words = " ".join(["word"] * 500)
    assert all(piece.text.strip("word ") == "" and piece.text.startswith("word") for piece in chunk(words, 50, 10))
    japanese = "これは文です。" * 60
    assert all(piece.text.endswith("。") for piece in chunk(japanese, 50, 0))


def test_a_hard_cut_does_not_tear_a_character_apart() -> None:
    family = "👨‍👩‍👧‍👦"
    for piece in chunk(family * 40, 32, 0):
        assert piece.text == family * (len(piece.text) // len(family))


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("a b c d e f", 6, 6),
        ("internationalisation", 5, 5),
        ("日本語", 3, 3),
        ("日本 and more", 4, 6),
        ("한국어", 3, 3),
    ],
)
def test_the_estimate_knows_words_and_dense_scripts(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [("abc", 2, 2), ("e\u0301x", 1, 1), ("ae\u0301x", 2, 1), ("a\r\nb", 2, 1), ("🇦🇹🇩🇪", 3, 2)],
)
def test_a_border_is_never_inside_a_cluster_unless_it_must(text: str, at: int, expected: int) -> None:
    assert border(text, at) == expected


@pytest.mark.parametrize("unit", ["a", "a ", "\n", "a. ", "日", "\u0301", "a\n"])
def test_a_long_text_takes_linear_time(unit: str) -> None:
    start = time.process_time()  # not the wall's: a busy machine is no bug
    pieces = chunk(unit * (300_000 // len(unit)))
    assert time.process_time() - start < 5
    assert len(pieces) < 12_000
