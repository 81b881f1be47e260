"""OpenClaw: a plugin folder of ours, and the entries in its settings that let it work.

Its hooks live inside its own process, so the plugin is a little JavaScript that runs our hook command.
"""

import json
from pathlib import Path

from recollect.interfaces.setup import jsonc
from recollect.interfaces.setup.places import Place, part_at, tidy

FILES = ("package.json", "openclaw.plugin.json", "index.js")
_ENTRY = {"enabled": True, "hooks": {"allowConversationAccess": True}}  # without that it may not see answers
_PLUGIN = ("plugins", "entries", "recollect")
_ALLOWED = ("plugins", "allow")
_COMMAND = 'const COMMAND = ["recollect"];'


def settings(config: Path, server: Place) -> Place:
    """The MCP server and the plugin's entry; where a list says which plugins may load, ours is on it."""
    where = str(config)

    def add(text: str) -> str:
        text = jsonc.put(server.add(text), _PLUGIN, _ENTRY, where)
        allowed = part_at(text, _ALLOWED, where)
        missing = isinstance(allowed, list) and "recollect" not in allowed
        return jsonc.append(text, _ALLOWED, "recollect", where) if missing else text

    def remove(text: str) -> str:
        text = server.remove(text)
        if part_at(text, _PLUGIN, where) is not None:
            text = tidy(jsonc.without(text, _PLUGIN, where), _PLUGIN[:-1], where)
        allowed = part_at(text, _ALLOWED, where)
        if isinstance(allowed, list) and "recollect" in allowed:
            text = jsonc.without(text, (*_ALLOWED, allowed.index("recollect")), where)
        return text

    return Place(config, add, remove)


def plugin(home: Path, command: tuple[str, list[str]]) -> list[Place]:
    """The files of the plugin, which know how we are started."""
    return [_file(home / "extensions" / "recollect" / name, _content(name, command)) for name in FILES]


def _file(path: Path, content: str) -> Place:
    return Place(path, lambda _: content, lambda _: "", is_ours=True)


def _content(name: str, command: tuple[str, list[str]]) -> str:
    text = (Path(__file__).parent / "openclaw_plugin" / name).read_text(encoding="utf-8")
    program, words = command
    return text.replace(_COMMAND, f"const COMMAND = {json.dumps([program, *words])};")
