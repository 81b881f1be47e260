"""OpenClaw: its settings and our plugin folder, and the plugin at work as the host would run it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect import Memory
from recollect.interfaces.setup import jsonc
from shell import Result, Shell
from test_setup import STARTS, now

PLUGIN = ("package.json", "openclaw.plugin.json", "index.js")
BUSY = """{
  // what I allow
  "plugins": {
    "allow": ["voice-call"], // one so far
    "entries": {"voice-call": {"enabled": true}},
  },
  "mcp": {"servers": {"docs": {"url": "https://docs.example/mcp"}}},
}
"""


class Claw:
    """An OpenClaw with a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.shell = Shell(folder)
        self.home = folder / "claw"
        self.config = self.home / "openclaw.json"
        self.plugin = self.home / "extensions" / "recollect"

    def setup(self, *options: str) -> Result:
        return self.shell("setup", "openclaw", *options, OPENCLAW_STATE_DIR=str(self.home))

    def files(self) -> dict[Path, bytes | None]:
        return now([self.config, *(self.plugin / name for name in PLUGIN)])

    def read(self) -> Any:
        return jsonc.plain(jsonc.parse(self.config.read_text(), "x"))


@pytest.fixture
def claw(tmp_path: Path) -> Claw:
    return Claw(tmp_path)


STATES = {name: files.get(".json") for name, files in STARTS.items()} | {"busy": BUSY}


@pytest.mark.parametrize("start", STATES)
def test_setting_up_twice_and_taking_back_leaves_every_byte_as_it_was(claw: Claw, start: str) -> None:
    content = STATES[start]
    if content is not None:
        claw.home.mkdir()
        claw.config.write_bytes(content.encode())
    before = claw.files()
    assert claw.setup().code == 0
    once = claw.files()
    assert all(once.values())
    known = claw.read()
    assert known["mcp"]["servers"]["recollect"]["args"][-1] == "mcp"
    assert known["plugins"]["entries"]["recollect"] == {"enabled": True, "hooks": {"allowConversationAccess": True}}
    assert claw.setup().code == 0
    assert claw.files() == once
    assert claw.setup("--uninstall").code == 0
    assert claw.files() == before and not claw.plugin.exists()


def test_a_list_of_allowed_plugins_gets_ours_and_loses_it_again(claw: Claw) -> None:
    claw.home.mkdir()
    claw.config.write_text(BUSY)
    claw.setup()
    assert claw.read()["plugins"]["allow"] == ["voice-call", "recollect"]
    claw.config.write_text(claw.config.read_text().replace("docs.example", "pages.example"))
    (claw.plugin / "index.js").write_text("// changed by hand")
    claw.setup("--uninstall")
    assert claw.config.read_text() == BUSY.replace("docs.example", "pages.example")
    assert not claw.plugin.exists()


def test_a_file_of_somebody_else_keeps_the_folder(claw: Claw) -> None:
    claw.setup()
    (claw.plugin / "notes.txt").write_text("mine")
    claw.setup("--uninstall")
    assert [path.name for path in claw.plugin.iterdir()] == ["notes.txt"]


def test_our_files_go_even_when_nobody_remembers_what_was_there_before(claw: Claw) -> None:
    claw.setup()
    shutil.rmtree(claw.shell.home / "setup")
    claw.setup("--uninstall")
    assert not claw.plugin.exists() and claw.read() == {}


def test_a_dry_run_shows_everything_and_changes_nothing(claw: Claw) -> None:
    shown = claw.setup("--dry-run")
    assert "+++ " in shown.out and "before_prompt_build" in shown.out and "allowConversationAccess" in shown.out
    assert not claw.home.exists()


def test_what_cannot_be_understood_is_refused_and_nothing_changes(claw: Claw) -> None:
    claw.home.mkdir()
    for broken in ("{plugins: {}}", '{"plugins": []}', '{"mcp": {"servers": 5}}', "{'a': 1}"):
        claw.config.write_text(broken)
        refused = claw.setup("--json")
        assert refused.code == 2 and refused.json["error"]["hint"]
        assert claw.config.read_text() == broken and not claw.plugin.exists()
    assert claw.setup("--project").code == 2


def test_the_plugin_starts_us_as_this_installation_is_started(claw: Claw) -> None:
    claw.setup()
    lines = (claw.plugin / "index.js").read_text().splitlines()
    line = next(line for line in lines if line.startswith("const COMMAND"))
    words = json.loads(line.removeprefix("const COMMAND = ").removesuffix(";"))
    assert words in (["recollect"], [sys.executable, "-m", "recollect"])
    manifest = json.loads((claw.plugin / "openclaw.plugin.json").read_text())
    assert manifest["id"] == "recollect" and manifest["configSchema"]["type"] == "object"
    entry = json.loads((claw.plugin / "package.json").read_text())["openclaw"]["extensions"]
    assert [(claw.plugin / path).is_file() for path in entry] == [True]


# A host of the least kind: it takes the handlers as OpenClaw would, and calls them in turn with what stdin says.
HOST = """
import plugin from %s;
const handlers = {};
plugin.register({ on: (name, handler) => { handlers[name] = handler; } });
let text = "";
for await (const part of process.stdin) text += part;
const answers = [];
for (const [name, event, ctx] of JSON.parse(text)) answers.push((await handlers[name](event, ctx)) ?? null);
console.log(JSON.stringify({ handlers: Object.keys(handlers), answers }));
"""


def play(claw: Claw, project: Path, *steps: tuple[str, dict[str, Any]], **more: Any) -> list[Any]:
    """Events of one session, in one process of the host; what the plugin answered to each."""
    ctx = {"sessionId": "s1", "sessionKey": "agent:main:main", "workspaceDir": str(project)} | more
    script = claw.home / "host.mjs"
    script.write_text(HOST % json.dumps(str(claw.plugin / "index.js")))
    environ = {**os.environ, **claw.shell.environ}
    events = json.dumps([(name, event, ctx) for name, event in steps])
    done = subprocess.run(
        ["node", str(script)], input=events, env=environ, capture_output=True, text=True, timeout=120, check=True
    )
    found = json.loads(done.stdout)
    assert set(found["handlers"]) >= {name for name, _ in steps}
    return list(found["answers"])


def asked(text: str, number: int = 1, messages: int = 0) -> tuple[str, dict[str, Any]]:
    event = {"prompt": f"history … {text}", "currentUserMessage": text, "currentUserMessageId": f"m{number}"}
    return "before_prompt_build", event | {"messages": [{"role": "user", "content": "x"}] * messages}


def said(text: str) -> tuple[str, dict[str, Any]]:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    return "agent_end", {"success": True, "runId": "r1", "messages": [{"role": "assistant", "content": parts}]}


@pytest.mark.slow
def test_a_session_is_captured_and_recalled_in_the_next(claw: Claw, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    project = tmp_path / "garden"
    for folder in ("objects", "refs"):
        (project / ".git" / folder).mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    claw.setup()
    tool = {"toolName": "garden__open_valve", "params": {"secret": "the combination"}, "result": {"content": []}}
    first = play(
        claw, project,
        asked("When shall we water the tomatoes?"),
        asked("When shall we water the tomatoes?"),  # the same request, built once more
        ("after_tool_call", tool),
        ("after_tool_call", tool | {"error": "stuck"}),
        ("after_tool_call", {"toolName": "exec", "params": {}}),
        said("We decided to water the tomatoes at six in the morning."),
        ("before_compaction", {"messageCount": 2}),
        ("session_end", {"sessionId": "s1", "messageCount": 2, "reason": "new"}),
    )  # fmt: skip
    assert first == [None] * 8
    with Memory(claw.shell.store, folder=project, space="auto", embedder=None) as memory:
        (session,) = memory.sessions()
        assert [turn.text for turn in memory.turns(session)] == [
            "When shall we water the tomatoes?", "We decided to water the tomatoes at six in the morning.",
        ]  # fmt: skip
        assert "six in the morning" in session.summary and session.agent.startswith("openclaw")
        (pair,) = memory.tools.pairs()
        assert (pair.server, pair.tool, pair.uses, pair.failures) == ("garden", "open_valve", 1, 1)
    told, again, nobody = play(
        claw, project, asked("Please plan the day"), asked("Please plan the day"), asked("ping", 2, 1), sessionId="s2"
    )
    assert "six in the morning" in told["prependContext"] and again == told and nobody is None
    (beat,) = play(claw, project, asked("When shall we water?"), sessionId="s3", trigger="heartbeat")
    assert beat is None
    kept = b"".join(path.read_bytes() for path in claw.shell.home.rglob("*") if path.is_file())
    assert b"the combination" not in kept


@pytest.mark.slow
def test_without_recollect_the_plugin_says_nothing(claw: Claw, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    claw.setup()
    index = claw.plugin / "index.js"
    lines = ["const COMMAND = [\"/nowhere/at/all\"];" if line.startswith("const COMMAND") else line
             for line in index.read_text().splitlines()]  # fmt: skip
    index.write_text("\n".join(lines))
    assert play(claw, tmp_path, asked("How are you today?"), said("Well, thank you.")) == [None, None]
