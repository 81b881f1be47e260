"""What hooks teach about tools: the MCP tool that served the session's request, in each host's own words."""

import json
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect import Memory
from recollect.interfaces.hooks.calls import has_failed, host_name, mcp_tool, offered, was_stopped
from recollect.readers.clean import spoken_by_agent, spoken_by_user
from test_hooks import Host, hook, make_repository

REQUEST = "Open a ticket about the broken invoice export"
# host: the events of a call that worked and of one that failed, and what it says of the call
CALLS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "claude-code": (
        "tool-used", "tool-failed",
        {"tool_name": "mcp__tracker__create_issue", "tool_response": [{"type": "text", "text": "made"}]},
        {"tool_name": "mcp__tracker__create_issue", "error": "no such project", "is_interrupt": False},
    ),
    "codex": (
        "tool-used", "tool-used",
        {"tool_name": "mcp__tracker__create_issue", "tool_response": {"content": [], "isError": False}},
        {"tool_name": "mcp__tracker__create_issue", "tool_response": {"content": [], "isError": True}},
    ),
    "gemini": (
        "tool-used", "tool-used",
        {"tool_name": "mcp_tracker_create_issue", "tool_response": {"llmContent": "made", "returnDisplay": "made"},
         "mcp_context": {"server_name": "tracker", "tool_name": "create_issue", "command": "tracker"}},
        {"tool_name": "mcp_tracker_create_issue", "tool_response": {"error": {"message": "no such project"}},
         "mcp_context": {"server_name": "tracker", "tool_name": "create_issue", "command": "tracker"}},
    ),
    "cursor": (
        "tool-used", "tool-failed",
        {"tool_name": "MCP:tracker:create_issue", "tool_output": '{"content": []}'},
        {"tool_name": "MCP:tracker:create_issue", "error_message": "no such project", "failure_type": "error"},
    ),
}  # fmt: skip
ARGUMENTS = {"tool_input": {"title": "the secret plan", "project": "billing"}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def host(home: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Host:
    (tmp_path / "shop").mkdir()
    return Host(getattr(request, "param", "claude-code"), home, tmp_path / "shop")


def used(host: Host, event: str, given: dict[str, Any], **environ: str) -> float:
    """Tells the hook of a call; how long that took."""
    payload = json.dumps(host.common("x") | ARGUMENTS | given).encode()
    started = time.monotonic()
    code, out, err = hook(host.home, host.agent, event, payload, folder=host.project, **environ)
    assert (code, err, out.strip() or "{}") == (0, "", "{}")
    return time.monotonic() - started


def learned(host: Host) -> list[tuple[str, str, str, float, int, int]]:
    with Memory(host.home / "memory.db", folder=host.project, space="auto", embedder=None) as memory:
        return [
            (pair.query, pair.server, pair.tool, round(pair.confidence, 3), pair.uses, pair.failures)
            for pair in memory.tools.pairs()
        ]


@pytest.mark.parametrize("host", CALLS, indirect=True)
def test_a_tool_that_worked_is_learned_for_the_request_and_one_that_failed_loses_trust(host: Host) -> None:
    works, fails, worked, failed = CALLS[host.agent]
    host.hook(1, prompt=REQUEST)
    host.hook(1, prompt="yes")  # asks for nothing new
    used(host, works, worked)
    host.hook(3)
    assert learned(host) == [(REQUEST, "tracker", "create_issue", 0.5, 1, 0)]
    used(host, fails, failed)
    host.hook(4)
    ((_, _, _, confidence, uses, failures),) = learned(host)
    assert confidence == 0.4 and (uses, failures) == (1, 1)
    with Memory(host.home / "memory.db", folder=host.project, space="auto", embedder=None) as memory:
        (hit,) = memory.tools.search("open a ticket")
        assert (hit.tool.server, hit.tool.name) == ("tracker", "create_issue")
        assert hit.tool.parameters == {"title": "", "project": ""}


def test_a_failure_alone_makes_no_pair_and_no_tool(host: Host) -> None:
    _, fails, _, failed = CALLS["claude-code"]
    host.hook(1, prompt=REQUEST)
    used(host, fails, failed)
    host.hook(4)
    assert learned(host) == []
    with Memory(host.home / "memory.db", folder=host.project, space="auto", embedder=None) as memory:
        assert memory.tools.list() == ()


def test_nothing_of_what_a_tool_was_given_or_said_is_kept(host: Host) -> None:
    host.hook(1, prompt=REQUEST + " with the key AKIAIOSFODNN7EXAMPLE")
    used(host, "tool-used", {"tool_name": "mcp__tracker__create_issue", "tool_response": "the secret answer"})
    kept = "".join(file.read_text() for file in host.home.rglob("*.json"))
    assert "create_issue" in kept and REQUEST in kept
    assert "secret" not in kept and "AKIAIOSFODNN7EXAMPLE" not in kept
    host.hook(4)
    assert not list((host.home / "hooks" / "asked").iterdir())


OTHERS: list[dict[str, Any]] = [
    {"tool_name": "Bash"},
    {"tool_name": "mcp__recollect__memory_search"},
    {"tool_name": "mcp__desk__search_available_tools"},
    {"tool_name": "mcp____"},
    {"tool_name": "mcp__tracker__"},
    {"tool_name": "mcp__tracker__create_issue", "is_interrupt": True},
    {"tool_name": f"mcp__tracker__{'x' * 300}"},
    {"tool_name": 5},
    {},
]


def test_other_tools_and_calls_that_a_person_stopped_teach_nothing(host: Host) -> None:
    host.hook(1, prompt=REQUEST)
    for given in OTHERS:
        used(host, "tool-failed" if "is_interrupt" in given else "tool-used", given)
    assert not (host.home / "spool").exists()


def test_a_call_before_any_request_and_the_switches_teach_nothing(host: Host) -> None:
    _, _, worked, _ = CALLS["claude-code"]
    used(host, "tool-used", worked)
    host.hook(1, prompt=REQUEST)
    used(host, "tool-used", worked, RECOLLECT_OFF="1")
    used(host, "tool-used", worked, RECOLLECT_TOOL_LEARNING="off")
    (host.project / ".recollect").mkdir()
    (host.project / ".recollect" / "off").touch()
    used(host, "tool-used", worked)
    assert not (host.home / "spool").exists()


def test_with_learning_off_no_request_is_kept(host: Host) -> None:
    payload = json.dumps(host.common("x") | {"prompt": REQUEST}).encode()
    hook(host.home, "claude-code", "prompt", payload, folder=host.project, RECOLLECT_TOOL_LEARNING="off")
    assert not (host.home / "hooks").exists()


def test_each_session_has_a_request_of_its_own(host: Host) -> None:
    other = Host("claude-code", host.home, host.project, "0a1b2c3d-0000-4000-8000-000000000009")
    host.hook(1, prompt=REQUEST)
    other.hook(1, prompt="Post the release notes to the team channel")
    used(host, "tool-used", {"tool_name": "mcp__tracker__create_issue"})
    used(other, "tool-used", {"tool_name": "mcp__chat__post_message"})
    host.hook(4)
    assert {row[:3] for row in learned(host)} == {
        (REQUEST, "tracker", "create_issue"), ("Post the release notes to the team channel", "chat", "post_message"),
    }  # fmt: skip


@pytest.mark.slow
def test_a_busy_store_loses_no_lesson_and_counts_none_twice(host: Host) -> None:
    host.hook(1, prompt=REQUEST)
    host.say("hello there", "Good morning to you.")
    host.hook(4)
    host.hook(1, prompt=REQUEST)
    holder = apsw.Connection(str(host.home / "memory.db"))
    holder.set_busy_timeout(5000)
    holder.execute("begin immediate")
    for _ in range(3):
        assert used(host, "tool-used", {"tool_name": "mcp__tracker__create_issue"}) < 3
    host.hook(3)
    assert len(list((host.home / "spool").glob("*.json"))) == 4
    holder.close()
    host.hook(4)
    assert [row[4] for row in learned(host)] == [3]
    assert not list((host.home / "spool").glob("*.json"))


def test_a_tool_without_a_server_is_that_of_the_one_server_that_has_it(host: Host) -> None:
    make_repository(host.project)
    with Memory(host.home / "memory.db", folder=host.project, space="auto", embedder=None) as memory:
        memory.tools.add("create_issue", "Open a ticket", server="tracker")
        memory.tools.add("lookup", server="one")
        memory.tools.add("lookup", server="two")
    cursor = Host("cursor", host.home, host.project)
    cursor.hook(1, prompt=REQUEST)
    used(cursor, "tool-used", {"tool_name": "MCP:create_issue"})
    used(cursor, "tool-used", {"tool_name": "MCP:lookup"})
    cursor.hook(4)
    assert {row[1:3] for row in learned(host)} == {("tracker", "create_issue"), ("", "lookup")}


# -- which tools to offer ----------------------------------------------------------------------------------------------

OWN = ["read_file", "run_shell_command"]
MANY = [f"mcp_desk_tool{number}" for number in range(20)] + ["mcp_tracker_create_issue"]


def asks(host: Host, names: list[str] | None, **environ: str) -> dict[str, Any] | None:
    config = {} if names is None else {"toolConfig": {"mode": "AUTO", "allowedFunctionNames": names}}
    request = {"model": "m", "messages": [{"role": "user", "content": REQUEST}], **config}
    payload = json.dumps(host.common("BeforeToolSelection") | {"llm_request": request}).encode()
    given = {"RECOLLECT_EMBEDDER": "minilm", **environ}
    code, out, err = hook(host.home, "gemini", "BeforeToolSelection", payload, folder=host.project, **given)
    assert (code, err) == (0, "")
    if not out:
        return None
    specific = json.loads(out)["hookSpecificOutput"]
    assert specific["hookEventName"] == "BeforeToolSelection"
    config = specific["toolConfig"]
    return dict(config)


def is_narrow(found: dict[str, Any] | None) -> None:
    assert found is not None and found["mode"] == "AUTO"
    names = found["allowedFunctionNames"]
    assert names[0] == "mcp_tracker_create_issue" and len(names) == 15 + len(OWN) and set(OWN) < set(names)


@pytest.mark.slow
@pytest.mark.parametrize("host", ["gemini"], indirect=True)
def test_tools_are_narrowed_when_usage_knows_the_request_and_never_before(host: Host) -> None:
    host.hook(1, prompt=REQUEST)
    assert asks(host, [*OWN, *MANY]) is None
    make_repository(host.project)
    with Memory(host.home / "memory.db", folder=host.project, space="auto") as memory:
        for number in range(8):
            memory.tools.learn(f"Open a ticket about broken export {number}", "create_issue", server="tracker")
    assert asks(host, None) is None  # nothing is known of what the host has
    assert asks(host, [*OWN, *MANY[-3:]]) is None  # few enough to read
    assert asks(host, MANY) is None  # the host's own tools must be among them
    is_narrow(asks(host, [*OWN, *MANY]))
    assert asks(host, [*OWN, *MANY], RECOLLECT_OFF="1") is None
    for name in [*OWN, *MANY]:
        used(host, "tool-used", {"tool_name": name})
    is_narrow(asks(host, None))
    host.hook(1, prompt="tell me a story about a dragon and its castle")
    assert asks(host, [*OWN, *MANY]) is None


# -- words of hosts ----------------------------------------------------------------------------------------------------


def test_tools_of_servers_are_told_from_a_hosts_own() -> None:
    assert mcp_tool("claude-code", {"tool_name": "mcp__a__b__c"}) == ("a", "b__c")
    assert mcp_tool("claude-code", {"tool_name": "mcp__plugin_x_y__do"}) == ("plugin_x_y", "do")
    assert mcp_tool("codex", {"tool_name": "shell"}) == ("", "")
    assert mcp_tool("gemini", {"tool_name": "mcp_a_b"}) == ("", "")
    assert mcp_tool("cursor", {"tool_name": "Shell"}) == ("", "")
    assert mcp_tool("openclaw", {"tool_name": "a__b"}) == ("a", "b")
    assert mcp_tool("openclaw", {"tool_name": "exec"}) == ("", "")


@pytest.mark.parametrize(
    "result", [{"isError": True}, '{"is_error": true}', {"error": "x"}, {"success": False}, {"Err": "x"},
               {"Ok": {"isError": True}}],
)  # fmt: skip
def test_a_result_may_say_of_itself_that_it_failed(result: Any) -> None:
    assert has_failed({"tool_response": result}) and not has_failed({"tool_response": {"content": result}})


def test_odd_reports_are_read_without_a_complaint() -> None:
    assert not has_failed({"tool_response": "{broken"}) and not has_failed({})
    assert was_stopped({"failure_type": "permission_denied"}) and not was_stopped({"failure_type": "timeout"})
    assert offered({"llm_request": {"toolConfig": {"allowedFunctionNames": ["a", 5, "b\nc"]}}}) == "a"
    assert offered({"llm_request": []}) == offered({}) == ""
    assert host_name("my server", "do") == "mcp_my_server_do" and len(host_name("s" * 50, "t" * 50)) == 63


def test_memories_that_a_host_wrote_out_are_not_remembered_again() -> None:
    fenced = "&lt;recollect-memory token=1 id=3&gt;llamas&lt;/recollect-memory 1&gt;"
    assert spoken_by_user(f"<hook_context>{fenced}</hook_context>\nFeed the animals") == "Feed the animals"
    assert spoken_by_user(f"Feed the animals\n{fenced}") == "Feed the animals"
    assert spoken_by_agent(f"{fenced} Done.") == "Done."
