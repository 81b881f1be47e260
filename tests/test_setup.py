"""Setting agents up: everything else in their settings stays, twice is once, and taking back leaves no byte behind."""

import contextlib
import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import ConfigInvalid
from recollect.interfaces.setup import jsonc
from recollect.interfaces.setup.hosts import hook_command, is_ours
from shell import PYTHON, Shell

AGENTS = ("claude-code", "codex", "gemini", "cursor")
FILES = {
    "claude-code": (".claude/settings.json", ".mcp.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini": (".gemini/settings.json",),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
}
COMMON = ("session-start", "prompt", "tool-used", "stop", "pre-compact", "session-end")
EVENTS = {
    "claude-code": (*COMMON, "tool-failed"), "codex": COMMON, "gemini": COMMON, "cursor": (*COMMON, "tool-failed"),
}  # fmt: skip
HOOKS = """{
  // my own settings
  "model": "opus", /* the large one */
  "version": 1,
  "hooks": {
    "Stop": [
      {"matcher": "", "hooks": [{"type": "command", "command": "lint --all"}]} // keep me
    ]
  },
  "permissions": {"allow": ["Bash(ls:*)"],},
}
"""
SERVERS = '{"mcpServers":{"other":{"command":"other","args":[]}},"z":[1,2 , 3]}'
TOML = '# my config\nmodel = "gpt"   # the large one\n\n[mcp_servers.other]\ncommand = "other"\n'
STARTS: dict[str, dict[str, str | None]] = {
    "nothing": {},
    "empty": {".json": "", ".toml": ""},
    "bare": {".json": "{}", ".toml": "\n"},
    "commented": {".json": HOOKS, ".toml": TOML},
    "dense": {".json": SERVERS, ".toml": TOML.rstrip("\n")},
    "tabs and crlf": {
        ".json": '{\r\n\t"hooks": {},\r\n\t"mcpServers": {\r\n\t}\r\n}\r\n',
        ".toml": TOML.replace("\n", "\r\n"),
    },
    "a mark and umlauts": {".json": '\ufeff{\n    "name": "Größe ☂"\n}', ".toml": 'name = "Größe"\n'},
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def begin(shell: Shell, agent: str, start: str) -> dict[Path, bytes | None]:
    """Puts the files of an agent into the state to start from."""
    before: dict[Path, bytes | None] = {}
    for name in FILES[agent]:
        path = shell.folder / name
        text = STARTS[start].get(path.suffix)
        if text is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        before[path] = None if text is None else text.encode()
    return before


def now(paths: Any) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.exists() else None for path in paths}


def read(path: Path) -> Any:
    text = path.read_bytes().decode()
    return tomllib.loads(text) if path.suffix == ".toml" else jsonc.plain(jsonc.parse(text, str(path)))


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("agent", AGENTS)
def test_setting_up_twice_and_taking_back_leaves_every_byte_as_it_was(shell: Shell, agent: str, start: str) -> None:
    before = begin(shell, agent, start)
    assert shell("setup", agent, "--project").code == 0
    once = now(before)
    assert once != before
    assert shell("setup", agent, "--project").code == 0
    assert now(before) == once
    assert shell("setup", agent, "--project", "--uninstall").code == 0
    assert now(before) == before


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("agent", AGENTS)
def test_everything_else_stays_and_our_entries_are_there(shell: Shell, agent: str, start: str) -> None:
    before = begin(shell, agent, start)
    known = {path: read(path) if content else {} for path, content in before.items()}
    shell("setup", agent, "--project")
    commands = ""
    servers: dict[str, Any] = {}
    for path, old in known.items():
        new = read(path)
        assert contains(new, old), path
        commands += json.dumps(new.get("hooks", {}))
        servers |= new.get("mcpServers", {}) | new.get("mcp_servers", {})
    assert servers["recollect"]["args"][-1] == "mcp"
    for event in EVENTS[agent]:
        assert commands.count(json.dumps(hook_command(agent, event))) == 1


def contains(new: Any, old: Any) -> bool:
    if isinstance(old, dict):
        return all(key in new and contains(new[key], part) for key, part in old.items())
    if isinstance(old, list):
        return all(part in new for part in old)
    return bool(new == old)


@pytest.mark.parametrize("agent", AGENTS)
def test_taking_back_after_somebody_elses_change_removes_only_ours(shell: Shell, agent: str) -> None:
    before = begin(shell, agent, "commented")
    shell("setup", agent, "--project")
    for path in before:
        text = path.read_bytes().decode()
        if path.suffix == ".toml":
            path.write_bytes(("# new first line\n" + text).encode())
        else:
            path.write_bytes(text.replace('"model": "opus"', '"model": "sonnet"').encode())
    shell("setup", agent, "--project", "--uninstall")
    for path, content in before.items():
        assert content is not None
        text = content.decode()
        expected = "# new first line\n" + text if path.suffix == ".toml" else text.replace("opus", "sonnet")
        assert path.read_bytes().decode() == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_a_dry_run_shows_a_diff_and_changes_nothing(shell: Shell, agent: str) -> None:
    before = begin(shell, agent, "commented")
    shown = shell("setup", agent, "--project", "--dry-run")
    assert (
        "+++ " in shown.out
        and "recollect" in shown.out
        and "\n-" not in shown.out.replace("\n---", "").replace("\n-  ", "")
    )
    assert now(before) == before
    assert not (shell.home / "setup").exists()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    "broken", ['{"a": 1', "{,}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}, "stop": {}}}', "\x00", "{'a': 1}"]
)
def test_settings_that_cannot_be_understood_are_refused_and_nothing_changes(
    shell: Shell, agent: str, broken: str
) -> None:
    before = begin(shell, agent, "commented")
    path = next(path for path in before if path.suffix == ".json")
    if broken.startswith('{"hooks": {"Stop"') and agent == "gemini":
        broken = '{"hooks": {"AfterAgent": {}}}'
    path.write_text(broken)
    before[path] = broken.encode()
    refused = shell("setup", agent, "--project", "--json")
    assert refused.code == 2
    assert refused.json["error"]["code"] == "config_invalid" and refused.json["error"]["hint"]
    assert now(before) == before


def test_broken_toml_is_refused_before_anything_is_written(shell: Shell) -> None:
    before = begin(shell, "codex", "commented")
    path = shell.folder / ".codex" / "config.toml"
    path.write_text("[mcp_servers\n")
    before[path] = b"[mcp_servers\n"
    assert shell("setup", "codex", "--project").code == 2
    assert now(before) == before


def test_an_entry_of_the_users_own_is_kept(shell: Shell) -> None:
    path = shell.folder / ".mcp.json"
    path.write_text('{"mcpServers": {"recollect": {"command": "docker", "args": ["run", "mine"]}}}')
    shell("setup", "claude-code", "--project")
    assert read(path)["mcpServers"]["recollect"]["command"] == "docker"
    path.write_text(path.read_text() + "\n")
    shell("setup", "claude-code", "--project", "--uninstall")
    assert read(path)["mcpServers"]["recollect"]["command"] == "docker"


def test_the_users_settings_are_where_the_host_looks(shell: Shell, tmp_path: Path) -> None:
    places = {"CLAUDE_CONFIG_DIR": "claude", "CODEX_HOME": "codex", "GEMINI_CLI_HOME": "gemini"}
    environ = {name: str(tmp_path / folder) for name, folder in places.items()} | {"HOME": str(tmp_path / "user")}
    expected = {
        "claude-code": ["claude/settings.json", "claude/.claude.json"],
        "codex": ["codex/hooks.json", "codex/config.toml"], "gemini": ["gemini/.gemini/settings.json"],
        "cursor": ["user/.cursor/hooks.json", "user/.cursor/mcp.json"],
    }  # fmt: skip
    for agent, files in expected.items():
        found = shell("setup", agent, "--json", stdin=b"", **environ).json["files"]
        assert [file["path"] for file in found] == [str(tmp_path / file) for file in files]
        assert all((tmp_path / file).exists() for file in files)
        shell("setup", agent, "--uninstall", stdin=b"", **environ)
        assert not any((tmp_path / file).exists() for file in files)


@pytest.mark.skipif(os.name != "posix", reason="links and modes as POSIX has them")
def test_links_and_modes_of_the_hosts_files_stay(shell: Shell, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o644)
    (shell.folder / ".gemini").mkdir()
    link = shell.folder / ".gemini" / "settings.json"
    link.symlink_to(real)
    shell("setup", "gemini", "--project")
    assert link.is_symlink() and "recollect" in real.read_text() and real.stat().st_mode & 0o777 == 0o644


def test_unknown_agents_and_contradictions_are_refused(shell: Shell) -> None:
    assert shell("setup", "clippy").code == 2
    assert shell("setup", "codex", "--user", "--project").code == 2


def test_our_hooks_are_known_however_they_start_us() -> None:
    assert is_ours({"command": "recollect hook codex stop"}, "codex")
    assert is_ours({"command": '"/opt/my python/bin/python" -m recollect hook codex stop'}, "codex")
    assert not is_ours({"command": "recollect hook gemini stop"}, "codex")
    assert not is_ours({"command": 5}, "codex") and not is_ours("text", "codex")


# -- earlier sessions --------------------------------------------------------------------------------------------------


def with_history(shell: Shell) -> dict[str, str]:
    """A user whose agents have a past: three transcripts of Claude Code, one of Codex, and a file that is neither."""
    user = shell.folder.parent / "user"
    for number in range(3):
        file = user / ".claude" / "projects" / "-work" / f"0a1b2c3d-0000-4000-8000-00000000000{number}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        said = {"role": "user", "content": f"We sow the beans in week {number}"}
        line = {"type": "user", "uuid": f"u{number}", "sessionId": file.stem, "cwd": str(shell.folder), "message": said}
        file.write_text(json.dumps(line | {"timestamp": "2026-11-01T10:00:00Z"}) + "\n")
    (user / ".claude" / "projects" / "-work" / "notes.md").write_text("not said by anyone")
    rollout = user / ".codex" / "sessions" / "2026" / "11" / "01" / "rollout-2026-11-01T10-00-00-x.jsonl"
    rollout.parent.mkdir(parents=True)
    rollout.write_text('{"type": "session_meta", "payload": {"id": "c1"}}\n')
    return {"HOME": str(user), "USERPROFILE": str(user)}


def test_earlier_sessions_are_indexed_when_that_is_said(shell: Shell) -> None:
    environ = with_history(shell)
    told = shell("setup", "claude-code", stdin=b"", **environ)
    assert "3 transcripts of earlier sessions can be found too: recollect setup claude-code --backfill" in told.out
    assert not shell.store.exists()
    quiet = shell("setup", "claude-code", "--no-backfill", stdin=b"", **environ)
    assert "earlier" not in quiet.out and not shell.store.exists()
    tried = shell("setup", "claude-code", "--backfill", "--dry-run", stdin=b"", **environ)
    assert "would index 3 transcripts" in tried.out and not shell.store.exists()
    named = shell("setup", "claude-code", "--json", stdin=b"", **environ).json["backfill"]
    assert named == {"transcripts": 3, "indexed": None, "command": "recollect setup claude-code --backfill"}
    done = shell("setup", "claude-code", "--backfill", "--json", stdin=b"", **environ).json["backfill"]
    assert (done["indexed"]["sessions"], done["indexed"]["turns"], done["indexed"]["files"]["indexed"]) == (3, 3, 3)
    assert "week 2" in shell("search", "beans", "--space", "all", stdin=b"", **environ).out
    assert "indexed" not in shell("setup", "cursor", "--backfill", stdin=b"", **environ).out
    assert shell("setup", "claude-code", "--backfill", "--uninstall", stdin=b"", **environ).code == 2
    assert "backfill" not in shell("setup", "claude-code", "--uninstall", "--json", stdin=b"", **environ).json


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
@pytest.mark.parametrize(("answer", "sessions"), [(b"y\n", 3), (b"n\n", 0)])
def test_a_person_at_a_terminal_is_asked(shell: Shell, answer: bytes, sessions: int) -> None:
    import pty

    ours, theirs = pty.openpty()
    environ = {**os.environ, **shell.environ, **with_history(shell)}
    with subprocess.Popen(
        [*PYTHON, "setup", "claude-code"], cwd=shell.folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while b"[Y/n]" not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, answer)
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 1000):
                shown += part
        assert process.wait(30) == 0
    os.close(ours)
    assert b"Index 3 transcripts of earlier sessions too? [Y/n]" in shown
    assert (b"3 earlier sessions indexed" in shown) == bool(sessions) == shell.store.exists()


# -- the editor --------------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8)
names = st.text(max_size=4)
parts = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))
documents = st.dictionaries(names, parts, max_size=4)


@given(documents, st.sampled_from([None, 1, 4, "\t"]), st.booleans())
def test_what_is_put_in_and_taken_out_leaves_the_text_as_it_was(document: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    assert jsonc.plain(jsonc.parse(text, "x")) == document
    changed = jsonc.put(text, ("ours", "deep"), {"a": [1, {"b": 2}]}, "x")
    if "ours" in document:
        return
    assert jsonc.plain(jsonc.parse(changed, "x")) == document | {"ours": {"deep": {"a": [1, {"b": 2}]}}}
    assert jsonc.put(changed, ("ours", "deep"), "other", "x") == changed
    back = jsonc.without(changed, ("ours",), "x")
    assert back == text if document else jsonc.plain(jsonc.parse(back, "x")) == {}


COMMENTED = [
    '{"a": 1 // x, y\n}', '{\n  "a": 1, // trailing\n}', '{\n  // first\n  "a": [1, 2,], /* , */\n  "b": {}\n}',
    '{\n  "a": 1 /* beside */\n  // below\n}', '/* before */ {"a": "//no comment", "b": "/* nor this */"} // after',
]  # fmt: skip


@pytest.mark.parametrize("text", COMMENTED)
def test_comments_and_trailing_commas_stay(text: str) -> None:
    changed = jsonc.put(text, ("ours",), {"x": 1}, "x")
    assert jsonc.plain(jsonc.parse(changed, "x"))["ours"] == {"x": 1}
    assert jsonc.without(changed, ("ours",), "x") == text


@given(st.text(alphabet='{}[]",:/*\\\n 1atrue', max_size=40))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        jsonc.parse(text, "file")
    except ConfigInvalid as refused:
        assert "file, line " in refused.message


# -- what ships beside the package -------------------------------------------------------------------------------------

ROOT = Path(__file__).parent.parent


def test_the_registry_entry_names_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    package = entry["packages"][0]
    assert entry["version"] == package["version"] == recollect.__version__
    assert f"mcp-name: {entry['name']}" in (ROOT / "README.md").read_text()


def test_doctor_tells_which_agents_are_set_up_and_what_went_wrong(shell: Shell) -> None:
    shell("add", "something")
    environ = {"HOME": str(shell.folder)}
    assert "agent " not in shell("doctor", stdin=b"", **environ).out
    shell("setup", "codex", "--project")
    assert "agent codex: set up for the" in shell("doctor", stdin=b"", **environ).out
    (shell.home / "hooks").mkdir()
    (shell.home / "hooks" / "status.json").write_text('{"gemini": {"captured_ms": 1794778209085, "error": "no room"}}')
    told = shell("doctor", stdin=b"", **environ)
    assert "BAD  agent gemini: not set up; last capture 2026-11-15T21:30:09.085Z; no room" in told.out
