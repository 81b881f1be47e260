"""Where each agent keeps its settings, and what of ours goes into them.

The command of a hook is the same for every version of ours: some hosts ask the user to trust it again when it changes.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput
from recollect.interfaces.setup import jsonc, toml_block
from recollect.values import value

# our event: the host's own name, and how many seconds it may take
_CLAUDE = {
    "session-start": ("SessionStart", 15), "prompt": ("UserPromptSubmit", 10), "stop": ("Stop", 10),
    "pre-compact": ("PreCompact", 30), "session-end": ("SessionEnd", 30),
}  # fmt: skip
_GEMINI = {
    "session-start": ("SessionStart", 15), "prompt": ("BeforeAgent", 10), "stop": ("AfterAgent", 10),
    "pre-compact": ("PreCompress", 30), "session-end": ("SessionEnd", 30),
}  # fmt: skip
_CURSOR = {
    "session-start": ("sessionStart", 15), "prompt": ("beforeSubmitPrompt", 10), "stop": ("stop", 10),
    "pre-compact": ("preCompact", 30), "session-end": ("sessionEnd", 30),
}  # fmt: skip


@value
class Place:
    """One file of a host, and how our part goes in and out of its text."""

    path: Path
    add: Callable[[str], str]
    remove: Callable[[str], str]


def places(agent: str, project: Path | None, environ: Mapping[str, str] = os.environ) -> list[Place]:
    """The files that set an agent up: for the user, or for one project."""
    makers = {"claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "cursor": _cursor}
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


def is_ours(entry: Any, agent: str) -> bool:
    """Whether a hook of a host's settings is one of ours, in whichever way it starts us."""
    said = entry.get("command", "") if isinstance(entry, dict) else ""
    return isinstance(said, str) and f"recollect hook {agent} " in said.replace('"', "") + " "


# -- hosts -------------------------------------------------------------------------------------------------------------


def _claude_code(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    home = environ.get("CLAUDE_CONFIG_DIR")
    if project is not None:
        settings, servers = project / ".claude" / "settings.json", project / ".mcp.json"
    elif home:
        settings, servers = Path(home) / "settings.json", Path(home) / ".claude.json"
    else:
        settings, servers = Path.home() / ".claude" / "settings.json", Path.home() / ".claude.json"
    return [_grouped_hooks("claude-code", settings, _CLAUDE, 1, "startup|clear|compact"), _server(servers)]


def _codex(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    folder = project / ".codex" if project is not None else Path(environ.get("CODEX_HOME") or Path.home() / ".codex")
    config = folder / "config.toml"
    program, words = command()
    servers = Place(
        config,
        lambda text: toml_block.with_server(text, program, [*words, "mcp"], str(config)),
        lambda text: toml_block.without_server(text, str(config)),
    )
    return [_grouped_hooks("codex", folder / "hooks.json", _CLAUDE, 1, "startup|clear|compact"), servers]


def _gemini(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    file = (project or Path(environ.get("GEMINI_CLI_HOME") or Path.home())) / ".gemini" / "settings.json"
    hooks = _grouped_hooks("gemini", file, _GEMINI, 1000, "")
    server = _server(file)
    return [Place(file, lambda text: server.add(hooks.add(text)), lambda text: server.remove(hooks.remove(text)))]


def _cursor(project: Path | None, environ: Mapping[str, str]) -> list[Place]:
    folder = (project or Path.home()) / ".cursor"
    file = folder / "hooks.json"
    where = str(file)

    def add(text: str) -> str:
        text = jsonc.put(text, ("version",), 1, where)
        for event, (name, seconds) in _CURSOR.items():
            known = _at(text, ("hooks", name), where)
            if not any(is_ours(entry, "cursor") for entry in (known if isinstance(known, list) else [])):
                entry = {"command": hook_command("cursor", event), "timeout": seconds}
                text = jsonc.append(text, ("hooks", name), entry, where)
        return text

    return [Place(file, add, lambda text: _without_hooks(text, "cursor", where)), _server(folder / "mcp.json")]


# -- what goes in and out ----------------------------------------------------------------------------------------------


def _server(path: Path) -> Place:
    program, words = command()
    entry = {"command": program, "args": [*words, "mcp"]}
    where = str(path)

    def remove(text: str) -> str:
        known = _at(text, ("mcpServers", "recollect"), where)
        if not isinstance(known, dict) or list(known.get("args", []))[-1:] != ["mcp"]:
            return text
        return _tidy(jsonc.without(text, ("mcpServers", "recollect"), where), ("mcpServers",), where)

    return Place(path, lambda text: jsonc.put(text, ("mcpServers", "recollect"), entry, where), remove)


def plugin_hooks() -> dict[str, Any]:
    """The hooks of the Claude Code plugin: the same as `setup` writes, started by name."""
    groups = {}
    for event, (name, seconds) in _CLAUDE.items():
        entry = {"type": "command", "command": f"recollect hook claude-code {event}", "timeout": seconds}
        matcher = {"matcher": "startup|clear|compact"} if event == "session-start" else {}
        groups[name] = [matcher | {"hooks": [entry]}]
    return {"description": "Recall at the start and at prompts, capture at the end", "hooks": groups}


def _grouped_hooks(
    agent: str, path: Path, events: Mapping[str, tuple[str, int]], per_second: int, starts: str
) -> Place:
    """Hooks in groups with a matcher, as Claude Code has them and others took over."""
    where = str(path)

    def add(text: str) -> str:
        for event, (name, seconds) in events.items():
            known = _at(text, ("hooks", name), where)
            groups = known if isinstance(known, list) else []
            if any(is_ours(entry, agent) for group in groups for entry in _hooks_of(group)):
                continue
            entry = {"type": "command", "command": hook_command(agent, event), "timeout": seconds * per_second}
            group = {"matcher": starts} if event == "session-start" and starts else {}
            text = jsonc.append(text, ("hooks", name), group | {"hooks": [entry]}, where)
        return text

    return Place(path, add, lambda text: _without_hooks(text, agent, where))


def _without_hooks(text: str, agent: str, where: str) -> str:
    """Without our hooks, and without groups, lists and objects that hold nothing else."""
    names = list(_at(text, ("hooks",), where) or {}) if isinstance(_at(text, ("hooks",), where), dict) else []
    for name in names:
        known = _at(text, ("hooks", name), where)
        for index in reversed(range(len(known) if isinstance(known, list) else 0)):
            inside = [at for at, entry in enumerate(_hooks_of(known[index])) if is_ours(entry, agent)]
            if is_ours(known[index], agent) or (inside and len(inside) == len(_hooks_of(known[index]))):
                text = jsonc.without(text, ("hooks", name, index), where)
            else:
                for at in reversed(inside):
                    text = jsonc.without(text, ("hooks", name, index, "hooks", at), where)
        if _at(text, ("hooks", name), where) == [] and known:
            text = jsonc.without(text, ("hooks", name), where)
    return _tidy(text, ("hooks",), where) if names else text


def _tidy(text: str, path: tuple[str, ...], where: str) -> str:
    return jsonc.without(text, path, where) if _at(text, path, where) == {} else text


def _hooks_of(group: Any) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def _at(text: str, path: tuple[str, ...], where: str) -> Any:
    node: jsonc.Node | None = jsonc.parse(text, where)
    for key in path:
        node = node.get(key) if node is not None and node.kind == "object" else None
    return None if node is None else jsonc.plain(node)
