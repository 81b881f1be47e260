"""Hidden characters show, and text no store can hold is refused."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.text.visible import check, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text\n\twith tab", "plain text\n\twith tab"),
        ("abc\u202edef", "abc\\u202edef"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u200bb\u2066c", "a\\u200bb\\u2066c"),
        ("bell\x07 back\x08 cr\r\n", "bell\\x07 back\\x08 cr\\x0d\n"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("c1\x9b31m", "c1\\x9b31m"),
        ("bom\ufeff", "bom\\ufeff"),
        ("a\u200db", "a\\u200db"),
        ("para\u2029graph", "para\\u2029graph"),
        ("lone\ud800", "lone\\ud800"),
        ("café 日本 👨‍👩‍👧 ❤️‍🔥 e\u0301", "café 日本 👨‍👩‍👧 ❤️‍🔥 e\u0301"),
    ],
)
def test_hidden_characters_are_written_as_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(alphabet=st.characters()))
def test_nothing_invisible_is_left_and_a_second_pass_changes_nothing(text: str) -> None:
    shown = visible(text)
    assert visible(shown) == shown
    left = {
        char
        for char in shown
        if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")
        or unicodedata.bidirectional(char) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI")
    }
    assert left <= {"\n", "\t"}


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "\udcff"])
def test_text_that_cannot_be_stored_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check(text, "content")
    assert "content" in caught.value.message
    assert caught.value.hint


def test_ordinary_text_passes_the_check() -> None:
    check("naïve 日本 👍\n", "content")
    check("", "title")
