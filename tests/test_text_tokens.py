"""The tokenizer: what is one term, what is several, and that SQLite's tokenizer agrees with every one of them."""

import threading
import time
import unicodedata

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.text.tokens import MAX_TERM, query_terms, terms

WILD = st.one_of(
    st.text(max_size=80),
    st.text(alphabet="aZ9_-./\\@:'+#, éßÉıΣς日本ガガ한ไน้क्ष́👍🏽\u200d\ufe0f\u3099", max_size=60),
    st.lists(st.characters(), max_size=30).map(lambda chars: "a".join(chars)),
)


def fts_terms(found: list[str]) -> set[str]:
    db = apsw.Connection(":memory:")
    db.execute("create virtual table x using fts5(t, tokenize='unicode61 remove_diacritics 0')")
    db.execute("create virtual table v using fts5vocab(x, row)")
    db.execute("insert into x(t) values (?)", (" ".join(found),))
    return {term for (term,) in db.execute("select term from v")}


@given(WILD)
@settings(max_examples=150, deadline=None)
@example("İstanbul ŉ ǰ ﬃ ᾳ Ꭰꭰ ᦰ ᳲ 𐐀 Ა \ue000 \U000f0041 \u0e80\u104a \U00020000\U0003ffff")
@example("𞤀𞤁 ⰀⰁ 𝔘𝔫𝔦 ½ Ⅷ ㎏ ㈱ ｆｕｌｌ １２３")
def test_sqlite_keeps_every_term_as_one_token_and_leaves_it_unchanged(text: str) -> None:
    found = terms(text)
    assert fts_terms(found) == set(found)
    wanted = query_terms(text)
    assert fts_terms(wanted) == set(wanted)


def test_sqlite_keeps_every_single_character_in_use() -> None:
    everything = [chr(code) for code in (*range(0xD800), *range(0xE000, 0x20100), *range(0xE0000, 0xE0200))]
    found = terms(" ".join(everything))
    assert fts_terms(found) == set(found)


@given(WILD)
@settings(max_examples=150, deadline=None)
def test_visible_text_yields_a_term_and_no_term_is_empty_or_too_long(text: str) -> None:
    found = terms(text)
    assert all(0 < len(term) <= MAX_TERM for term in found)
    if any(unicodedata.category(char)[0] in "LNPS" for char in text):
        assert found
        assert query_terms(text)


@given(WILD)
@settings(max_examples=150, deadline=None)
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    assert set(query_terms(text, limit=10_000)) <= set(terms(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user_id", ["user", "id", "userid"]),
        ("userId", ["user", "id", "userid"]),
        ("UserID", ["user", "id", "userid"]),
        ("user-id", ["user", "id", "userid"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("utf8Text", ["utf8", "text", "utf8text"]),
        ("IDs", ["id"]),
        ("3.11.7", ["3", "11", "7", "3117"]),
        ("$1,250", ["1", "250", "1250"]),
        ("C++", ["c", "cplusplus"]),
        ("C++17", ["c", "cplusplus", "17"]),
        ("C#", ["c", "csharp"]),
        ("F#", ["f", "fsharp"]),
        (".NET", ["net", "dotnet"]),
        ("Notepad++", ["notepad", "notepadplusplus"]),
        ("1+1", ["1", "1"]),
        ("don't", ["dont"]),
        ("user's", ["user"]),
        ("the user’s", ["the", "user"]),
        ("O'Brien", ["o", "brien", "obrien"]),
        ("café CAFÉ cafe", ["cafe", "cafe", "cafe"]),
        ("Straße", ["strass"]),
        ("Łódź smørrebrød", ["lodz", "smorrebrod"]),
        ("ёлка", ["елка"]),
        ("running runs run", ["run", "run", "run"]),
        ("日本語", ["日", "本", "語", "日本", "本語"]),
        ("水", ["水"]),
        ("한국어", ["한국어", "한국", "국어"]),
        ("ｶﾞ", ["ガ"]),
        ("👍 ok", ["u1f44d", "ok"]),
        ("!?!", ["u21", "u3f"]),
        ("co\u00adop\u200berate", ["cooper"]),
        ("", []),
        (" \n\t", []),
        ("\ud800", []),
    ],
)
def test_terms_of_typical_words(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_dakuten_is_not_a_diacritic() -> None:
    assert terms("が") != terms("か")
    assert terms("か\u3099") == terms("が")


def test_a_path_is_found_by_its_file_its_parts_and_as_a_whole() -> None:
    found = set(terms("see src/app/main.rs:42"))
    assert {"src", "app", "main", "rs", "mainrs"} <= found
    assert set(query_terms("main.rs")) <= found
    assert {"initpy", "init", "py"} <= set(terms("__init__.py"))


def test_an_address_is_found_by_person_and_by_host() -> None:
    found = set(terms("john.doe@example.com"))
    assert {"john", "doe", "johndoe", "examplecom"} <= found


def test_a_joined_name_is_found_by_its_dotted_form_and_back() -> None:
    assert set(terms("nodejs")) & set(query_terms("Node.js"))
    assert set(terms("Node.js")) & set(query_terms("nodejs"))


def test_words_of_scripts_with_vowel_signs_stay_whole() -> None:
    assert len(terms("हिन्दी")) == 1
    assert terms("हिन्दी") != terms("हन्द")


def test_long_words_are_cut_not_dropped() -> None:
    assert terms("x" * 500) == ["x" * MAX_TERM]
    assert terms("ы" * 500) == ["ы" * MAX_TERM]


def test_a_random_blob_is_not_shredded_into_letters() -> None:
    assert terms("aGVsbG8gd29ybGQ") == ["agvsbg8gd29ybgq"]


def test_query_leaves_out_stop_words_unless_nothing_else_is_left() -> None:
    assert query_terms("what is the deploy command for billing") == ["deploy", "command", "bill"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]
    assert "doe" in query_terms("does John Doe call")


def test_a_query_asks_for_bigrams_of_unspaced_runs_and_for_han_characters() -> None:
    assert query_terms("日本語") == ["日本", "本語", "日", "本", "語"]
    assert query_terms("これは水") == ["これ", "れは", "は水", "水"]
    assert query_terms("我的䲟") == ["我的", "的䲟", "䲟"]
    assert query_terms("水") == ["水"]
    assert set(query_terms("水")) <= set(terms("温水器"))


def test_a_long_query_keeps_the_telling_terms_within_the_limit() -> None:
    filler = " ".join(f"ab{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400))
    found = query_terms(filler + " PostgreSQL checkpointer " + filler + " INC-20931", limit=16)
    assert len(found) == 16
    assert {"postgresql", "checkpoint", "inc20931"} <= set(found)


def test_threads_share_no_stemmer() -> None:
    words = [f"running{'s' * n} studies{n}" for n in range(200)]
    expected = [terms(word) for word in words]
    answers: list[bool] = []

    def work() -> None:
        answers.append(all(terms(word) == want for word, want in zip(words, expected, strict=True)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 8


@pytest.mark.parametrize("unit", ["a", "a_", "_", "a.", ".", "a'", "aB", "1,", "é", "e\u0301", "日", "-", "A"])
def test_much_of_one_pattern_takes_linear_time(unit: str) -> None:
    start = time.perf_counter()
    terms("x" + unit * (300_000 // len(unit)))
    query_terms(unit * (300_000 // len(unit)))
    assert time.perf_counter() - start < 3
