"""Where each agent keeps its settings, and what of ours goes into them.

The command of a hook is the same for every version of ours: some hosts ask the user to trust it again when it changes.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.interfaces.setup import jsonc, openclaw, toml_block
from recollect.interfaces.setup.places import Place, part_at, tidy
from recollect.values import value


@value
class Hooked:
    """A host's own name of an event, how many seconds we may take, and which of them we want to hear of."""

    name: str
    seconds: int
    matcher: str = ""
    waits: bool = True


# Codex and Claude Code begin a session that goes on with "resume": that one was told everything before.
_STARTS = "startup|clear|compact"
_CODEX = {
    "session-start": Hooked("SessionStart", 15, _STARTS), "prompt": Hooked("UserPromptSubmit", 10),
    "tool-used": Hooked("PostToolUse", 10, "mcp__.*"), "stop": Hooked("Stop", 10),
    "pre-compact": Hooked("PreCompact", 30), "session-end": Hooked("SessionEnd", 30),
}  # fmt: skip
_CLAUDE = _CODEX | {
    "tool-used": Hooked("PostToolUse", 10, "mcp__.*", waits=False),
    "tool-failed": Hooked("PostToolUseFailure", 10, "mcp__.*", waits=False),
}
_GEMINI = {
    "session-start": Hooked("SessionStart", 15), "prompt": Hooked("BeforeAgent", 10),
    "tool-used": Hooked("AfterTool", 10, "mcp_.*"), "stop": Hooked("AfterAgent", 10),
    "pre-compact": Hooked("PreCompress", 30), "session-end": Hooked("SessionEnd", 30),
}  # fmt: skip
_CURSOR = {
    "session-start": Hooked("sessionStart", 15), "prompt": Hooked("beforeSubmitPrompt", 10),
    "tool-used": Hooked("postToolUse", 10, "MCP:.*"), "tool-failed": Hooked("postToolUseFailure", 10, "MCP:.*"),
    "stop": Hooked("stop", 10), "pre-compact": Hooked("preCompact", 30), "session-end": Hooked("sessionEnd", 30),
}  # fmt: skip

EVENTS_OF = {"claude-code": _CLAUDE, "codex": _CODEX, "gemini": _GEMINI, "cursor": _CURSOR}


def places(agent: str, project: Path | None, environ: Mapping[str, str] = os.environ) -> list[Place]:
    """The files that set an agent up: for the user, or for one project."""
    makers = {"claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "cursor": _cursor, "openclaw": _openclaw}
    if agent not in makers:
        raise InvalidInput(f"recollect does not know the agent {agent[:40]!r}", hint=f"one of: {', '.join(makers)}")
    return makers[agent](project, environ)


def command() -> tuple[str, list[str]]:
    """How a host starts us: by name if that leads here, else by this very interpreter."""
    return ("recollect", []) if shutil.which("recollect") else (sys.executable, ["-m", "recollect"])


def hook_command(agent: str, event: str) -> str:
    program, words = command()
    quoted = f'"{program}"' if " " in program else program
    return " ".join([quoted, *words, "hook", agent, event])


def is_ours(entry: Any, agent: str, event: str = "") -> bool:
    """Whether a hook of a host's settings is one of ours, in whichever way it starts us; for one event or for any."""
    said = entry.get("command", "") if isinstance(entry, dict) else ""
    wanted = f"recollect hook {agent} {event} " if event else f"recollect hook {agent} "
    return isinstance(said, str) and wanted in said.replace('"', "") + " "


# -- hosts -------------------------------------------------------------------------------------------------------------


def _claude_code(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    home = environ.get("CLAUDE_CONFIG_DIR")
    if project is not None:
        settings, servers = project / ".claude" / "settings.json", project / ".mcp.json"
    elif home:
        settings, servers = Path(home) / "settings.json", Path(home) / ".claude.json"
    else:
        settings, servers = Path.home() / ".claude" / "settings.json", Path.home() / ".claude.json"
    return [_grouped_hooks("claude-code", settings, _CLAUDE), _server(servers)]


def _codex(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    folder = project / ".codex" if project is not None else Path(environ.get("CODEX_HOME") or Path.home() / ".codex")
    config = folder / "config.toml"
    program, words = command()
    servers = Place(
        config,
        lambda text: toml_block.with_server(text, program, [*words, "mcp"], str(config)),
        lambda text: toml_block.without_server(text, str(config)),
    )
    return [_grouped_hooks("codex", folder / "hooks.json", _CODEX), servers]


def _gemini(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    file = (project or Path(environ.get("GEMINI_CLI_HOME") or Path.home())) / ".gemini" / "settings.json"
    hooks = _grouped_hooks("gemini", file, _GEMINI, per_second=1000)
    server = _server(file)
    return [Place(file, lambda text: server.add(hooks.add(text)), lambda text: server.remove(hooks.remove(text)))]


def _cursor(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    folder = (project or Path.home()) / ".cursor"
    file = folder / "hooks.json"
    where = str(file)

    def add(text: str) -> str:
        text = jsonc.put(text, ("version",), 1, where)
        for event, hooked in _CURSOR.items():
            known = part_at(text, ("hooks", hooked.name), where)
            if not any(is_ours(entry, "cursor", event) for entry in (known if isinstance(known, list) else [])):
                entry = {"command": hook_command("cursor", event), "timeout": hooked.seconds}
                matcher = {"matcher": hooked.matcher} if hooked.matcher else {}
                text = jsonc.append(text, ("hooks", hooked.name), entry | matcher, where)
        return text

    return [Place(file, add, lambda text: _without_hooks(text, "cursor", where)), _server(folder / "mcp.json")]


def _openclaw(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    if project is not None:
        raise InvalidInput("OpenClaw has settings for the user alone", hint="leave --project out")
    home = Path(environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw").expanduser()
    config = Path(environ.get("OPENCLAW_CONFIG_PATH") or home / "openclaw.json").expanduser()
    return [openclaw.settings(config, _server(config, ("mcp", "servers"))), *openclaw.plugin(home, command())]


# -- what goes in and out ----------------------------------------------------------------------------------------------


def _server(path: Path, under: tuple[str, ...] = ("mcpServers",)) -> Place:
    program, words = command()
    entry = {"command": program, "args": [*words, "mcp"]}
    where = str(path)

    def remove(text: str) -> str:
        known = part_at(text, (*under, "recollect"), where)
        if not isinstance(known, dict) or list(known.get("args", []))[-1:] != ["mcp"]:
            return text
        return tidy(jsonc.without(text, (*under, "recollect"), where), under, where)

    return Place(path, lambda text: jsonc.put(text, (*under, "recollect"), entry, where), remove)


def plugin_hooks(agent: str) -> dict[str, Any]:
    """The hooks of a host's plugin or extension: the same as `setup` writes, started by name."""
    per_second = 1000 if agent == "gemini" else 1
    groups = {
        hooked.name: [_group(hooked, f"recollect hook {agent} {event}", per_second)]
        for event, hooked in EVENTS_OF[agent].items()
    }
    return {"description": "Recall at the start and at prompts, capture at the end", "hooks": groups}


def _group(hooked: Hooked, said: str, per_second: int) -> dict[str, Any]:
    entry = {"type": "command", "command": said, "timeout": hooked.seconds * per_second}
    matcher = {"matcher": hooked.matcher} if hooked.matcher else {}
    return matcher | {"hooks": [entry if hooked.waits else entry | {"async": True}]}


def _grouped_hooks(agent: str, path: Path, events: Mapping[str, Hooked], per_second: int = 1) -> Place:
    """Hooks in groups with a matcher, as Claude Code has them and others took over."""
    where = str(path)

    def add(text: str) -> str:
        for event, hooked in events.items():
            known = part_at(text, ("hooks", hooked.name), where)
            groups = known if isinstance(known, list) else []
            if not any(is_ours(entry, agent, event) for group in groups for entry in _hooks_of(group)):
                group = _group(hooked, hook_command(agent, event), per_second)
                text = jsonc.append(text, ("hooks", hooked.name), group, where)
        return text

    return Place(path, add, lambda text: _without_hooks(text, agent, where))


def _without_hooks(text: str, agent: str, where: str) -> str:
    """Without our hooks, and without groups, lists and objects that hold nothing else."""
    names = list(part_at(text, ("hooks",), where) or {}) if isinstance(part_at(text, ("hooks",), where), dict) else []
    for name in names:
        known = part_at(text, ("hooks", name), where)
        for index in reversed(range(len(known) if isinstance(known, list) else 0)):
            inside = [at for at, entry in enumerate(_hooks_of(known[index])) if is_ours(entry, agent)]
            if is_ours(known[index], agent) or (inside and len(inside) == len(_hooks_of(known[index]))):
                text = jsonc.without(text, ("hooks", name, index), where)
            else:
                for at in reversed(inside):
                    text = jsonc.without(text, ("hooks", name, index, "hooks", at), where)
        if part_at(text, ("hooks", name), where) == [] and known:
            text = jsonc.without(text, ("hooks", name), where)
    return tidy(text, ("hooks",), where) if names else text


def _hooks_of(group: Any) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []
