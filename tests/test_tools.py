"""Tool memory: found by description, better with use, never worse by failure, bounded, private when asked."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import InvalidInput, Memory
from recollect.config import load_settings
from recollect.tools import COLD, SEARCHED, USED
from recollect.tools.wording import split_name, without_arguments
from recollect.types import Tool

DAY_MS = 86_400_000
TOOLS = (
    Tool("read_file", "Read the whole text of a file", "files", {"path": "where the file is"}),
    Tool("write_file", "Create a file or replace its text", "files", {"path": "where", "text": "what to write"}),
    Tool("getForecast", "The weather of the next days for a city", "weather", {"city": "name of the city"}),
    Tool("send_mail", "Send an e-mail message to somebody", "office", {"to": "address", "subject": "", "body": ""}),
    Tool("create_invoice", "Make a bill for a customer", "office", {"customer": "", "amount": "in cents"}),
    Tool("play_song", "Play music by artist or title", "home", {"title": ""}),
)
UNLIKELY = "water the plants on the balcony"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(place: Path) -> Iterator[Memory]:
    with Memory(place, space="work") as memory:
        memory.tools.offer(TOOLS)
        yield memory


def first(memory: Memory, query: str) -> str:
    return memory.tools.search(query)[0].tool.name


def places(memory: Memory, query: str) -> list[str]:
    return [hit.tool.name for hit in memory.tools.search(query)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("will it rain in Oslo tomorrow?", "getForecast"), ("charge the customer for the work", "create_invoice"),
        ("write this text to notes.md", "write_file"), ("put on some jazz", "play_song"),
        ("tell Ann by e-mail that I am late", "send_mail"), ("read me what the file /etc/hosts says", "read_file"),
    ],
)  # fmt: skip
def test_a_tool_is_found_by_what_it_says_of_itself(memory: Memory, query: str, expected: str) -> None:
    assert first(memory, query) == expected


def test_the_first_hit_does_not_depend_on_the_limit(memory: Memory) -> None:
    many = places(memory, "send the file")
    assert [[hit.tool.name for hit in memory.tools.search("send the file", limit=n)] for n in (1, 3)] == [
        many[:1],
        many[:3],
    ]


def test_hits_say_why_and_score_between_0_and_1(memory: Memory) -> None:
    hits = memory.tools.search("will it rain in Oslo?")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.score < 1 for hit in hits)
    assert hits[0].parts["meaning"] > 0
    assert hits[0].parts["learned"] == 0


def test_an_unlikely_pair_ranks_first_only_because_it_was_learned(memory: Memory, place: Path, tmp_path: Path) -> None:
    """And after a restart, and for a request in other words; a memory without that store still does not know."""
    assert first(memory, UNLIKELY) != "create_invoice"
    memory.tools.learn(UNLIKELY, "create_invoice", server="office")
    best = memory.tools.search(UNLIKELY)[0]
    assert best.tool.name == "create_invoice"
    assert best.parts["learned"] > 0.5 and best.parts["profile"] > 0
    memory.close()
    with Memory(place, space="work") as again:
        again.tools.offer(TOOLS)
        assert first(again, UNLIKELY) == "create_invoice"
        assert first(again, "please water the balcony plants") == "create_invoice"
        assert first(again, "will it rain in Oslo?") == "getForecast"
    with Memory(tmp_path / "control.db", space="work") as control:
        control.tools.offer(TOOLS)
        assert first(control, UNLIKELY) != "create_invoice"


def test_confidence_is_exact_after_a_restart(memory: Memory, place: Path) -> None:
    memory.tools.learn(UNLIKELY, "play_song", server="home", signal=SEARCHED)
    memory.close()
    with Memory(place, space="work") as again:
        pair = again.tools.learn(UNLIKELY, "play_song", server="home", signal=USED)
        assert pair is not None
        assert (pair.confidence, pair.uses) == (1.3, 2)
        assert again.tools.pairs()[0].confidence == 1.3


def test_failed_calls_never_raise_a_tool(memory: Memory) -> None:
    before = {hit.tool.name: hit.score for hit in memory.tools.search(UNLIKELY)}
    assert memory.tools.learn(UNLIKELY, "play_song", server="home", success=False) is None
    assert {hit.tool.name: hit.score for hit in memory.tools.search(UNLIKELY)} == before
    memory.tools.learn(UNLIKELY, "play_song", server="home")
    learned = {hit.tool.name: hit.score for hit in memory.tools.search(UNLIKELY)}
    for _ in range(12):
        memory.tools.learn(UNLIKELY, "play_song", server="home", success=False)
        now = {hit.tool.name: hit.score for hit in memory.tools.search(UNLIKELY)}
        assert now["play_song"] < learned["play_song"]
        learned = now
    assert memory.tools.pairs()[0].failures == 12


def test_what_is_learned_counts_at_once_even_while_the_clock_stands_still_or_another_runs_behind(place: Path) -> None:
    def score(memory: Memory) -> float:
        return next(hit.score for hit in memory.tools.search(UNLIKELY) if hit.tool.name == "play_song")

    with Memory(place, space="work", clock=lambda: 5000) as here, Memory(place, space="work", clock=lambda: 9) as there:
        here.tools.offer(TOOLS)
        here.tools.learn(UNLIKELY, "play_song", server="home")
        scores = [score(here)]
        for learner in (here, there, here):
            learner.tools.learn(UNLIKELY, "play_song", server="home", success=False)
            scores.append(score(here))
        assert scores == sorted(set(scores), reverse=True)


def test_a_tool_that_is_used_often_does_not_win_unrelated_requests(memory: Memory) -> None:
    cold = places(memory, "put on some jazz")
    for number in range(30):
        memory.tools.learn(f"bill customer {number} for last month", "create_invoice", server="office")
    assert places(memory, "put on some jazz")[0] == cold[0]
    assert first(memory, "will it rain in Oslo tomorrow?") == "getForecast"


def test_the_nearest_past_request_counts_and_not_how_many_there_are(memory: Memory) -> None:
    def learned() -> float:
        hits = memory.tools.search(UNLIKELY)
        return next(hit.parts["learned"] for hit in hits if hit.tool.name == "play_song")

    memory.tools.learn("give the balcony plants some water", "play_song", server="home")
    one = learned()
    for number in range(8):
        memory.tools.learn(f"give the plants in room {number} some water", "play_song", server="home")
    assert 0 < learned() < 3 * one


def test_what_requests_are_about_does_not_decide_which_tool(memory: Memory) -> None:
    """A path that was used with one tool does not draw other requests about that path to it."""
    for name in ("/srv/data/report.csv", "/srv/data/list.csv"):
        memory.tools.learn(f"Read the contents of {name}", "read_file", server="files")
    assert first(memory, "Replace the text in /srv/data/report.csv by 'done'") == "write_file"


def test_vanished_tools_are_kept_and_not_offered(memory: Memory) -> None:
    memory.tools.learn(UNLIKELY, "play_song", server="home")
    memory.tools.offer(tool for tool in TOOLS if tool.name != "play_song")
    assert "play_song" not in places(memory, UNLIKELY)
    assert len(memory.tools.pairs()) == 1
    memory.tools.offer(TOOLS)
    assert first(memory, UNLIKELY) == "play_song"


def test_two_servers_with_the_same_tool_are_two_tools(memory: Memory) -> None:
    memory.tools.offer([*TOOLS, Tool("play_song", "Play music by artist or title", "car")])
    memory.tools.learn(UNLIKELY, "play_song", server="car")
    hits = memory.tools.search(UNLIKELY)
    assert (hits[0].tool.server, hits[0].tool.name) == ("car", "play_song")


def test_what_another_process_learned_is_known_at_once(memory: Memory, place: Path) -> None:
    memory.tools.search(UNLIKELY)
    with Memory(place, space="work") as other:
        other.tools.learn(UNLIKELY, "send_mail", server="office")
    assert first(memory, UNLIKELY) == "send_mail"
    with Memory(place, space="work") as other:
        assert other.tools.forget(tool="send_mail") == 1
    assert first(memory, UNLIKELY) != "send_mail"


def test_context_confidence_grows_with_usage_and_starts_cold(memory: Memory) -> None:
    assert memory.tools.confidence("bill the customer") == 0
    memory.tools.learn("bill the customer", "create_invoice", server="office")
    assert 0 < memory.tools.confidence("bill the customer") < COLD
    for number in range(9):
        memory.tools.learn(f"bill the customer, part {number}", "create_invoice", server="office")
    assert COLD < memory.tools.confidence("bill the customer") <= 1
    assert memory.tools.confidence("quantum gravity") < COLD


@pytest.fixture
def clocked(place: Path) -> Iterator[tuple[Memory, Callable[[float], None]]]:
    now = [1_800_000_000_000]
    with Memory(place, space="work", clock=lambda: now[0]) as memory:
        memory.tools.offer(TOOLS)

        def pass_days(days: float) -> None:
            now[0] += int(days * DAY_MS)

        yield memory, pass_days


def test_pruning_drops_doubtful_unused_and_surplus_pairs(clocked: tuple[Memory, Callable[[float], None]]) -> None:
    memory, pass_days = clocked
    memory.tools.learn("old request", "play_song", server="home")
    pass_days(31)
    memory.tools.learn("failing request", "play_song", server="home", signal=0.2)
    for _ in range(5):
        memory.tools.learn("failing request", "play_song", server="home", success=False)
    for number in range(8):
        memory.tools.learn(f"request {number}", "play_song", server="home", signal=0.5 + number / 100)
    assert memory.tools.prune(most=7) == {"doubtful": 1, "unused": 1, "surplus": 2}
    assert sorted(pair.query for pair in memory.tools.pairs()) == [f"request {number}" for number in range(2, 8)]
    assert memory.tools.prune() == {"doubtful": 0, "unused": 0, "surplus": 0}


def test_pruned_pairs_leave_the_memory_of_a_running_process_too(
    clocked: tuple[Memory, Callable[[float], None]],
) -> None:
    memory, pass_days = clocked
    memory.tools.learn(UNLIKELY, "play_song", server="home")
    assert first(memory, UNLIKELY) == "play_song"
    pass_days(30.5)
    assert memory.tools.prune()["unused"] == 1
    assert memory.tools.search(UNLIKELY)[0].parts["learned"] == 0


def test_secrets_of_a_request_are_not_kept(memory: Memory) -> None:
    memory.tools.learn("send the key AKIAIOSFODNN7EXAMPLE to Ann <private>at home</private>", "send_mail")
    (pair,) = memory.tools.pairs()
    assert "AKIA" not in pair.query
    assert "at home" not in pair.query


def test_hashed_learning_keeps_no_words(place: Path) -> None:
    with Memory(place, settings=load_settings(tool_learning="hashed", space="work")) as memory:
        memory.tools.offer(TOOLS)
        memory.tools.learn(UNLIKELY, "play_song", server="home")
        assert first(memory, UNLIKELY) == "play_song"
        (pair,) = memory.tools.pairs()
        assert (pair.hashed, len(pair.query)) == (True, 64)
        assert memory.tools.forget(query=UNLIKELY) == 1
    assert b"balcony" not in b"".join(path.read_bytes() for path in place.parent.iterdir() if path.is_file())


def test_learning_can_be_turned_off(place: Path) -> None:
    with Memory(place, settings=load_settings(tool_learning="off", space="work")) as memory:
        assert memory.tools.learn(UNLIKELY, "play_song") is None
        assert memory.tools.pairs() == []


def test_spaces_learn_apart(place: Path) -> None:
    with Memory(place, space="one") as one, Memory(place, space="two") as two:
        one.tools.offer(TOOLS)
        two.tools.offer(TOOLS)
        one.tools.learn(UNLIKELY, "play_song", server="home")
        assert first(one, UNLIKELY) == "play_song"
        assert two.tools.search(UNLIKELY)[0].parts["learned"] == 0


def test_what_a_merged_space_had_learned_still_counts(place: Path) -> None:
    with Memory(place, space="old") as old:
        old.tools.learn(UNLIKELY, "play_song", server="home")
    with Memory(place, space="new") as new:
        new.add("a note")
        new.tools.offer(TOOLS)
        new.merge_spaces("old", "new")
        assert first(new, UNLIKELY) == "play_song"


def test_without_a_model_tools_and_pairs_are_found_by_keyword(place: Path) -> None:
    """And what was learned meanwhile gets its vector from whoever has the model later."""
    with Memory(place, settings=load_settings(embedder="none", space="work")) as memory:
        memory.tools.offer(TOOLS)
        assert first(memory, "weather city") == "getForecast"
        assert "keyword" in memory.tools.notice
        memory.tools.learn(UNLIKELY, "play_song", server="home")
        assert first(memory, "water plants") == "play_song"
        assert memory.tools.pairs()[0].vector == b""
    with Memory(place, space="work") as memory:
        memory.tools.offer(TOOLS)
        memory.tools.search(UNLIKELY)
        memory.tools.search(UNLIKELY)
        assert len(memory.tools.pairs()[0].vector) == 8 * 384


def test_hostile_descriptions_do_no_harm(memory: Memory) -> None:
    hostile = [
        Tool("x" * 10_000, "\x00\x1b[2J" + "weather " * 200_000, "weather", {"\n": "\ufffe" * 1000}),
        Tool("' or 1=1 --", "", "", {}),
        Tool("🙂__", "🙂", "__"),
    ]
    memory.tools.offer([*TOOLS, *hostile])
    hits = memory.tools.search("will it rain in Oslo tomorrow?")
    assert hits[0].tool.name == "getForecast"
    assert all(math.isfinite(hit.score) for hit in hits)


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_an_empty_query_is_refused(memory: Memory, query: str) -> None:
    with pytest.raises(InvalidInput):
        memory.tools.search(query)
    with pytest.raises(InvalidInput):
        memory.tools.learn(query, "read_file")


@pytest.mark.parametrize("signal", [0, -1, 1.6, math.nan, math.inf])
def test_a_signal_out_of_range_is_refused(memory: Memory, signal: float) -> None:
    with pytest.raises(InvalidInput):
        memory.tools.learn("something", "read_file", signal=signal)


def test_added_tools_stay_with_the_space(place: Path) -> None:
    with Memory(place, space="work") as memory:
        memory.tools.add("deploy", "Bring the site up to date", server="ops", parameters={"branch": "which"})
        memory.tools.add("deploy", "Bring the site live", server="ops")
    with Memory(place, space="work") as memory:
        assert [tool.description for tool in memory.tools.list()] == ["Bring the site live"]
        assert memory.tools.remove("deploy", server="ops")
        assert not memory.tools.remove("deploy", server="ops")
        assert memory.tools.list() == ()


def test_names_are_split_and_arguments_left_out() -> None:
    assert split_name("getHTTPHeader_fast.v2-beta") == "get HTTP Header fast v2 beta"
    assert without_arguments("Read ./src/main.py and https://a.b/c now please") == "Read py and url now please"
    assert without_arguments("open /tmp/x") == "open /tmp/x"
