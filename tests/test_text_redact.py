"""The write boundary: private blocks and secrets go, everything else stays as it was."""

import subprocess
import sys
import time
from collections import Counter
from re._parser import parse as sre_parse  # type: ignore[import-not-found]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text.redact import clean, redact, strip_private
from recollect.text.secret_rules import RULES, Rule
from recollect.text.secret_signs import LONG, suspicious
from secrets_corpus import negatives, positives

POSITIVES, NEGATIVES = positives(), negatives()


def test_the_corpus_is_large_and_the_same_every_time() -> None:
    assert len(POSITIVES) >= 300
    assert len({kind for kind, _, _ in POSITIVES}) >= 40
    assert len(NEGATIVES) >= 250
    assert positives() == POSITIVES


def test_secrets_are_found_overall_and_in_every_kind() -> None:
    total: Counter[str] = Counter(kind for kind, _, _ in POSITIVES)
    missed = [(kind, line) for kind, line, secret in POSITIVES if secret in clean(line).text]
    assert 1 - len(missed) / len(POSITIVES) >= 0.9, missed
    for kind, count in Counter(kind for kind, _ in missed).items():
        assert 1 - count / total[kind] >= 0.75, (kind, missed)


def test_what_only_looks_like_a_secret_stays() -> None:
    changed = [(line, clean(line).text) for _, line in NEGATIVES if clean(line).text != line]
    assert len(changed) / len(NEGATIVES) <= 0.01, changed


def test_the_whole_corpus_in_one_text_is_cleaned_too() -> None:
    cleaned = clean("\n".join(line for _, line, _ in POSITIVES)).text
    assert sum(secret in cleaned for _, _, secret in POSITIVES) / len(POSITIVES) <= 0.1


def test_cleaning_twice_is_cleaning_once_and_lines_stay() -> None:
    for _, line, _ in POSITIVES:
        once = clean(line)
        assert clean(once.text).text == once.text
        assert once.text.count("\n") == line.count("\n")
        assert not once.found or f"[redacted:{once.found[0]}]" in once.text


def _surest_run(parsed: Any) -> int:
    """How many characters without a space every match of a parsed pattern has in a row, at least."""
    best = run = 0
    for part in parsed:
        if _spaceless(part):
            run += _least(part)
        else:
            best, run = max(best, run, *(_surest_run(inner) for inner in _inner(part) if _least(part))), 0
    return max(best, run)


def _inner(part: Any) -> list[Any]:
    """The patterns inside a part; only what must be matched counts, so alternatives are none."""
    op, what = part
    return [what[-1]] if str(op) in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT") else [[]]


def _spaceless(part: Any) -> bool:
    op, what = str(part[0]), part[1]
    if op == "BRANCH":
        return all(_spaceless(inner) for branch in what[1] for inner in branch)
    if op in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT"):
        return all(_spaceless(inner) for inner in what[-1])
    if op == "IN":
        return not any(_takes(what, space) for space in " \t\n\r\x0b\x0c")
    return op == "AT" or (op == "LITERAL" and not chr(what).isspace())


def _least(part: Any) -> int:
    op, what = str(part[0]), part[1]
    if op == "BRANCH":
        return min(sum(map(_least, branch)) for branch in what[1])
    if op == "SUBPATTERN":
        return sum(map(_least, what[-1]))
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        return int(what[0]) * sum(map(_least, what[-1]))
    return int(op in ("LITERAL", "IN", "ANY", "NOT_LITERAL"))


def _takes(choices: Any, char: str) -> bool:
    negated = str(choices[0][0]) == "NEGATE"
    inside = any(
        (str(op) == "LITERAL" and what == ord(char))
        or (str(op) == "RANGE" and what[0] <= ord(char) <= what[1])
        or (str(op) == "CATEGORY" and str(what) in ("CATEGORY_SPACE", "CATEGORY_NOT_WORD", "CATEGORY_NOT_DIGIT"))
        for op, what in choices
    )
    return inside != negated


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.long], ids=lambda rule: rule.name)
def test_a_rule_for_long_secrets_cannot_match_without_a_long_word(rule: Rule) -> None:
    assert _surest_run(sre_parse(rule.pattern)) >= LONG


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.long], ids=lambda rule: rule.name)
def test_every_marker_of_a_rule_for_short_secrets_is_a_sign(rule: Rule) -> None:
    assert all(suspicious(f"a{marker}b".split()) for marker in rule.markers), rule.markers


PIECES = st.sampled_from(
    [
        "password",
        " = ",
        ": ",
        '"',
        "'",
        "hunter2horse",
        "Bearer ",
        "://",
        "user:",
        "@host",
        "<private>",
        "</private>",
        "\n",
        "api_key",
        "=",
        "[redacted:jwt]",
        "[private]",
        "is ",
        "PIN ",
        "4921",
        " ",
        "token",
        "a1B2c3D4e5F6g7H8i9J0k1L2",
        "--",
        "é",
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=14).map("".join)))
@settings(max_examples=200, deadline=None)
def test_any_text_is_cleaned_once_and_keeps_its_lines(text: str) -> None:
    once = clean(text).text
    assert clean(once).text == once
    assert once.count("\n") == text.count("\n")
    assert once.count("\r") == text.count("\r")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <private>b</private> c", "a [private] c"),
        ("a <PRIVATE reason='x'>b\nc</Private > d", "a [private]\n d"),
        ("<private>a<private>b</private>c</private>d", "[private]d"),
        ("a <private>b\r\nc", "a [private]\r\n"),
        ("one <private>x</private> two <private>y</private>", "one [private] two [private]"),
        ("a </private> b", "a </private> b"),
        ("a <private/> b", "a <private/> b"),
        ("<privateer>ship</privateer>", "<privateer>ship</privateer>"),
        ("private", "private"),
    ],
)
def test_private_blocks_are_removed(text: str, expected: str) -> None:
    assert strip_private(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://bob:s3cr3tpw@db/x", "postgres://bob:[redacted:url-password]@db/x"),
        ("the wifi password is hunter2horse", "the wifi password is [redacted:spoken-password]"),
        ("my PIN is 4921.", "my PIN is [redacted:spoken-pin]."),
        ("key AKIA" + "IOSFODNN7EXAMPLE", "key [redacted:aws-access-key]"),
        ("password: token = 'q8Zk2vTw9LmN'", "password: token = '[redacted:assigned-secret]'"),
    ],
)
def test_the_surroundings_of_a_secret_stay(text: str, expected: str) -> None:
    assert redact(text).text == expected


def test_a_private_key_leaves_its_line_count() -> None:
    edge = "-" * 5
    text = (
        f"before\n{edge}BEGIN RSA PRIVATE KEY{edge}\n"
        + "MIIabc123+/XYZ789qwertyuiop\n" * 5
        + f"{edge}END RSA PRIVATE KEY{edge}\nafter"
    )
    assert redact(text).text == "before\n[redacted:private-key]\n\n\n\n\n\n\nafter"


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "=",
        "<private",
        "<private ",
        "password=",
        "password: ",
        "key-",
        "A",
        "://a:",
        "aws ",
        "eyJ",
        "-",
        "token is ",
        "pass",
        "_key=",
        "-----BEGIN PRIVATE KEY-----",
        "1",
        "M" * 24 + ".",
        "login ",
        '"password", ',
        "server=a;",
        "é=",
        "password='x1y2z3w4' ",
        "a_key=B7",
        "token=b7",
        "http://a:b@",
    ],
)
def test_much_bad_faith_takes_linear_time(unit: str) -> None:
    start = time.perf_counter()
    clean(unit * (300_000 // len(unit)))
    assert time.perf_counter() - start < 5


def test_ordinary_text_does_not_load_the_matcher() -> None:
    code = (
        "import sys; from recollect.text.redact import clean;"
        "clean('We chose PostgreSQL for billing. The office moves to Graz in May; see src/app/main.rs.');"
        "sys.exit('re2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
