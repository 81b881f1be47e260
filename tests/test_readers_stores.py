"""Databases, documents and plain files; which reader is chosen; where agents keep their histories."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect.readers
from readers_corpus import LINE_FORMATS, TALK, as_lines, claude, pack_zstd, put, transcript, tree
from recollect.readers import (
    FileReader,
    Head,
    Item,
    Mark,
    Rewind,
    Said,
    Skip,
    Text,
    agent_histories,
    reader_for,
)


def talk(items: list[Item]) -> list[tuple[str, str]]:
    return [(item.speaker, item.text) for item in items if isinstance(item, Said)]


def read(path: Path, mark: Mark | None = None) -> list[Item]:
    return list(transcript(path).read(path, 0, mark.state if mark else None))


def final(items: list[Item]) -> Mark:
    assert isinstance(items[-1], Mark)
    return Mark(0, 0, json.loads(json.dumps(items[-1].state)))


# --- Cursor's store


def cursor_store(folder: Path) -> Path:
    path = folder / ".cursor" / "chats" / "0a1b" / "c0ffee" / "store.db"
    path.parent.mkdir(parents=True)
    meta = json.dumps({"agentId": "c0ffee", "name": "Trees", "createdAt": 1772359200000, "latestRootBlobId": "root"})
    database = apsw.Connection(str(path))
    database.execute(
        "create table blobs (id text primary key, data blob); create table meta (key text primary key, value text)"
    )
    database.execute("insert into meta values ('0', ?)", (meta.encode().hex(),))
    database.close()
    cursor_says(path, [("system", "You are an agent"), *TALK, ("tool", "12 files")])
    return path


def cursor_says(path: Path, messages: list[tuple[str, str]]) -> None:
    database = apsw.Connection(str(path))
    for role, words in messages:
        count = database.execute("select count(*) from blobs").fetchone()[0]  # type: ignore[index]
        content = json.dumps({"role": role, "content": [{"type": "text", "text": words}], "id": "1"}).encode()
        database.execute("insert into blobs values (?, ?)", (f"hash{count}", content))
        database.execute("insert into blobs values (?, ?)", (f"tree{count}", b"\x0a\x20" + bytes(32)))
    database.close()


def test_cursors_store_gives_its_messages_in_order(tmp_path: Path) -> None:
    path = cursor_store(tmp_path)
    items = read(path)
    assert transcript(path).name == "cursor"
    assert talk(items) == TALK
    assert items[0] == Head("cursor", "c0ffee", "", "Trees", 1772359200000)
    assert [item.reason for item in items if isinstance(item, Skip)] == ["injected context", "tool call or result"]
    assert [item.record for item in items if isinstance(item, Said)] == ["hash2", "hash4", "hash6", "hash8"]


def test_cursors_store_takes_its_title_from_the_notes_beside_it(tmp_path: Path) -> None:
    path = cursor_store(tmp_path)
    path.with_name("meta.json").write_text(json.dumps({"title": "Oaks and beeches", "createdAtMs": 1}))
    assert read(path)[0] == Head("cursor", "c0ffee", "", "Oaks and beeches", 1772359200000)
    path.with_name("meta.json").write_text("{torn")
    assert read(path)[0] == Head("cursor", "c0ffee", "", "Trees", 1772359200000)


def test_cursors_store_is_read_on_from_its_mark(tmp_path: Path) -> None:
    path = cursor_store(tmp_path)
    mark = final(read(path))
    assert talk(read(path, mark)) == []
    cursor_says(path, [("user", "and a bench")])
    assert talk(read(path, mark)) == [("user", "and a bench")]


def test_a_store_that_was_replaced_is_read_from_the_top(tmp_path: Path) -> None:
    path = cursor_store(tmp_path)
    mark = final(read(path))
    database = apsw.Connection(str(path))
    database.execute("delete from blobs")
    database.execute("insert into blobs values ('other', ?)", (b'{"role": "user", "content": "anew"}',))
    database.close()
    assert talk(read(path, mark)) == [("user", "anew")]


def test_a_database_is_never_changed_and_a_busy_one_is_reported(tmp_path: Path) -> None:
    path = cursor_store(tmp_path)
    before = path.read_bytes()
    read(path)
    assert path.read_bytes() == before
    reader = transcript(path)
    writer = apsw.Connection(str(path))
    writer.execute("begin exclusive")
    assert list(reader.read(path)) == [Skip("database is busy")]
    writer.execute("rollback")
    writer.close()


def test_what_a_running_agent_wrote_but_not_yet_folded_in_is_read(tmp_path: Path) -> None:
    path = cursor_store(tmp_path)
    agent = apsw.Connection(str(path))
    agent.execute("pragma journal_mode = wal")
    agent.execute("insert into blobs values ('new', ?)", (b'{"role": "user", "content": "just now"}',))
    assert talk(read(path)) == [*TALK, ("user", "just now")]
    agent.close()


def test_a_damaged_or_unknown_database_is_refused_with_a_reason(tmp_path: Path) -> None:
    unknown = tmp_path / "app.db"
    database = apsw.Connection(str(unknown))
    database.execute("create table shopping (item)")
    database.close()
    assert reader_for(unknown) == Skip("unknown database")
    path = cursor_store(tmp_path)
    reader = transcript(path)
    path.write_bytes(path.read_bytes()[:4096] + os.urandom(4096))
    assert any(isinstance(item, Skip) and item.reason.startswith("database cannot") for item in reader.read(path))


# --- OpenClaw's database


def openclaw_store(folder: Path, sessions: dict[str, list[dict[str, Any]]]) -> Path:
    path = folder / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = apsw.Connection(str(path))
    database.execute(
        "create table if not exists transcript_events"
        " (session_id text, seq integer, event_json text, created_at integer, primary key (session_id, seq))"
    )
    for session, records in sessions.items():
        rows = [(session, seq, json.dumps(record), 0) for seq, record in enumerate(records)]
        database.executemany("insert or replace into transcript_events values (?, ?, ?, ?)", rows)
    database.close()
    return path


def test_openclaws_database_gives_every_session(tmp_path: Path) -> None:
    path = openclaw_store(tmp_path, {"s1": tree(TALK), "s2": tree([("user", "hi")])})
    items = read(path)
    assert transcript(path).name == "openclaw"
    assert talk(items) == [*TALK, ("user", "hi")]
    heads = [item for item in items if isinstance(item, Head)]
    assert [(head.key, head.cwd) for head in heads] == [("s1", "/srv/tree"), ("s2", "/srv/tree")]


def test_openclaws_packed_records_are_unpacked(tmp_path: Path) -> None:
    path = openclaw_store(tmp_path, {"s1": tree(TALK)})
    plain = read(path)
    database = apsw.Connection(str(path))
    database.execute("alter table transcript_events add column event_zstd blob")
    for seq, event in database.execute("select seq, event_json from transcript_events where seq % 2 = 1").fetchall():
        packed = pack_zstd(str(event).encode())
        database.execute("update transcript_events set event_json = null, event_zstd = ? where seq = ?", (packed, seq))
    assert read(path) == plain
    database.execute("update transcript_events set event_zstd = substr(event_zstd, 1, 12) where event_json is null")
    database.close()
    left = [item.reason for item in read(path) if isinstance(item, Skip)]
    assert {"malformed record", "packed data is damaged or cut short"} & set(left)


def test_openclaws_database_is_read_on_session_by_session(tmp_path: Path) -> None:
    mark = final(read(openclaw_store(tmp_path, {"s1": tree(TALK[:2]), "s2": tree([("user", "hi")])})))
    path = openclaw_store(tmp_path, {"s1": tree(TALK)})
    items = read(path, mark)
    assert talk(items) == TALK[2:]
    assert [item.key for item in items if isinstance(item, Head)] == ["s1"]


# --- OpenCode


def test_opencodes_database_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    database = apsw.Connection(str(path))
    database.execute(
        "create table session (id, parent_id, directory, title, time_created int, time_updated int);"
        "create table message (id text, session_id text, time_created int, data text);"
        "create table part (id text, message_id text, session_id text, data text)"
    )
    database.execute("insert into session values ('s', null, '/srv/tree', 'Trees', 1772359200000, 1772359300000)")
    for index, (role, words) in enumerate(TALK):
        data = json.dumps({"role": role})
        database.execute("insert into message values (?, 's', ?, ?)", (f"m{index}", 1772359200000 + index, data))
        parts = [{"type": "tool", "tool": "ls"}, {"type": "text", "text": words},
                 {"type": "text", "text": "made up", "synthetic": True}]  # fmt: skip
        for number, part in enumerate(parts):
            row = (f"p{index}{number}", f"m{index}", json.dumps(part))
            database.execute("insert into part values (?, ?, 's', ?)", row)
    database.close()
    items = read(path)
    assert talk(items) == TALK
    assert items[0] == Head("opencode", "s", "/srv/tree", "Trees", 1772359200000)


def test_opencodes_files_are_read_through_the_session(tmp_path: Path) -> None:
    session = {
        "id": "s",
        "projectID": "p",
        "directory": "/srv/tree",
        "title": "Trees",
        "time": {"created": 1772359200000},
    }
    path = put(tmp_path, "storage/session/p/ses_s.json", json.dumps(session).encode())
    for index, (role, words) in enumerate(TALK):
        message = {"id": f"m{index}", "sessionID": "s", "role": role, "time": {"created": 1772359200000 + index}}
        part = {"id": f"p{index}", "type": "text", "text": words}
        put(tmp_path, f"storage/message/s/{9 - index}.json", json.dumps(message).encode())
        put(tmp_path, f"storage/part/m{index}/1.json", json.dumps(part).encode())
    assert talk(read(path)) == TALK
    alone = read(tmp_path / "storage/message/s/9.json")
    assert [item for item in alone if isinstance(item, Said | Skip)] == [Skip("read with its session")]


# --- plain files


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        ("Grüße 漢字".encode(), "Grüße 漢字", "utf-8"),
        (b"\xef\xbb\xbfhello", "hello", "utf-8"),
        ("Grüße".encode("utf-16"), "Grüße", "utf-16"),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße", "utf-16"),
        (b"a\r\nb\r\n", "a\r\nb\r\n", "utf-8"),
    ],
)
def test_text_is_decoded_by_its_mark_or_as_utf_8(content: bytes, text: str, encoding: str, tmp_path: Path) -> None:
    path = put(tmp_path, "a.md", content)
    reader = reader_for(path)
    assert isinstance(reader, FileReader)
    assert reader.read(path) == Text(text, encoding)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("Grüße aus Köln, in einer alten Kodierung geschrieben".encode("latin-1"), "neither UTF-8 nor UTF-16"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary file"),
        (bytes(range(128, 256)) * 20, "binary file"),
        (b"text with a NUL \x00 in it", "binary file"),
        (b"x" * 2000, "larger than the cap"),
    ],
)
def test_what_is_not_surely_text_is_refused_with_a_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    path = put(tmp_path, "a.md", content)
    result = FileReader().read(path, max_bytes=1000)
    if reason != "larger than the cap":
        result = FileReader().read(path)
    assert isinstance(result, Skip)
    assert result.reason.startswith(reason)


def test_a_character_cut_by_the_head_is_no_sign_of_a_binary_file(tmp_path: Path) -> None:
    path = put(tmp_path, "a.md", b"xx" + "漢".encode() * 40_000)
    assert isinstance(reader_for(path), FileReader)


# --- the choice


@pytest.mark.parametrize(
    ("place", "content", "reason"),
    [
        ("empty.jsonl", b"", "empty file"),
        ("rows.jsonl", b'{"price": 3}\n{"price": 4}\n', "unknown transcript format"),
        ("rows.jsonl", b"no json at all\n", "unknown transcript format"),
        ("picture.png", b"\x89PNG\x00\x00", "binary file"),
        ("archive.tar.gz", b"\x1f\x8b\x08\x00" + b"\x00" * 20, "packed data is damaged or cut short"),
    ],
)
def test_a_file_nobody_knows_is_refused_with_a_reason(place: str, content: bytes, reason: str, tmp_path: Path) -> None:
    assert reader_for(put(tmp_path, place, content)) == Skip(reason)


def test_sources_are_files_even_when_they_look_like_records(tmp_path: Path) -> None:
    record = as_lines(claude(TALK))
    assert isinstance(reader_for(put(tmp_path, "notes.md", record)), FileReader)
    assert isinstance(reader_for(put(tmp_path, "package.json", b'{"name": "tree", "version": "1"}')), FileReader)


def test_a_rotated_transcript_is_still_one(tmp_path: Path) -> None:
    path = put(tmp_path, ".openclaw/agents/a/sessions/7ree.jsonl.reset.2026-03-01", as_lines(tree(TALK)))
    assert transcript(path).name == "openclaw"


def test_no_reader_takes_the_records_of_another(tmp_path: Path) -> None:
    for name, (make, place) in LINE_FORMATS.items():
        for messages in (TALK, TALK[:1]):
            assert transcript(put(tmp_path, place, as_lines(make(messages)))).name == name


class DiaryReader:
    """What another package may bring."""

    name = "diary"
    appends = True

    def sniff(self, path: Path, head: bytes) -> bool:
        return b'"dear diary"' in head

    def read(
        self, path: Path, offset: int = 0, state: Mapping[str, Any] | None = None, *, root: Path | None = None
    ) -> Iterator[Item]:
        yield Rewind("")


def test_another_package_may_bring_a_reader_and_is_asked_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "packages" / "diary-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: diary\nVersion: 1.0\n", encoding="utf-8")
    (package / "entry_points.txt").write_text(
        f"[recollect.readers]\ndiary = {__name__}:DiaryReader\n", encoding="utf-8"
    )
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    recollect.readers._from_other_packages.cache_clear()
    assert transcript(put(tmp_path, "d.jsonl", b'{"opening": "dear diary"}\n')).name == "diary"
    known = put(tmp_path, "k.jsonl", as_lines([*claude(TALK), {"x": "dear diary"}]))
    assert transcript(known).name == "claude-code"
    recollect.readers._from_other_packages.cache_clear()


# --- histories


def test_every_installed_agents_history_is_found(tmp_path: Path) -> None:
    places = [
        place
        for name, (_, place) in LINE_FORMATS.items()
        if name in {"claude-code", "codex", "gemini-cli", "cursor", "openclaw", "pi", "qwen-code", "copilot"}
    ]
    places += [".cursor/chats/0a/1b/store.db", ".openclaw/agents/main/agent/openclaw-agent.sqlite",
               ".local/share/opencode/opencode.db", ".local/share/opencode/storage/session/p/s.json",
               ".codex/archived_sessions/rollout-1.jsonl.zst", ".gemini/tmp/ab/chats/session-1.json"]  # fmt: skip
    aside = [".claude/settings.json", ".claude/projects/x/memory/MEMORY.md", ".codex/auth.json",
             ".gemini/tmp/ab/logs.json", ".openclaw/agents/main/agent/auth-profiles.json",
             ".openclaw/agents/main/sessions/sessions.json"]  # fmt: skip
    for place in places + aside:
        put(tmp_path, place, b"x")
    roots = agent_histories(tmp_path, {})
    assert all(any(root.covers(tmp_path / place) for root in roots) for place in places)
    assert not [place for place in aside if any(root.covers(tmp_path / place) for root in roots)]


def test_an_agent_that_is_not_there_is_not_named(tmp_path: Path) -> None:
    assert agent_histories(tmp_path, {}) == []


def test_an_agents_own_setting_moves_its_history(tmp_path: Path) -> None:
    put(tmp_path, "elsewhere/sessions/a.jsonl", b"x")
    put(tmp_path, "claude/projects/p/a.jsonl", b"x")
    environ = {"CODEX_HOME": str(tmp_path / "elsewhere"), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    roots = agent_histories(tmp_path, environ)
    assert [(root.agent, root.path.relative_to(tmp_path).as_posix()) for root in roots] == [
        ("claude-code", "claude/projects"), ("codex", "elsewhere/sessions"),
    ]  # fmt: skip
