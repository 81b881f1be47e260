"""`recollect tools`: the tools of a space, which of them fit a request, and what usage taught."""

import click

from recollect.errors import InvalidInput
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command, topic
from recollect.types import Pair

tools_command = topic("tools", "Keep tools, find the one that fits a request, and learn from what worked.")
_SERVER = click.option("--server", metavar="NAME", default="", help="The server that offers it.")


@command(
    "add", 'recollect tools add deploy "Bring the site up to date" --param branch="what to deploy"',
    group=tools_command,
)  # fmt: skip
@click.argument("name")
@click.argument("description", nargs=-1)
@_SERVER
@click.option("--param", multiple=True, metavar="NAME=TEXT", help="Parameter and what it means; may be repeated.")
def add_command(door: Door, name: str, description: tuple[str, ...], server: str, param: tuple[str, ...]) -> None:
    """Add a tool to the list of this space; one with the same name and server is replaced."""
    parameters = {}
    for one in param:
        key, _, told = one.partition("=")
        if not key.strip():
            raise InvalidInput(f"{one[:40]!r} is no NAME=TEXT", hint='for example --param city="name of the city"')
        parameters[key.strip()] = told
    with door.memory(create=True) as memory:
        tool = memory.tools.add(name, " ".join(description), server=server, parameters=parameters)
    door.answer(answers.plain(tool), lambda: screen.say(f"added {_full(tool.server, tool.name)}"))


@command("list", "recollect tools", "recollect tools list --json", group=tools_command)
def list_command(door: Door) -> None:
    """List the tools that were added to this space."""
    with door.memory() as memory:
        found = memory.tools.list()
    rows = [(tool.server, tool.name, tool.description, ", ".join(tool.parameters)) for tool in found]
    door.answer(
        {"tools": [answers.plain(tool) for tool in found]},
        lambda: screen.table(("server", "name", "what it does", "takes"), rows) if rows else screen.say("no tools yet"),
    )


@command("search", 'recollect tools search "bring the site live"', group=tools_command)
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=15, show_default=True, help="Most tools.")
def search_command(door: Door, query: tuple[str, ...], limit: int) -> None:
    """Find the tools that fit a request, by what they say of themselves and by what worked before."""
    with door.memory() as memory:
        hits = memory.tools.search(" ".join(query), limit=limit)
        notice = memory.tools.notice
    found = [
        answers.plain(hit.tool)
        | {"score": round(hit.score, 4), "parts": {k: round(v, 4) for k, v in hit.parts.items()}}
        for hit in hits
    ]
    rows = [(f"{hit.score:.2f}", _full(hit.tool.server, hit.tool.name), hit.tool.description) for hit in hits]

    def show() -> None:
        if notice:
            screen.remark(notice)
        if not rows:
            return screen.say("no tools yet: `recollect tools add` adds one")
        return screen.table(("score", "tool", "what it does"), rows)

    door.answer({"tools": found, "notices": [notice] if notice else []}, show)


@command(
    "learn", 'recollect tools learn "bring the site live" deploy', 'recollect tools learn "roll back" deploy --failed',
    group=tools_command,
)  # fmt: skip
@click.argument("query")
@click.argument("tool")
@_SERVER
@click.option("--signal", type=float, default=1.0, show_default=True, help="How telling it is, up to 1.5.")
@click.option("--failed", is_flag=True, help="The call failed: trust the pair less, if it is known.")
def learn_command(door: Door, query: str, tool: str, server: str, signal: float, failed: bool) -> None:
    """Remember that a tool served a request."""
    with door.memory(create=True) as memory:
        pair = memory.tools.learn(query, tool, server=server, signal=signal, success=not failed, embed=False)
    if pair is None:
        return door.answer({"learned": False}, lambda: screen.say("nothing to learn from that"))
    said = f"{_full(server, tool)}: confidence {pair.confidence:.2f} after {screen.plural(pair.uses, 'use')}"
    return door.answer({"learned": True} | pair_json(pair), lambda: screen.say(said))


@command("forget", "recollect tools forget --tool deploy", group=tools_command)
@click.option("--tool", metavar="NAME", help="What was learned about this tool.")
@click.option("--server", metavar="NAME", help="What was learned about this server's tools.")
@click.option("--query", metavar="TEXT", help="What was learned from this request.")
@click.option("--listed", is_flag=True, help="Also take the tool off the list of this space.")
def forget_command(door: Door, tool: str | None, server: str | None, query: str | None, listed: bool) -> None:
    """Remove what was learned about a tool, a server or a request."""
    with door.memory() as memory:
        gone = memory.tools.forget(tool=tool, server=server, query=query)
        removed = bool(listed and tool) and memory.tools.remove(tool or "", server=server or "")
    door.answer({"forgotten": gone, "removed": removed}, lambda: screen.say(f"forgot {screen.plural(gone, 'pair')}"))


@command("stats", "recollect tools stats", group=tools_command)
def stats_command(door: Door) -> None:
    """Count tools, pairs and uses."""
    with door.memory() as memory:
        numbers = answers.stats_json(memory.tools.stats())
    door.answer(
        numbers,
        lambda: screen.table(
            ("what", "how many"), [(name.replace("_", " "), value) for name, value in numbers.items()]
        ),
    )


@command("prune", "recollect tools prune", "recollect tools prune --unused-days 90 --most 1000", group=tools_command)
@click.option("--least-confidence", type=float, default=0.1, show_default=True, help="Pairs below this go.")
@click.option("--unused-days", type=float, default=30, show_default=True, help="Pairs not used for longer go.")
@click.option("--most", type=click.IntRange(1), default=5000, show_default=True, help="Beyond, the best 90 % stay.")
def prune_command(door: Door, least_confidence: float, unused_days: float, most: int) -> None:
    """Drop pairs that are doubtful, unused or too many, in one transaction."""
    with door.memory() as memory:
        gone = memory.tools.prune(least_confidence=least_confidence, unused_days=unused_days, most=most)
    said = ", ".join(f"{count} {what}" for what, count in gone.items())
    door.answer(gone, lambda: screen.say(f"dropped {said}"))


@command("export", "recollect tools export > pairs.jsonl", group=tools_command)
def export_command(door: Door) -> None:
    """Print what was learned, the most trusted first, as lines of JSON (without vectors)."""
    with door.memory() as memory:
        for pair in memory.tools.pairs():
            click.echo(answers.dumps(pair_json(pair)))


def pair_json(pair: Pair) -> dict[str, object]:
    row = answers.plain(pair)
    return {name: value for name, value in row.items() if name not in ("vector", "space")} | {"space": pair.space}


def _full(server: str, name: str) -> str:
    return f"{server}__{name}" if server else name
