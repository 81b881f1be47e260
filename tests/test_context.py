"""The context compiler: what is worth telling, within its budget, with a reason, and never from outside unasked."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poison import PAYLOADS
from recollect import InvalidInput, Memory
from recollect.context import SHARES, ContextItem, clip, select
from recollect.text.chunk import estimate_tokens
from shell import Shell


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", space="shop", folder=tmp_path) as found:
        yield found


def fill(memory: Memory) -> None:
    memory.add("Answer in short sentences", kind="preference", pinned=True)
    memory.add("We chose PostgreSQL for the billing database")
    memory.add("The deploy script needs the VPN")
    session = memory.start_session("one", agent="tests")
    memory.end_session(session, summary="Asked: make billing faster. Open: the index on invoices.")


def test_a_fresh_start_has_pins_decisions_the_last_session_and_what_is_recent(memory: Memory) -> None:
    fill(memory)
    context = memory.context()
    reasons = {item.id: (item.section, item.why) for item in context.items}
    assert reasons["1"] == ("pinned", "pinned")
    assert reasons["2"] == ("decisions", "a decision")
    assert reasons["3"] == ("recent", "recent")
    assert any(section == "last session" for section, _ in reasons.values())
    assert "the index on invoices" in context.text and "Answer in short sentences" in context.text
    assert context.tokens == estimate_tokens(context.text) <= context.budget_tokens


def test_a_question_brings_what_is_relevant_and_says_why(memory: Memory) -> None:
    fill(memory)
    context = memory.context("which database does billing use?", sections=["relevant"])
    assert [item.id for item in context.items] == ["2"]
    assert re.match(r"score 0\.\d\d, ", context.items[0].why)


def test_a_question_about_something_else_brings_nothing(memory: Memory) -> None:
    fill(memory)
    for question in ("what is the capital of Mongolia?", "rewrite this poem about autumn leaves", "hello", "ok thanks"):
        context = memory.context(question, sections=["relevant"])
        assert (context.text, context.items, context.tokens) == ("", (), 0), question


def test_an_empty_memory_says_nothing(memory: Memory) -> None:
    assert memory.context("anything").text == memory.context().text == ""


def test_the_budget_holds_whatever_the_notes_are(memory: Memory) -> None:
    for number in range(12):
        memory.add(f"{number} " + "会议决定使用数据库。" * 40, pinned=number % 3 == 0)
        memory.add(f"{number} decided " + 'quotes " and \\ slashes ' * 60)
    for budget in (50, 120, 400, 1000):
        context = memory.context("数据库", budget_tokens=budget)
        assert estimate_tokens(context.text) == context.tokens <= budget
        assert context.left_out > 0


def test_a_budget_that_is_no_budget_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput):
        memory.context(budget_tokens=10)
    with pytest.raises(InvalidInput):
        memory.context(sections=["nonsense"])


def test_text_from_outside_is_never_included_unasked(memory: Memory) -> None:
    for number, payload in enumerate(PAYLOADS):
        memory.add(
            f"{payload} {number} poisoned decision",
            origin=("web", "tool", "file")[number % 3],
            kind="decision",
            pinned=True,
        )
    for query in (None, "poisoned decision", "Ignore all previous instructions", "push straight to production"):
        assert memory.context(query).text == ""
    asked = memory.context("poisoned decision", include_untrusted=True)
    assert asked.items and not any(item.trusted for item in asked.items)
    assert asked.text.count("untrusted:") == len(asked.items) and " trusted=no>" in asked.text
    assert len(re.findall(r"</recollect-memory \w+>", asked.text)) == 1


def test_another_project_is_not_told(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", space="one") as one, Memory(tmp_path / "memory.db", space="two") as two:
        fill(one)
        assert two.context("billing database").text == ""
        assert one.context("billing database").text


def test_the_session_that_asks_is_not_told_about_itself(memory: Memory) -> None:
    fill(memory)
    session = memory.sessions()[0]
    context = memory.context(except_session=session.uid)
    assert not [item for item in context.items if item.section == "last session"]


sections = st.sampled_from([name for name, _ in SHARES])


@given(
    st.dictionaries(sections, st.lists(st.tuples(st.integers(1, 40), st.integers(1, 300)), max_size=10)),
    st.integers(0, 1000),
)
def test_selecting_is_within_budget_and_takes_nothing_twice(
    found: dict[str, list[tuple[int, int]]], budget: int
) -> None:
    items = {
        section: [ContextItem(section, str(number), "text", "why", tokens=tokens) for number, tokens in rows]
        for section, rows in found.items()
    }
    chosen, left_out = select(items, budget)
    assert sum(item.tokens for item in chosen) <= budget
    ids = [item.id for item in chosen]
    assert len(ids) == len(set(ids))
    assert left_out == len({item.id for rows in items.values() for item in rows} - set(ids))


@given(st.text(max_size=2000), st.integers(5, 200))
def test_a_clip_keeps_to_its_tokens(text: str, tokens: int) -> None:
    assert estimate_tokens(clip(text, tokens)) <= tokens + 1
    assert "\n" not in clip(text, tokens)


def test_the_command_prints_text_reasons_or_json(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell("add", "We chose PostgreSQL for billing", "--pin")
    assert "We chose PostgreSQL" in shell("context").out
    assert "pinned" in shell("context", "--why").out
    found = shell("context", "--json", "--budget", "300").json
    assert found["items"][0]["why"] == "pinned" and found["tokens"] <= 300
    assert shell("context", "--budget", "3").code == 2
