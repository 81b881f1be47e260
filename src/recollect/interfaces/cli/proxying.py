"""`recollect proxy`: one MCP server in front of all others, which learns which tools work."""

import logging
import sys
from pathlib import Path

import click

from recollect.errors import RecollectError
from recollect.interfaces.cli.door import Door, command
from recollect.interfaces.cli.serving import _address, _shown


@command("proxy", "recollect proxy --config mcp.json", "recollect proxy --config mcp.json --http 127.0.0.1:8766")
@click.option("--config", metavar="FILE", required=True, help="JSON with mcpServers, and storage if you like.")
@click.option("--http", metavar="HOST:PORT", help="Serve streamable HTTP at /mcp here, instead of stdin and stdout.")
def proxy_command(door: Door, config: str, http: str | None) -> None:
    """Serve many MCP servers as one, and learn which tools work.

    Over HTTP a client sends the token of the file `token` in recollect's home folder, or of RECOLLECT_TOKEN, as
    `Authorization: Bearer …`. The proxy leaves when its client closes the pipe, and takes its servers along.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="recollect proxy: %(message)s")
    address = None if http is None else _address(http)
    try:
        from recollect.interfaces import proxy
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in ("recollect", ""):
            raise
        raise RecollectError(
            f"the proxy needs {missing.name}", hint="pip install 'recollect[mcp]', then start it again"
        ) from None
    from recollect.memory import Memory

    wanted = proxy.read_config(Path(config))
    memory = Memory(door.store or wanted.store or None, space=door.space, actor="proxy")
    if address is None:
        proxy.serve_stdio(wanted, memory)
        return
    from recollect.interfaces.mcp.server import stored_token

    token = stored_token(memory.settings.home)
    place = memory.settings.home / "token"
    click.echo(f"MCP at http://{_shown(address[0])}:{address[1]}/mcp, token in {place}", err=True)
    proxy.serve_http(wanted, memory, *address, token)
