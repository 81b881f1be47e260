"""Each agent's transcript becomes what was said in it, and nothing else."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from readers_corpus import LINE_FORMATS, TALK, as_lines, claude, codex, gemini, pack_zstd, put, transcript, tree
from recollect.fence import NOTICE, Fence
from recollect.readers import (
    Head,
    Mark,
    Rewind,
    Said,
    Skip,
    TranscriptReader,
    conversation_text,
)
from recollect.readers.clean import spoken_by_agent, spoken_by_user
from recollect.readers.fields import time_of


def items(path: Path) -> list[Any]:
    return list(transcript(path).read(path))


def talk(path: Path) -> list[tuple[str, str]]:
    return [(item.speaker, item.text) for item in items(path) if isinstance(item, Said)]


def skips(path: Path) -> list[str]:
    return [item.reason for item in items(path) if isinstance(item, Skip)]


def heads(path: Path) -> list[Head]:
    return [item for item in items(path) if isinstance(item, Head)]


def written(folder: Path, *records: Any, place: str = "5e55.jsonl") -> Path:
    return put(folder, place, as_lines(records))


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_every_line_format_is_recognised_and_gives_exactly_what_was_said(name: str, tmp_path: Path) -> None:
    make, place = LINE_FORMATS[name]
    path = put(tmp_path, place, as_lines(make(TALK)))
    assert transcript(path).name == name
    assert talk(path) == TALK


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_a_turn_has_an_id_an_origin_a_time_and_a_line(name: str, tmp_path: Path) -> None:
    make, place = LINE_FORMATS[name]
    path = put(tmp_path, place, as_lines(make(TALK)))
    turns = [item for item in items(path) if isinstance(item, Said)]
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len({turn.record for turn in turns}) == len(turns)
    assert [turn.origin for turn in turns] == ["user", "agent", "user", "agent"]
    assert all(turn.at_ms > 1_700_000_000_000 for turn in turns)
    for turn in turns:
        assert turn.line is not None
        assert json.dumps(turn.text, ensure_ascii=False)[1:-1].split("\\n")[0] in lines[turn.line - 1]


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_reading_twice_gives_the_same(name: str, tmp_path: Path) -> None:
    make, place = LINE_FORMATS[name]
    path = put(tmp_path, place, as_lines(make(TALK)))
    assert items(path) == items(path)


def test_a_head_comes_before_what_was_said_and_knows_the_session(tmp_path: Path) -> None:
    for name, folder in [("claude-code", "/srv/tree"), ("codex", "/srv/tree"), ("pi", "/srv/tree")]:
        make, place = LINE_FORMATS[name]
        found = items(put(tmp_path, place, as_lines(make(TALK))))
        first = next(index for index, item in enumerate(found) if isinstance(item, Said))
        head = next(item for item in reversed(found[:first]) if isinstance(item, Head))
        assert (head.agent, head.cwd, head.started_ms) == (name, folder, 1772359200000)
        assert head.key


# --- Claude Code


def line(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": role, "sessionId": "5e55", "uuid": "u", "message": {"role": role, "content": content}} | more


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (line("user", "do as I say", isMeta=True), "injected context"),
        (line("user", [{"type": "tool_result", "content": "ok"}]), "tool call or result"),
        (line("user", [{"type": "tool_result", "content": "ok"}], isMeta=True), "tool call or result"),
        (line("assistant", [{"type": "tool_use", "name": "Bash", "input": {}}]), "tool call or result"),
        (line("assistant", [{"type": "thinking", "thinking": "hm"}]), "hidden reasoning"),
        (line("user", "This session was long", isCompactSummary=True), "compaction summary"),
        (line("assistant", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True), "error message"),
        (line("user", "<system-reminder>\nbe brief\n</system-reminder>"), "injected context"),
        (line("user", "<local-command-stdout>12 files</local-command-stdout>"), "injected context"),
        (line("user", "[Request interrupted by user for tool use]"), "injected context"),
        (line("user", []), "no text"),
        ({"type": "file-history-snapshot", "sessionId": "5e55"}, "not a message"),
        ({"type": "something-new", "sessionId": "5e55"}, "unknown record type"),
        ({"type": "user", "sessionId": "5e55", "message": "not an object"}, "no text"),
        ([1, 2], "malformed line"),
        ("a string", "malformed line"),
    ],
)
def test_what_nobody_said_is_left_out_with_its_reason(record: Any, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, *claude([("user", "hello")]), record)
    assert talk(path) == [("user", "hello")]
    assert skips(path) == [reason]


def test_a_malformed_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    good = as_lines(claude(TALK))
    path = put(tmp_path, "a.jsonl", b"{broken\n" + good + b'{"type": "user", "message": \n' + b"\x00\x00\x00\n")
    assert talk(path) == TALK
    assert skips(path) == ["malformed line", "malformed line"]


def test_a_command_keeps_what_the_person_typed_after_it(tmp_path: Path) -> None:
    typed = (
        "<command-name>/plan</command-name>\n<command-message>plan</command-message>\n<command-args>{}</command-args>"
    )
    path = written(tmp_path, line("user", typed.format("a pond")), line("user", typed.format("")))
    assert talk(path) == [("user", "/plan a pond")]


def test_what_was_typed_while_the_agent_worked_is_heard(tmp_path: Path) -> None:
    queued = {"type": "queued_command", "prompt": "and a bench", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "task 3 is done", "commandMode": "task-notification"}
    records = [
        {"type": "attachment", "sessionId": "5e55", "uuid": "a", "attachment": each} for each in (queued, notice)
    ]
    path = written(tmp_path, *claude([("user", "hello")]), *records)
    assert talk(path) == [("user", "hello"), ("user", "and a bench")]


def test_the_persons_own_title_wins(tmp_path: Path) -> None:
    titles = [
        {"type": "custom-title", "sessionId": "5e55", "customTitle": "River bank"},
        {"type": "ai-title", "sessionId": "5e55", "aiTitle": "A chat about willows"},
        {"type": "summary", "summary": "Willows were planted", "leafUuid": "u1"},
    ]
    path = written(tmp_path, *claude(TALK), *titles)
    assert [head.title for head in heads(path)] == ["Talk about trees", "River bank"]


def test_a_subagent_has_its_own_session_and_its_task_comes_from_an_agent(tmp_path: Path) -> None:
    records = [
        line("user", "Find the oldest tree", isSidechain=True, agentId="ab1"),
        line("assistant", [{"type": "text", "text": "The oak."}], isSidechain=True, agentId="ab1"),
    ]
    path = written(tmp_path, *records, place="5e55/subagents/agent-ab1.jsonl")
    (head,) = heads(path)
    assert (head.key, head.parent) == ("5e55/agent-ab1", "5e55")
    origins = [item.origin for item in items(path) if isinstance(item, Said)]
    assert origins == ["agent", "agent"]


def test_a_line_of_another_session_is_told_under_that_session(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        line("user", "old words", sessionId="old", uuid="o1", cwd="/old"),
        line("user", "new words", sessionId="new", uuid="n1", cwd="/new"),
    )
    told = [(item.key, item.cwd) if isinstance(item, Head) else item.text for item in items(path)[:-1]]
    assert told == [("old", "/old"), "old words", ("new", "/new"), "new words"]


def test_a_first_line_longer_than_the_head_is_still_recognised(tmp_path: Path) -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "A" * 100_000}}
    path = written(tmp_path, line("user", [picture, {"type": "text", "text": "what is this?"}]))
    assert talk(path) == [("user", "what is this?")]


def test_a_web_export_of_claude_code_is_read_as_one_document(tmp_path: Path) -> None:
    path = put(tmp_path, "session.json", json.dumps({"loglines": claude(TALK)}, indent=1).encode())
    assert talk(path) == TALK


# --- Codex


def item(role: str, *texts: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"timestamp": "2026-03-01T10:00:00Z", "type": "response_item",
            "payload": {"type": "message", "role": role, "content": content}}  # fmt: skip


def test_codex_context_is_not_taken_for_the_persons_words(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        *codex([])[:1],
        item("developer", "<permissions instructions>\nask first\n</permissions instructions>"),
        item("user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
        item("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>"),
        item("user", "<permissions instructions>\nnever\n</permissions instructions>"),
        item("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>", "dig a pond"),
        item("user", "why does <instructions> not close here?"),
    )
    assert talk(path) == [("user", "dig a pond"), ("user", "why does <instructions> not close here?")]
    assert skips(path) == ["injected context"] * 4


@pytest.mark.parametrize("pack", [gzip.compress, pack_zstd])
def test_packed_transcripts_are_read_and_read_on(pack: Any, tmp_path: Path) -> None:
    ending = "gz" if pack is gzip.compress else "zst"
    whole = as_lines(codex(TALK))
    path = put(tmp_path, f"rollout.jsonl.{ending}", pack(whole))
    assert talk(path) == TALK
    reader = transcript(path)
    mark = next(each for each in reader.read(path) if isinstance(each, Mark))
    assert mark.offset == len(whole)
    path.write_bytes(pack(whole + as_lines([item("user", "one more")])))
    again = [each.text for each in reader.read(path, mark.offset, mark.state) if isinstance(each, Said)]
    assert again == ["one more"]


@pytest.mark.parametrize("pack", [gzip.compress, pack_zstd])
def test_a_packed_transcript_that_is_cut_short_gives_what_can_be_had(pack: Any, tmp_path: Path) -> None:
    many = [("user", f"message {index} {index * 7919 % 104729}") for index in range(20_000)]
    packed = pack(as_lines(codex(many)))
    path = put(tmp_path, "rollout.jsonl.packed", packed[: len(packed) * 2 // 3])
    found = items(path)
    assert 0 < len([each for each in found if isinstance(each, Said)]) < 20_000
    assert found[-2] == Skip("packed data is damaged or cut short")


def test_codex_rollouts_from_before_the_envelope_are_read(tmp_path: Path) -> None:
    header: dict[str, Any] = {"id": "0ld", "timestamp": "2025-05-01T10:00:00Z", "instructions": None, "git": {}}
    bare = [{"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]} for role, text in TALK]
    path = written(tmp_path, header, {"record_type": "state"}, *bare, {"type": "reasoning", "summary": []})
    assert talk(path) == TALK
    assert heads(path)[0].key == "0ld"


def test_a_fork_keeps_its_own_key_although_it_copies_the_other_header(tmp_path: Path) -> None:
    own = {"type": "session_meta", "payload": {"id": "fork", "forked_from_id": "first", "cwd": "/x"}}
    copied = {"type": "session_meta", "payload": {"id": "first", "cwd": "/x"}}
    path = written(tmp_path, own, copied, item("user", "go on"))
    assert {(head.key, head.parent) for head in heads(path)} == {("fork", "first")}


# --- Gemini CLI


def test_a_rewind_is_told_where_it_happened(tmp_path: Path) -> None:
    records = gemini(TALK)
    path = written(tmp_path, *records, {"$rewindTo": "g1"}, *gemini([("user", "Alders instead")])[1:])
    told = [each for each in items(path) if isinstance(each, Said | Rewind)]
    assert told[4] == Rewind("g1")
    assert isinstance(told[5], Said)
    assert told[5].text == "Alders instead"


def test_messages_set_anew_are_told_under_their_ids(tmp_path: Path) -> None:
    records = gemini(TALK[:2])
    update = {"$set": {"messages": [*records[1::2], {"id": "g9", "type": "user", "content": "and birches"}]}}
    found = [each for each in items(written(tmp_path, *records, update)) if isinstance(each, Said)]
    assert [each.record for each in found] == ["g0", "g1", "g0", "g1", "g9"]


def test_an_older_gemini_document_is_read_with_its_title(tmp_path: Path) -> None:
    document = {"sessionId": "9e41", "projectHash": "ab12", "startTime": "2026-03-01T10:00:00Z", "summary": "Trees",
                "messages": [*gemini(TALK)[1::2], {"id": "i", "type": "info", "content": "Ready"}]}  # fmt: skip
    compact = put(tmp_path, "chats/compact.json", json.dumps(document).encode())
    path = put(tmp_path, "chats/session-9e41.json", json.dumps(document, indent=2).encode())
    assert talk(path) == talk(compact) == TALK
    assert skips(path) == ["not a message"]
    assert heads(path)[0].title == "Trees"


def test_gemini_words_are_those_that_were_typed(tmp_path: Path) -> None:
    expanded = {"id": "x", "type": "user", "content": [{"text": "see @notes.md"}, {"text": "--- file ---"}],
                "displayContent": "see @notes.md"}  # fmt: skip
    thought = {"id": "y", "type": "gemini", "content": [{"text": "let me think", "thought": True}, {"text": "Fine."}]}
    path = written(tmp_path, *gemini([]), expanded, thought)
    assert talk(path) == [("user", "see @notes.md"), ("assistant", "Fine.")]


def test_the_project_of_a_gemini_session_comes_from_the_note_beside_it(tmp_path: Path) -> None:
    put(tmp_path, "tmp/tree/.project_root", b"/srv/tree\n")
    path = put(tmp_path, "tmp/tree/chats/session.jsonl", as_lines(gemini(TALK)))
    assert heads(path)[-1].cwd == "/srv/tree"


# --- Cursor, OpenClaw, pi, plain lines


def test_cursor_keeps_only_the_query_and_learns_the_workspace(tmp_path: Path) -> None:
    sent = "<user_info>\nOS Version: linux\nWorkspace Path: /srv/tree\n</user_info>\n<user_query>\ndig\n</user_query>"
    path = written(tmp_path, {"role": "user", "message": {"content": [{"type": "text", "text": sent}]}})
    assert talk(path) == [("user", "dig")]
    assert heads(path)[0].cwd == "/srv/tree"


def test_openclaw_metadata_and_signs_are_taken_off(tmp_path: Path) -> None:
    noted = 'Sender (untrusted metadata):\n```json\n{"id": "7"}\n```\n\n[Sun 2026-03-01 10:00 GMT+1] plant a rose'
    said = [("user", noted), ("assistant", "[[reply_to_current]] Done."), ("assistant", "NO_REPLY")]
    path = written(tmp_path, *tree(said), place=".openclaw/agents/main/sessions/7ree.jsonl")
    assert talk(path) == [("user", "plant a rose"), ("assistant", "Done.")]


def test_what_another_session_sent_is_not_the_persons(tmp_path: Path) -> None:
    records = tree([("user", "from afar"), ("user", "a cron job")])
    records[2]["message"]["provenance"] = {"kind": "inter_session"}
    records[3]["message"]["provenance"] = {"kind": "internal_system"}
    found = [each for each in items(written(tmp_path, *records)) if isinstance(each, Said)]
    assert [(each.origin, each.text) for each in found] == [("agent", "from afar")]


def test_all_branches_of_a_tree_are_told_and_the_session_may_have_a_name(tmp_path: Path) -> None:
    records = [*tree(TALK), {"type": "session_info", "id": "i", "timestamp": "2026-03-01T10:00:00Z", "name": "Garden"},
               {"type": "compaction", "id": "c", "timestamp": "2026-03-01T10:00:00Z", "summary": "…"}]  # fmt: skip
    path = written(tmp_path, *records)
    assert talk(path) == TALK
    assert heads(path)[-1].title == "Garden"
    assert skips(path) == ["not a message", "compaction summary"]


def test_plain_lines_without_a_session_are_named_after_their_file(tmp_path: Path) -> None:
    first = put(tmp_path, "a/monday.jsonl", as_lines([{"role": "user", "content": "hi", "timestamp": 1772359200}]))
    second = put(tmp_path, "b/monday.jsonl", first.read_bytes())
    keys = [heads(path)[0].key for path in (first, second)]
    assert keys[0] != keys[1]
    assert all(key.startswith("monday-") for key in keys)
    assert [each.at_ms for each in items(first) if isinstance(each, Said)] == [1772359200000]


def test_only_user_and_assistant_of_plain_lines_are_heard(tmp_path: Path) -> None:
    records = [
        {"role": "system", "content": "be kind"},
        {"role": "tool_result", "content": "12 files", "toolName": "ls"},
        {"role": "human", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [{}]},
        {"role": "ai", "content": "hello"},
    ]
    path = written(tmp_path, *records)
    assert talk(path) == [("user", "hi"), ("assistant", "hello")]
    assert skips(path) == ["injected context", "tool call or result", "tool call or result"]


def test_a_conversation_as_text_has_speaker_and_time_above_each_turn() -> None:
    turns = [
        Said("1", "user", "user", "hi\nthere", 1772359200000),
        Said("2", "assistant", "agent", "yes", 1772359201500),
    ]
    assert conversation_text(turns) == (
        "[user] 2026-03-01T10:00:00.000Z\nhi\nthere\n\n[assistant] 2026-03-01T10:00:01.500Z\nyes"
    )


def test_a_document_of_messages_is_read(tmp_path: Path) -> None:
    document = {"session_id": "h3", "cwd": "/work", "title": "Trees", "messages": [
        {"role": role, "content": words} for role, words in TALK]}  # fmt: skip
    path = put(tmp_path, "chat.json", json.dumps(document, indent=2).encode())
    assert talk(path) == TALK
    assert heads(path)[0] == Head("json", "h3", "/work", "Trees")


# --- cleaning


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ("hello", "hello"),
        ("before\n<system-reminder>x</system-reminder>\nafter", "before\n\nafter"),
        ("<system-reminder>a</system-reminder><system-reminder>b</system-reminder>dig", "dig"),
        ("<recollect-memory origin=user>\nwillows\n</recollect-memory>\ndig", "dig"),
        ("dig <recollect-memory>willows</recollect-memory> here", "dig  here"),
        ("dig\n<recollect-memory>willows that were cut off", "dig"),
        ("what does `<system-reminder>` mean?", "what does `<system-reminder>` mean?"),
        ("<div>\nmy own page\n</div>", "<div>\nmy own page\n</div>"),
        ("a < b and c > d", "a < b and c > d"),
        ("<instructions>\nmine\n</instructions>", "<instructions>\nmine\n</instructions>"),
        ("<user-memory-input>use tabs</user-memory-input>", "use tabs"),
    ],
)
def test_injected_blocks_go_and_a_persons_words_stay(typed: str, heard: str) -> None:
    assert spoken_by_user(typed) == heard


def test_an_assistant_may_quote_tags_but_never_our_memories() -> None:
    quoted = "Use it like this:\n<system-reminder>be brief</system-reminder>"
    assert spoken_by_agent(quoted) == quoted
    assert spoken_by_agent("I recall <recollect-memory>willows</recollect-memory>.") == "I recall ."


def test_what_we_recalled_is_dropped_just_as_the_fence_wrote_it() -> None:
    fence = Fence()
    memories = [
        fence("willows </recollect-memory> like water", id=7, trusted=True),
        fence("alders\ntoo", origin="user"),
    ]
    recalled = "\n".join([NOTICE, *memories])
    assert spoken_by_user(f"{recalled}\n\nplant a willow") == "plant a willow"
    assert spoken_by_user(f"{NOTICE}\nplant a willow") == "plant a willow"
    assert spoken_by_user(f"plant a willow\n{recalled}") == "plant a willow"
    assert spoken_by_agent(f"As I recall:\n{memories[0]}\nDone.") == "As I recall:\n\nDone."


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["<system-reminder>\n", "<ide_selection>\n", "<a", "<recollect-memory>", "<user_query>", "> <", "\n<b x"]
)
def test_cleaning_takes_time_linear_in_the_text(piece: str) -> None:
    spoken_by_user(piece * (1_000_000 // len(piece)))  # the run's time limit is the assertion


@pytest.mark.parametrize(
    ("value", "at_ms"),
    [
        ("2026-03-01T10:00:00.000Z", 1772359200000), ("2026-03-01T11:00:00+01:00", 1772359200000),
        ("2026-03-01T10:00:00", 1772359200000), (1772359200, 1772359200000), (1772359200000, 1772359200000),
        (1772359200000000, 1772359200000), (1772359200.5, 1772359200500), ("[trimmed]", 0), ("", 0), (None, 0), (-5, 0),
        (True, 0), (float("nan"), 0), (10**400, 0), ("9" * 500, 0), ("0001-01-01T00:00:00Z", 0), ({}, 0),
    ],
)  # fmt: skip
def test_times_come_in_many_forms_and_odd_ones_are_no_time(value: Any, at_ms: int) -> None:
    assert time_of(value) == at_ms


def test_text_that_no_store_can_hold_is_made_storable(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", rb'{"role": "user", "content": "a\ud800b\u0000c"}' + b"\n")
    assert talk(path) == [("user", "a\ufffdb\ufffdc")]


def test_the_protocol_is_what_readers_are() -> None:
    from recollect.readers import transcript_readers

    readers: tuple[TranscriptReader, ...] = transcript_readers()
    assert all(reader.name for reader in readers)


@pytest.mark.parametrize("ending", [".1", ".2.gz", ".reset.2026-03-01"])
@pytest.mark.parametrize("place", ["chat.jsonl", "agent-a1.jsonl"])
def test_a_file_that_was_rotated_away_tells_of_the_same_session(place: str, ending: str, tmp_path: Path) -> None:
    records = claude(TALK) if place.startswith("agent") else [{"role": "user", "content": "hello"}]
    for record in records:
        record.pop("sessionId", None)
    before = heads(put(tmp_path, place, as_lines(records)))
    content = gzip.compress(as_lines(records)) if ending.endswith("gz") else as_lines(records)
    assert [head.key for head in heads(put(tmp_path, place + ending, content))] == [head.key for head in before]
