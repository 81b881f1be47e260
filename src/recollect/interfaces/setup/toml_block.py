"""Our part of a TOML file: one marked block at its end, so that nothing else has to be touched."""

import re
import tomllib

from recollect.errors import ConfigInvalid

_BEGIN = "# >>> recollect: made by `recollect setup`, removed by `recollect setup --uninstall`"
_END = "# <<< recollect"
_BLOCK = re.compile(rf"(?:\r?\n)*{re.escape(_BEGIN)}.*?{re.escape(_END)}(?:\r?\n|\Z)", re.DOTALL)


def with_server(text: str, command: str, arguments: list[str], where: str) -> str:
    """The text with our MCP server; one that is there already is left alone."""
    servers = _parsed(text, where).get("mcp_servers", {})
    if isinstance(servers, dict) and "recollect" in servers:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    words = ", ".join(_quoted(word) for word in arguments)
    lines = [_BEGIN, "[mcp_servers.recollect]", f"command = {_quoted(command)}", f"args = [{words}]", _END]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    changed = text + gap + newline.join(lines) + newline
    _parsed(changed, where)
    return changed


def without_server(text: str, where: str) -> str:
    _parsed(text, where)
    found = _BLOCK.search(text)
    if found is None:
        return text
    before, after = text[: found.start()], text[found.end() :]
    lost = "\n" if found[0].startswith("\n") and (after or before) else "\r\n" if found[0].startswith("\r\n") else ""
    return before + lost + after


def _parsed(text: str, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as trouble:
        raise ConfigInvalid(f"{where}: {trouble}", hint="correct the file first; nothing was changed") from trouble


def _quoted(word: str) -> str:
    import json

    return json.dumps(word)  # a JSON string is a TOML basic string
