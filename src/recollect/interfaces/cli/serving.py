"""`recollect mcp`: an MCP server over standard input and output, or over HTTP on this machine."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recollect.errors import InvalidInput, RecollectError
from recollect.interfaces.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.memory import Memory

PROFILES = ("default", "sessions", "index", "scratchpad", "hooks", "beliefs", "rulebook", "mudpuppy")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@command(
    "mcp",
    "recollect mcp",
    "recollect mcp --profile sessions",
    "recollect mcp --http 127.0.0.1:8765",
)
@click.option("--http", metavar="HOST:PORT", help="Serve streamable HTTP at /mcp here, instead of stdin and stdout.")
@click.option("--profile", metavar="NAME", default="default", help="Which tools: " + ", ".join(PROFILES) + ".")
def mcp_command(door: Door, http: str | None, profile: str) -> None:
    """Serve this memory to an agent through the Model Context Protocol.

    Over HTTP a client sends the token of the file `token` in recollect's home folder, or of RECOLLECT_TOKEN, as
    `Authorization: Bearer …`. The server leaves when its client closes the pipe.
    """
    if profile not in PROFILES:
        raise InvalidInput(f"there is no profile {profile[:40]!r}", hint=f"one of: {', '.join(PROFILES)}")
    address = None if http is None else _address(http)
    home = door.settings().home  # a bad setting is told before the client waits for an answer
    try:
        from recollect.interfaces.mcp import server
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in ("recollect", ""):
            raise
        raise RecollectError(
            f"the MCP server needs {missing.name}", hint="pip install 'recollect[mcp]', then start it again"
        ) from None
    if address is None:
        server.serve_stdio(lambda: _memory(door), profile)
    else:
        token = server.stored_token(home)
        click.echo(f"MCP at http://{_shown(address[0])}:{address[1]}/mcp, token in {home / 'token'}", err=True)
        server.serve_http(lambda: _memory(door), profile, *address, token)


def _memory(door: Door) -> "Memory":
    from recollect.memory import Memory

    folder = os.environ.get("CLAUDE_PROJECT_DIR", "")
    place = folder if folder and Path(folder).is_dir() else None
    return Memory(door.store, space=door.space, actor="mcp", folder=place)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise InvalidInput(f"{text[:60]!r} is no HOST:PORT", hint="for example 127.0.0.1:8765")
    if host not in LOOPBACK:
        raise InvalidInput(
            f"{host} is not this machine", hint=f"use one of {', '.join(LOOPBACK)}, and a tunnel from elsewhere"
        )
    return host, int(port)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
