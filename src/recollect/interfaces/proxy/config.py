"""The proxy's configuration: the usual `mcpServers` JSON and a `storage` block. What is wrong is told with its line."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from recollect.errors import ConfigInvalid
from recollect.tools import LEAST_CONFIDENCE, MOST_PAIRS, UNUSED_DAYS
from recollect.values import value

SEPARATOR = "__"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_SERVER_KEYS = {
    "command", "args", "env", "cwd", "url", "headers", "type", "transport", "enabled", "disabled", "timeout",
    "description", "name",
}  # fmt: skip
_STORAGE_KEYS = {"path", "pruneThreshold", "pruneMinConfidence", "pruneUnusedDays"}


@value
class ServerConfig:
    """One upstream: a command to start, or an address to call."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    timeout_seconds: float = 300.0


@value
class ProxyConfig:
    servers: tuple[ServerConfig, ...]
    store: str = ""
    most_pairs: int = MOST_PAIRS
    least_confidence: float = LEAST_CONFIDENCE
    unused_days: float = UNUSED_DAYS


def read_config(path: Path) -> ProxyConfig:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as trouble:
        raise ConfigInvalid(f"{path} cannot be read: {trouble}", hint="name a JSON file with --config") from None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as trouble:
        raise ConfigInvalid(
            f"{path}, line {trouble.lineno}, column {trouble.colno}: {trouble.msg}", hint="it must be JSON"
        ) from None
    return _Reader(path, text).config(content)


class _Reader:
    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def refuse(self, where: str, what: str, hint: str) -> NoReturn:
        """`where` is the key at fault; its first line is good enough to find it."""
        at = self._text.find(json.dumps(where)) if where else -1
        line = self._text.count("\n", 0, at) + 1 if at >= 0 else 1
        raise ConfigInvalid(f"{self._path}, line {line}: {what}", hint=hint)

    def config(self, content: Any) -> ProxyConfig:
        if not isinstance(content, dict) or not ("mcpServers" in content or "servers" in content):
            self.refuse("", "there is no mcpServers object", 'for example {"mcpServers": {"files": {"command": "…"}}}')
        servers = content.get("mcpServers", content.get("servers"))
        if isinstance(servers, list):  # a list of objects that have a name
            servers = {str(one.get("name", "")): one for one in servers if isinstance(one, dict)}
        if not isinstance(servers, dict):
            self.refuse("mcpServers", "mcpServers is no object", "it has a key for each server")
        found = [self.server(name, one) for name, one in servers.items() if self.enabled(name, one)]
        if not found:
            self.refuse("mcpServers", "no server is enabled", "add one under mcpServers")
        return ProxyConfig(tuple(found), **self.storage(content.get("storage", {})))

    def enabled(self, name: str, one: Any) -> bool:
        if not isinstance(one, dict):
            self.refuse(name, f"{name} is no object", "a server has a command or a url")
        return one.get("enabled", True) is not False and one.get("disabled", False) is not True

    def server(self, name: str, one: Mapping[str, Any]) -> ServerConfig:
        if not _NAME.fullmatch(name) or SEPARATOR in f"{name}_":  # where a name ends must be plain in server__tool
            self.refuse(
                name, f"{name[:70]!r} is no name for a server", "letters, digits, - and _; no double _, none at the end"
            )
        unknown = [key for key in one if key not in _SERVER_KEYS]
        if unknown:
            self.refuse(
                unknown[0], f"{name} has an unknown key {unknown[0]!r}", f"known: {', '.join(sorted(_SERVER_KEYS))}"
            )
        command, url = one.get("command", ""), one.get("url", "")
        if not isinstance(command, str) or not isinstance(url, str) or bool(command) == bool(url):
            self.refuse(name, f"{name} needs either a command or a url", "a command is started, a url is called")
        args = one.get("args", [])
        if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
            self.refuse("args", f"args of {name} is no list of texts", 'for example "args": ["-y", "some-server"]')
        timeout = one.get("timeout", 300)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            self.refuse("timeout", f"timeout of {name} is no number of seconds above 0", "300 is the default")
        cwd = str(one.get("cwd") or "")
        return ServerConfig(
            name, command, tuple(args), self.texts(name, "env", one), str(self._path.parent / cwd) if cwd else "", url,
            self.texts(name, "headers", one), float(timeout),
        )  # fmt: skip

    def texts(self, name: str, key: str, one: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        given = one.get(key) or {}
        if not isinstance(given, dict) or not all(isinstance(told, str) for told in given.values()):
            self.refuse(key, f"{key} of {name} is no object of texts", f'for example "{key}": {{"KEY": "value"}}')
        return tuple(given.items())

    def storage(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, dict) or set(given) - _STORAGE_KEYS:
            odd = next(iter(set(given) - _STORAGE_KEYS), "storage") if isinstance(given, dict) else "storage"
            self.refuse(odd, f"storage does not know {odd!r}", f"known: {', '.join(sorted(_STORAGE_KEYS))}")
        path = given.get("path", "")
        if not isinstance(path, str):
            self.refuse("path", "storage.path is no text", "a file; a relative one is beside this file")
        known = "://" in path or not path
        return {
            "store": path if known else str(self._path.parent / path),
            "most_pairs": int(self.number(given, "pruneThreshold", MOST_PAIRS, 1, 10_000_000)),
            "least_confidence": self.number(given, "pruneMinConfidence", LEAST_CONFIDENCE, 0, 1.5),
            "unused_days": self.number(given, "pruneUnusedDays", UNUSED_DAYS, 0, 36_500),
        }

    def number(self, given: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
        found = given.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
            self.refuse(key, f"storage.{key} is no number from {least:g} to {most:g}", f"{default:g} is the default")
        return float(found)
