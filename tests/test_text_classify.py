"""The kind and the title a note gets when its writer gave none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.classify import classify, title_of


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Fixed the login redirect", "bugfix"),
        ("fixes and fixing", "bugfix"),
        ("Two bugs in the parser", "bugfix"),
        ("It logs errors at start", "bugfix"),
        ("The app crashes on empty input", "bugfix"),
        ("Hotfix went out", "bugfix"),
        ("Added a dark theme", "feature"),
        ("a NEW endpoint", "feature"),
        ("This feature is behind a flag", "feature"),
        ("Creating the bucket by hand", "feature"),
        ("Refactored the store", "refactor"),
        ("Restructuring the repository", "refactor"),
        ("We decided on Tuesday", "decision"),
        ("We chose PostgreSQL for billing", "decision"),
        ("Choose SQLite", "decision"),
        ("Redis was chosen", "decision"),
        ("The decision stands", "decision"),
        ("Found that the cache is cold", "discovery"),
        ("A surprising discovery", "discovery"),
        ("I discovered the cause", "discovery"),
        ("Learned that vacuum blocks", "discovery"),
        ("Changed the port", "change"),
        ("Updating dependencies", "change"),
        ("modified the schema", "change"),
        ("The office is in Graz", "observation"),
        ("", "observation"),
    ],
)
def test_a_word_of_the_table_decides_the_kind(text: str, kind: str) -> None:
    assert classify(text) == kind


@pytest.mark.parametrize(
    "text",
    ["the prefix", "my address", "a debugger", "renew the lease", "suffix and affix", "exchange rates", "foundation"],
)
def test_a_word_that_only_contains_one_does_not_count(text: str) -> None:
    assert classify(text) == "observation"


def test_the_kinds_have_the_order_of_the_table() -> None:
    ordered = ["bug", "new", "refactor", "decide", "found", "change"]
    kinds = ["bugfix", "feature", "refactor", "decision", "discovery", "change"]
    for first, kind in enumerate(kinds):
        assert classify(" and ".join(reversed(ordered[first:]))) == kind


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Deploy notes\n\nbody", "Deploy notes"),
        ("\n\n---\n## **Bold** plan ##\n", "Bold plan"),
        ("- [ ] call `make test` first", "call make test first"),
        ("> 1. quoted item", "quoted item"),
        ("see [the docs](https://example.com/a) now", "see the docs now"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("<!-- note -->\nReal line", "Real line"),
        ("__init__ is empty", "__init__ is empty"),
        ("-5 degrees", "-5 degrees"),
        ("日本語のメモ", "日本語のメモ"),
        ("👍", "👍"),
        ("---", "---"),
        ("a\x1b[31mred", "a [31mred"),
        ("   ", "untitled"),
        ("", ""),
    ],
)
def test_the_title_is_the_first_meaningful_line(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_long_title_is_cut_at_a_word() -> None:
    title = title_of("word " * 100)
    assert title.endswith("word…")
    assert len(title) <= 80


def test_a_cut_does_not_tear_a_character_apart() -> None:
    family = "👨‍👩‍👧‍👦"
    title = title_of(family * 40, limit=20)
    assert title.rstrip("…") == family * (len(title) // len(family))
    assert title_of("e\u0301" * 100, limit=10).rstrip("…").endswith("\u0301")
    assert title_of("🇦🇹" * 60, limit=10) == "🇦🇹" * 4 + "…"


@given(st.text(max_size=300), st.integers(8, 120))
def test_a_title_is_one_line_within_the_limit_and_not_empty(text: str, limit: int) -> None:
    title = title_of(text, limit)
    assert len(title) <= limit
    assert len(title.splitlines()) <= 1
    assert bool(title) == bool(text)
    assert classify(text)
