"""A server built with the SDK, of both protocol eras, with a resource and a prompt: `python sdk.py [port]`."""

import sys

from mcp.server import MCPServer

server = MCPServer("music", log_level="ERROR")


@server.tool()
def play_song(title: str) -> str:
    """Play music by artist or title"""
    return f"playing {title}"


@server.tool()
def volume(level: int) -> dict[str, int]:
    """Make it louder or quieter"""
    return {"level": level}


@server.resource("music://now")
def now() -> str:
    """What is playing"""
    return "silence"


@server.prompt()
def mood(feeling: str) -> str:
    """Ask for music that fits a mood"""
    return f"Play something {feeling}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
