"""The tokenizer equals the reference: ids of the reference library are kept for over five hundred texts."""

import json
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.embed.onnx import BUNDLED
from recollect.embed.wordpiece import WordPiece, split_words

FIXTURES = Path(__file__).parent / "fixtures"
CLS, SEP, UNK = 101, 102, 100
tokenizer = WordPiece.from_file(BUNDLED / "vocab.txt")


def reference() -> list[tuple[str, list[int]]]:
    texts = json.loads((FIXTURES / "embed_texts.json").read_text(encoding="utf-8"))
    ids = json.loads((FIXTURES / "wordpiece_ids.json").read_text(encoding="utf-8"))
    return list(zip(texts["fidelity"] + texts["tokens"], ids, strict=True))


def test_every_reference_text_gives_the_reference_ids() -> None:
    pairs = reference()
    assert len(pairs) > 500
    for text, ids in pairs:
        assert tokenizer.encode(text, 256) == ids, text


def test_the_reference_reaches_the_limit() -> None:
    assert max(len(ids) for _, ids in reference()) == 256


def test_a_second_look_at_a_word_gives_the_same_ids() -> None:
    for text, ids in reference()[::5]:
        assert tokenizer.encode(f"{text} {text}", 10_000)[1 : len(ids) - 1] == ids[1:-1]


@pytest.mark.parametrize("limit", [3, 8, 255])
def test_a_lower_limit_keeps_the_start(limit: int) -> None:
    text = "memory " * 400
    assert tokenizer.encode(text, limit) == [*tokenizer.encode(text, 256)[: limit - 1], SEP]


def test_a_word_over_a_hundred_characters_is_unknown() -> None:
    assert tokenizer.encode("a" * 101, 256) == [CLS, UNK, SEP]
    assert UNK not in tokenizer.encode("a" * 100, 256)


def test_half_a_surrogate_pair_is_left_out() -> None:
    assert tokenizer.encode("a \ud83d b", 256) == tokenizer.encode("a  b", 256)


@pytest.mark.parametrize("text", ["word " * 1_000_000, "x" * 5_000_000, " " * 5_000_000, "é, " * 1_000_000])
def test_a_huge_text_costs_little(text: str) -> None:
    started = time.perf_counter()
    assert len(tokenizer.encode(text, 256)) <= 256
    assert time.perf_counter() - started < 5


def test_slices_of_a_long_text_tokenise_like_the_whole() -> None:
    words = ["naïve", "[SEP]", "x" * 70, "日本語", "a.b", "\u0301mark"] * 2000
    whole = [number for word in words for number in tokenizer.encode(word, 256)[1:-1]]
    assert tokenizer.encode(" ".join(words), 100_000)[1:-1] == whole


@given(st.text(max_size=300))
def test_any_text_has_ids_within_the_vocabulary(text: str) -> None:
    ids = tokenizer.encode(text, 64)
    assert ids[0] == CLS and ids[-1] == SEP and len(ids) <= 64
    assert all(0 <= number < 30522 for number in ids)


@given(st.text(max_size=200))
def test_words_hold_no_white_space_and_no_capitals(text: str) -> None:
    for word in split_words(text):
        assert word and not any(char.isspace() for char in word)
        assert not any("A" <= char <= "Z" for char in word)


def test_threads_share_one_tokenizer() -> None:
    shared = WordPiece.from_file(BUNDLED / "vocab.txt")
    wrong: list[str] = []

    def work() -> None:
        wrong.extend(text for text, ids in reference() if shared.encode(text, 256) != ids)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
