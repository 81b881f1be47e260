"""Where each agent keeps its history on this machine. Only places that exist are named; nothing is opened."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Root:
    """A folder (or one database) with an agent's history; `patterns` say which files in it are transcripts."""

    agent: str
    path: Path
    patterns: tuple[str, ...] = ("*.jsonl", "*.jsonl.*")

    def covers(self, path: Path) -> bool:
        """Whether a file under the root is part of the history; a `*` matches across folders."""
        if path == self.path:
            return True
        return path.is_relative_to(self.path) and any(
            fnmatch(path.relative_to(self.path).as_posix(), pattern) for pattern in self.patterns
        )


def agent_histories(home: Path, environ: Mapping[str, str]) -> list[Root]:
    """Every installed agent's history. Folders are named whole, so that sessions of new projects are found too."""
    data = _place(environ, "XDG_DATA_HOME", home / ".local" / "share")
    codex = _place(environ, "CODEX_HOME", home / ".codex")
    cursor = home / ".cursor"
    opencode = data / "opencode"
    roots = [
        *(Root("claude-code", folder / "projects") for folder in _claude_folders(home, environ)),
        Root("codex", codex / "sessions"),
        Root("codex", codex / "archived_sessions"),
        Root("gemini-cli", _place(environ, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp",
             ("*/chats/*.json", "*/chats/*.jsonl")),
        Root("cursor", cursor / "projects", ("*/agent-transcripts/*.jsonl",)),
        Root("cursor", cursor / "chats", ("*/store.db",)),
        Root("openclaw", _place(environ, "OPENCLAW_STATE_DIR", home / ".openclaw") / "agents",
             ("*/sessions/*.jsonl", "*/sessions/*.jsonl.*", "*/agent/openclaw-agent.sqlite")),
        Root("pi", _place(environ, "PI_CODING_AGENT_DIR", home / ".pi" / "agent") / "sessions"),
        Root("opencode", _place(environ, "OPENCODE_DB", opencode / "opencode.db")),
        Root("opencode", opencode / "storage", ("session/*.json",)),
        Root("qwen-code", home / ".qwen" / "projects", ("*/chats/*.jsonl",)),
        Root("copilot", _place(environ, "COPILOT_HOME", home / ".copilot") / "session-state"),
    ]  # fmt: skip
    return [root for root in roots if root.path.exists()]


def _claude_folders(home: Path, environ: Mapping[str, str]) -> list[Path]:
    if environ.get("CLAUDE_CONFIG_DIR"):
        return [_place(environ, "CLAUDE_CONFIG_DIR", home)]
    return [home / ".claude", home / ".config" / "claude"]


def _place(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    value = environ.get(variable, "")
    return Path(value).expanduser() if value else default
