"""What ships beside the package for each agent: it parses, it names this version, and every command in it exists."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.interfaces.cli.app import COMMANDS
from recollect.interfaces.hooks.adapters import AGENTS, EVENTS, happening
from recollect.interfaces.mcp.server import PROFILES
from recollect.interfaces.setup.hosts import EVENTS_OF, plugin_hooks

FOLDER = Path(__file__).parent.parent / "integrations"
MANIFESTS = {
    "claude-code": ".claude-plugin/plugin.json",
    "codex": ".codex-plugin/plugin.json",
    "gemini": "gemini-extension.json",
}


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def commands(content: Any) -> Iterator[list[str]]:
    """Every command line in a document, as words."""
    if isinstance(content, dict):
        if isinstance(content.get("command"), str):
            yield [*content["command"].split(), *content.get("args", [])]
        content = list(content.values())
    for part in content if isinstance(content, list) else []:
        yield from commands(part)


def test_every_agent_with_a_folder_is_checked() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(MANIFESTS)


@pytest.mark.parametrize("agent", MANIFESTS)
def test_the_manifest_names_this_version_and_files_that_exist(agent: str) -> None:
    manifest = read(FOLDER / agent / MANIFESTS[agent])
    assert manifest["name"] == "recollect" and manifest["version"] == recollect.__version__
    named = [manifest[part] for part in ("hooks", "mcpServers", "skills", "contextFileName") if part in manifest]
    assert all((FOLDER / agent / path).exists() for path in named if isinstance(path, str))
    servers = manifest["mcpServers"] if isinstance(manifest["mcpServers"], dict) else read(FOLDER / agent / ".mcp.json")
    assert servers.get("mcpServers", servers)["recollect"] == {"command": "recollect", "args": ["mcp"]}


@pytest.mark.parametrize("agent", MANIFESTS)
def test_the_hooks_are_those_that_setup_writes(agent: str) -> None:
    assert read(FOLDER / agent / "hooks" / "hooks.json") == plugin_hooks(agent)


@pytest.mark.parametrize("agent", MANIFESTS)
def test_every_command_exists_and_every_hook_is_answered(agent: str, tmp_path: Path) -> None:
    hooks = read(FOLDER / agent / "hooks" / "hooks.json")["hooks"]
    for host_event, groups in hooks.items():
        for words in commands(groups):
            assert words[:3] == ["recollect", "hook", agent] and words[1] in COMMANDS
            assert words[3] in EVENTS
            asked = happening(agent, words[3], {"cwd": str(tmp_path)}, {})
            told = happening(agent, "", {"cwd": str(tmp_path), "hook_event_name": host_event}, {})
            assert asked is not None and asked.event == words[3]
            # The host's own name of a call says that it may be captured; ours, that it may be learned from.
            assert told is not None and told.event == ("tool" if words[3] == "tool-used" else words[3])
    for path in (FOLDER / agent).rglob("*.json"):
        for words in commands(read(path)):
            assert words[0] == "recollect" and words[1] in COMMANDS, path


@pytest.mark.parametrize("agent", MANIFESTS)
def test_what_agents_are_taught_is_there(agent: str) -> None:
    """The skill is the same for all, and what it and the context file name are tools of the server."""
    skill = (FOLDER / agent / "skills" / "recollect-memory" / "SKILL.md").read_text(encoding="utf-8")
    assert skill == (FOLDER / "claude-code" / "skills" / "recollect-memory" / "SKILL.md").read_text(encoding="utf-8")
    front = dict(line.split(": ", 1) for line in skill.split("---")[1].strip().splitlines())
    assert front["name"] == "recollect-memory" and len(front["description"]) <= 1024
    tools = {tool.name for tool in PROFILES["default"](lambda: pytest.fail("no store is needed"))}
    for path in (FOLDER / agent).rglob("*.md"):
        assert set(re.findall(r"`(memory_\w+)`", path.read_text(encoding="utf-8"))) <= tools


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_has_a_page_that_names_its_events_and_its_switches(agent: str) -> None:
    page = (FOLDER.parent / "docs" / "agents" / f"{agent}.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line in ("## Captured", "## Told", "## Switch it off")] == [
        "## Captured", "## Told", "## Switch it off",
    ]  # fmt: skip
    plugin = FOLDER.parent / "src" / "recollect" / "interfaces" / "setup" / "openclaw_plugin" / "index.js"
    named = [hooked.name for hooked in EVENTS_OF.get(agent, {}).values()] or re.findall(
        r'api\.on\("(\w+)"', plugin.read_text(encoding="utf-8")
    )
    assert len(named) >= 5 and all(f"`{name}`" in page for name in named)
    for words in ("RECOLLECT_OFF=1", ".recollect/off", "tool_learning off", f"recollect setup {agent} --uninstall"):
        assert words in page
    assert f"agents/{agent}.md" in (FOLDER.parent / "docs" / "agents.md").read_text(encoding="utf-8")
