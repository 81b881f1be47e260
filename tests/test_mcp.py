"""The MCP server as clients see it, in both protocol eras: tools, layers, costs, questions, errors, profiles."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult, TextContent

from poison import PAYLOADS
from recollect import Memory, load_settings
from recollect.interfaces.mcp.opening import LateMemory
from recollect.interfaces.mcp.server import PROFILES, build
from recollect.text.chunk import estimate_tokens

ERAS = ("2026-07-28", "legacy")
DEFAULT = [
    "memory_search", "memory_timeline", "memory_get", "memory_add", "memory_update", "memory_delete", "memory_stats",
    "memory_cleanup",
]  # fmt: skip
SIX = ["search", "timeline", "get", "save", "stats", "cleanup"]
FIVE = ["memory_add", "memory_search", "memory_get", "memory_stats", "memory_delete"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", space="shop", folder=tmp_path) as found:
        yield found


@asynccontextmanager
async def client_of(memory: Memory, era: str = ERAS[0], profile: str = "default", **more: Any) -> AsyncIterator[Client]:
    async with Client(build(lambda: memory, profile), mode=era, **more) as client:
        yield client


def with_client(memory: Memory, act: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    async def run() -> Any:
        async with client_of(memory, **options) as client:
            return await act(client)

    return anyio.run(run)


def call(memory: Memory, tool: str, arguments: dict[str, Any], **options: Any) -> Any:
    return with_client(memory, lambda client: client.call_tool(tool, arguments), **options)


def text_of(result: Any) -> str:
    content = result.content[0]
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("profile", PROFILES)
def test_every_tool_says_what_it_does_and_in_which_shape_it_answers(memory: Memory, profile: str) -> None:
    listed = with_client(memory, lambda client: client.list_tools(), profile=profile).tools
    for tool in listed:
        hints = tool.annotations
        stated = {hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint}
        assert stated <= {True, False}, tool.name
        assert hints.open_world_hint is False
        assert hints.destructive_hint is (tool.name.rpartition("_")[2] in ("delete", "cleanup"))
        assert tool.description and tool.title and tool.output_schema["type"] == "object"
        assert tool.input_schema["type"] == "object"


@pytest.mark.parametrize("era", ERAS)
def test_the_list_of_tools_has_a_fixed_order_and_may_be_cached(memory: Memory, era: str) -> None:
    once, again = (with_client(memory, lambda client: client.list_tools(), era=era) for _ in range(2))
    assert [tool.name for tool in once.tools][: len(DEFAULT)] == DEFAULT
    assert once.model_dump_json() == again.model_dump_json()
    if era != "legacy":
        assert (once.ttl_ms, once.cache_scope) == (3_600_000, "public")


@pytest.mark.parametrize("era", ERAS)
def test_a_client_adds_searches_walks_the_layers_and_deletes(memory: Memory, era: str) -> None:
    async def walk(client: Client) -> None:
        added = (
            await client.call_tool("memory_add", {"content": "We chose PostgreSQL for billing"})
        ).structured_content
        await client.call_tool("memory_add", {"content": "Deploys happen on Thursdays", "kind": "fact"})
        rows = (await client.call_tool("memory_search", {"query": "billing database"})).structured_content["hits"]
        assert rows[0]["id"] == added["id"] and rows[0]["kind"] == "decision"
        around = (await client.call_tool("memory_timeline", {"id": added["id"]})).structured_content["entries"]
        assert [(each["position"], each["distance"]) for each in around] == [("anchor", 0), ("after", 1)]
        whole = (await client.call_tool("memory_get", {"ids": [added["uid"], 99]})).structured_content
        assert whole["notes"][0]["content"] == "We chose PostgreSQL for billing" and whole["missing"] == ["99"]
        changed = await client.call_tool("memory_update", {"id": added["id"], "importance": 9, "expected_rev": 1})
        assert changed.structured_content["rev"] == 2
        gone = await client.call_tool("memory_delete", {"ids": [added["id"]]})
        assert gone.structured_content == {"deleted": [added["id"]], "confirmed": False}
        assert (await client.call_tool("memory_stats", {})).structured_content["notes"] == 1

    with_client(memory, walk, era=era)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", ["accept", "decline", "no"])
def test_deleting_asks_with_exact_counts_and_obeys(memory: Memory, era: str, answer: str) -> None:
    notes = [memory.add(f"Note number {number}") for number in range(3)]
    asked = []

    async def person(_: Any, question: Any) -> ElicitResult:
        asked.append(question.message)
        if answer == "decline":
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"confirm": answer == "accept"})

    ids = [note.id for note in notes[:2]]
    done = call(memory, "memory_delete", {"ids": ids}, era=era, elicitation_callback=person)
    assert len(asked) == 1 and "Shall 2 notes be deleted?" in asked[0] and "Note number 1" in asked[0]
    deleted = answer == "accept"
    assert done.structured_content == {"deleted": ids if deleted else [], "confirmed": deleted}
    assert [memory.get(number).state for number in ids] == ["deleted" if deleted else "live"] * 2


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("agrees", [True, False])
def test_cleaning_up_asks_with_exact_counts_and_obeys(tmp_path: Path, era: str, agrees: bool) -> None:
    settings = load_settings(store=str(tmp_path / "memory.db"), space="shop", max_notes=10, embedder="none")
    asked = []

    async def person(_: Any, question: Any) -> ElicitResult:
        asked.append(question.message)
        return ElicitResult(action="accept", content={"confirm": agrees})

    with Memory(settings=settings) as memory:
        for number in range(20):
            memory.add(f"Observation number {number}", kind="observation")
        planned = memory.cleanup(dry_run=True).evicted
        assert planned > 0
        call(memory, "memory_cleanup", {"dry_run": True}, era=era, elicitation_callback=person)
        assert not asked
        done = call(memory, "memory_cleanup", {}, era=era, elicitation_callback=person)
        assert len(asked) == 1 and f"{planned} notes evicted" in asked[0]
        assert done.structured_content["confirmed"] is agrees
        assert memory.stats()["notes"] == (20 - planned if agrees else 20)


def test_one_unknown_id_keeps_every_note(memory: Memory) -> None:
    note = memory.add("Stays")
    refused = call(memory, "memory_delete", {"ids": [note.id, 99]})
    assert refused.is_error and refused.meta["recollect/error"]["code"] == "not_found"
    assert memory.get(note.id).state == "live"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("memory_get", {"ids": [99]}, "not_found"),
        ("memory_get", {"ids": ["../../etc/passwd"]}, "invalid_input"),
        ("memory_get", {"ids": []}, "invalid_input"),
        ("memory_search", {"query": "  "}, "invalid_input"),
        ("memory_search", {}, "invalid_input"),
        ("memory_search", {"query": "x", "kinds": ["nonsense"]}, "invalid_input"),
        ("memory_search", {"query": "x", "since": "yesteryear"}, "invalid_input"),
        ("memory_add", {"content": ""}, "invalid_input"),
        ("memory_add", {"content": "x", "importance": 11}, "invalid_input"),
        ("memory_update", {"id": 1}, "invalid_input"),
        ("memory_timeline", {"id": 99}, "not_found"),
        ("no_such_tool", {}, "invalid_input"),
    ],
)
def test_an_error_has_a_code_and_a_hint(memory: Memory, era: str, tool: str, arguments: Any, code: str) -> None:
    refused = call(memory, tool, arguments, era=era)
    assert refused.is_error
    assert refused.structured_content is None  # some clients check it against the schema of success
    error = refused.meta["recollect/error"]
    assert error["code"] == code and error["hint"] and error["message"]
    assert text_of(refused).startswith(f"{code}: ") and "\nhint: " in text_of(refused)


def long_notes(memory: Memory) -> None:
    words = "authentication middleware rewrites session cookies whenever the deployment pipeline rotates credentials "
    memory.add(words * 30)
    memory.add('"quoted" \\ back\\slash ' * 60 + "cookies")
    memory.add("会议决定使用数据库来保存会话凭证" * 20 + " cookies")
    memory.add("cookies " + "\u200b\u202e" * 200, title="cookies " + "\u200b" * 60)
    for number in range(6):
        memory.add(f"{number} {words}", title=f"cookies {number} " + "wide title " * 6)


def test_a_row_costs_at_most_100_tokens_and_a_timeline_entry_200(memory: Memory) -> None:
    long_notes(memory)
    found = call(memory, "memory_search", {"query": "session cookies", "limit": 10})
    rows = found.structured_content["hits"]
    assert len(rows) == 10
    costs = [estimate_tokens(json.dumps(row, ensure_ascii=False, separators=(",", ":"))) for row in rows]
    lines = [line for line in text_of(found).splitlines() if line.startswith("<recollect-memory ")]
    assert len(lines) == len(rows)
    assert max(costs) <= 100 and max(map(estimate_tokens, lines)) <= 100
    around = call(memory, "memory_timeline", {"id": 5})
    entries = around.structured_content["entries"]
    costs = [estimate_tokens(json.dumps(entry, ensure_ascii=False, separators=(",", ":"))) for entry in entries]
    lines = [line for line in text_of(around).splitlines() if line.startswith("<recollect-memory ")]
    assert max(costs) <= 200 and max(map(estimate_tokens, lines)) <= 200


def test_poison_comes_back_fenced_and_marked(memory: Memory) -> None:
    for payload in PAYLOADS:
        memory.add(f"{payload} poisoned", origin="web")
    for tool, arguments in (
        ("memory_search", {"query": "poisoned instructions", "limit": 100}),
        ("memory_get", {"ids": list(range(1, 51))}),
        ("memory_timeline", {"id": 20, "before": 19, "after": 50}),
    ):
        text = text_of(call(memory, tool, arguments))
        blocks = re.findall(r"<recollect-memory (token=(\w+) [^<>]*)>(.*?)</recollect-memory \2>", text, re.DOTALL)
        assert len(blocks) >= 50 and len({token for _, token, _ in blocks}) == 1
        assert all("trusted=no" in attributes and "origin=web" in attributes for attributes, _, _ in blocks)
        outside = re.sub(r"<recollect-memory .*?</recollect-memory \w+>", "", text, flags=re.DOTALL)
        assert "<recollect-memory" not in outside and "</recollect-memory" not in outside
        assert "Ignore all previous" not in outside and "poisoned" not in outside


def test_resources_and_prompts_answer(memory: Memory) -> None:
    note = memory.add("We chose PostgreSQL for billing")
    session = memory.start_session("one", agent="tests")
    memory.end_session(session, summary="Spoke of billing")

    async def read(client: Client) -> None:
        assert [str(each.uri) for each in (await client.list_resources()).resources] == ["memory://recent"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == ["memory://note/{id}", "memory://session/{uid}"]
        for address, words in (
            ("memory://recent", "We chose PostgreSQL"),
            (f"memory://note/{note.id}", "for billing</recollect-memory"),
            (f"memory://session/{session.uid}", "Spoke of billing"),
        ):
            found = await client.read_resource(address)
            assert words in getattr(found.contents[0], "text", "")
        with pytest.raises(Exception, match="no note 99"):
            await client.read_resource("memory://note/99")
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["recall", "hand_over"]
        recalled = await client.get_prompt("recall", {"topic": "billing"})
        assert "We chose PostgreSQL" in getattr(recalled.messages[0].content, "text", "")
        assert "memory_add" in getattr((await client.get_prompt("hand_over")).messages[0].content, "text", "")

    with_client(memory, read)


def test_sessions_can_be_read_under_their_profile(memory: Memory) -> None:
    from recollect import Turn

    session = memory.start_session("one", agent="tests", title="Billing")
    memory.add_turns(session, [Turn("user", "Which database?"), Turn("assistant", "PostgreSQL.")])
    rows = call(memory, "memory_sessions", {}, profile="sessions").structured_content["sessions"]
    assert rows[0]["uid"] == session.uid and rows[0]["turns"] == 2
    page = call(memory, "memory_session", {"uid": session.uid, "start": 1}, profile="sessions").structured_content
    assert [turn["text"] for turn in page["turns"]] == ["PostgreSQL."]


# -- tools of other products -------------------------------------------------------------------------------------------


def test_the_six_rulebook_tools_answer_with_their_own_fields(memory: Memory) -> None:
    expected = [f"rulebook_memory_{name}" for name in SIX]

    async def use(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == expected
        search = listed[0].input_schema
        assert list(search["properties"]) == ["query", "limit", "mode", "type"] and search["required"] == ["query"]
        assert (search["properties"]["limit"]["default"], search["properties"]["mode"]["default"]) == (20, "hybrid")
        given = {"type": "decision", "title": "Database", "content": "PostgreSQL it is", "tags": ["db"]}
        saved = (await client.call_tool("rulebook_memory_save", given)).structured_content
        uid = saved["memory"]["id"]
        assert saved == {"success": True, "memory": {"id": uid, "type": "decision", "title": "Database"}}
        found = (await client.call_tool("rulebook_memory_search", {"query": "PostgreSQL"})).structured_content
        assert set(found["results"][0]) == {"id", "title", "type", "score", "matchType", "createdAt"}
        assert found["total"] == 1 and found["results"][0]["matchType"] in ("bm25", "vector", "both")
        around = await client.call_tool("rulebook_memory_timeline", {"memoryId": uid})
        assert around.structured_content["timeline"][0]["position"] == "anchor"
        assert around.structured_content["timeline"][0]["distanceFromAnchor"] == 0
        whole = (await client.call_tool("rulebook_memory_get", {"ids": [uid]})).structured_content
        assert whole["memories"][0]["content"] == "PostgreSQL it is"
        stats = (await client.call_tool("rulebook_memory_stats", {})).structured_content
        assert stats["memoryCount"] == 1 and stats["indexHealth"] in ("good", "degraded", "needs-rebuild")
        assert {"dbSizeBytes", "sessionCount", "oldestMemory", "newestMemory", "maxSizeBytes", "usagePercent"} < set(
            stats
        )
        cleaned = (await client.call_tool("rulebook_memory_cleanup", {})).structured_content
        assert cleaned == {"success": True, "evictedCount": 0, "freedBytes": 0}
        refused = await client.call_tool("rulebook_memory_get", {"ids": ["nonsense"]})
        assert json.loads(text_of(refused))["success"] is False

    with_client(memory, use, profile="rulebook")


def test_rulebook_tools_say_when_memory_is_switched_off(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_OFF", "1")
    refused = json.loads(text_of(call(memory, "rulebook_memory_stats", {}, profile="rulebook")))
    assert refused["success"] is False and refused["error"].startswith("Memory system is not enabled.")


def test_the_five_mudpuppy_tools_answer_with_their_own_fields(memory: Memory) -> None:
    async def use(client: Client) -> None:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == FIVE
        add, search = listed[0].input_schema["properties"], listed[1].input_schema["properties"]
        assert (add["entryType"]["default"], add["source"]["default"]) == ("fact", "manual")
        assert list(search) == ["query", "mode", "limit", "entryTypes", "minImportance", "minConfidence", "tags"]
        assert search["limit"]["default"] == 10
        added = (await client.call_tool("memory_add", {"content": "Tea is hot"})).structured_content
        assert added == {"id": 1, "created": True, "duplicate": False}
        again = (await client.call_tool("memory_add", {"content": "Tea is hot"})).structured_content
        assert again == {"id": 1, "created": False, "duplicate": True}
        found = (await client.call_tool("memory_search", {"query": "tea", "entryTypes": ["fact"]})).structured_content
        assert found["total"] == 1 and found["results"][0]["content"] == "Tea is hot"
        assert found["results"][0]["score"] == round(found["results"][0]["score"], 3)
        assert set(found["results"][0]["matchedBy"]) <= {"keyword", "vector"}
        whole = (await client.call_tool("memory_get", {"id": 1})).structured_content
        assert (whole["entryType"], whole["source"]) == ("fact", "manual")
        missing = json.loads(text_of(await client.call_tool("memory_get", {"id": 99})))
        assert missing["error"] == "Memory entry not found: 99"
        bad = json.loads(text_of(await client.call_tool("memory_search", {"query": " "})))
        assert bad["error"] and (bad["results"], bad["total"]) == ([], 0)
        stats = (await client.call_tool("memory_stats", {})).structured_content
        assert stats["totalEntries"] == 1 and stats["byType"] == {"fact": 1}
        gone = (await client.call_tool("memory_delete", {"id": 1})).structured_content
        assert gone == {"success": True, "deleted": True}
        assert (await client.call_tool("memory_delete", {"id": 1})).structured_content["deleted"] is False

    with_client(memory, use, profile="mudpuppy")


def test_listing_tools_opens_no_store(tmp_path: Path) -> None:
    late = LateMemory(lambda: Memory(tmp_path / "late.db", space="shop"))

    async def run() -> None:
        async with Client(build(late)) as client:
            await client.list_tools()
            assert not (tmp_path / "late.db").exists()
            await client.call_tool("memory_stats", {})
            assert (tmp_path / "late.db").exists()

    anyio.run(run)
    late.close()
