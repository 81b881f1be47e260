"""Tool retrieval through the public API: cold, and after part of the recorded usage was replayed.

Every dataset in a folder that has tools (rows with a name) is measured. Queries with the role `learn` are usage: each
is learned with its tools, in an order that a fixed seed shuffles, and after 5 %, 25 % and all of them the other queries
are asked. Without such queries there is a cold figure only. Then the time of one retrieval is measured beside the least
that it could take: embedding the query and one numpy scan of the same vectors.
"""

import argparse
import json
import math
import os
import platform
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from datasets import Query, datasets, load
from recollect import Memory, __version__
from recollect.config import load_settings
from recollect.embed import EmbedOptions, open_embedder
from recollect.types import Tool

SHARES = (0.05, 0.25, 1.0)
DEPTH = 10
_FIELD = re.compile(r'\{[^{}]*"name"[^{}]*\}')


class Remembering:
    """The bundled model, each text embedded once: the same queries are asked at every point of the curve."""

    def __init__(self) -> None:
        found = open_embedder("minilm", options=EmbedOptions())
        assert found is not None
        self._embedder = found
        self._known: dict[str, Any] = {}
        self.name, self.model = found.name, found.model
        self.dims, self.max_tokens = found.dims, found.max_tokens
        self.latin_only = True

    def embed(self, texts: Sequence[str]) -> Any:
        for text in texts:
            if text not in self._known:
                self._known[text] = self._embedder.embed([text])[0]
        return np.stack([self._known[text] for text in texts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    parser.add_argument("--out", type=Path, help="write the figures here as JSON")
    parser.add_argument("--only", default="", help="names of datasets, with commas")
    parser.add_argument("--no-speed", action="store_true")
    given = parser.parse_args()
    only = set(filter(None, given.only.split(",")))
    results: dict[str, Any] = {"datasets": {}}
    rest = f"{'5%':>8}{'25%':>8}{'100%':>8}"
    print(f"{'':<22}{'recall@5: cold':>16}{rest}{'ndcg@10: cold':>17}{rest}")
    for place in datasets(given.data, only):
        found = measure(place)
        if found is not None:
            results["datasets"][place.name] = found
            print_row(place.name, found)
    if not given.no_speed:
        results["speed"] = speed()
        results["proxy"] = proxied()
        print_speed(results["speed"], results["proxy"])
    if given.out is not None:
        command = f"make bench-tools DATA={given.data.name} OUT={given.out.name}"
        results |= {"date": datetime.now(UTC).date().isoformat(), "version": __version__, "command": command}
        results["python"] = platform.python_version()
        given.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def measure(place: Path) -> dict[str, Any] | None:
    data = load(place)
    rows = [row for group in data.groups.values() for row in group]
    if not rows or not (data.learn or any(row.get("name") for row in rows)):
        return None
    started = time.perf_counter()
    folder = Path(tempfile.mkdtemp(prefix="recollect-tools-"))
    os.environ["RECOLLECT_HOME"] = str(folder)
    try:
        with Memory(folder / "tools.db", space="tools", settings=_settings(), embedder=Remembering()) as memory:
            return curve(memory, rows, data.queries, data.learn) | {"seconds": round(time.perf_counter() - started, 1)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings() -> Any:
    """Without the wait for the disk: thousands of usages are replayed, and no power cut is measured here."""
    return load_settings(durability="normal", search_deadline_ms=600_000)


def curve(memory: Memory, rows: list[dict[str, Any]], asked: list[Query], usage: list[Query]) -> dict[str, Any]:
    # Two tools may bear one name; the row's number as its server keeps them apart and is no word in any query.
    ids = {}
    tools = []
    for number, row in enumerate(rows):
        tool = tool_of(row)
        if (tool.server, tool.name) in ids:
            tool = Tool(f"{tool.name}#{number}", tool.description, tool.server, tool.parameters)
        ids[tool.server, tool.name] = row["id"]
        tools.append(tool)
    by_id = {id: key for key, id in ids.items()}
    memory.tools.offer(tools)
    memory.tools.embed_pending()
    scored = [query for query in asked if query.relevant]
    found: dict[str, Any] = {"tools": len(tools), "queries": len(scored), "cold": score(memory, scored, ids)}
    usage = [query for query in usage if query.relevant]
    random.Random(1).shuffle(usage)
    done = 0
    for share in SHARES if usage else ():
        upto = max(1, round(len(usage) * share))
        for query in usage[done:upto]:
            for document in query.relevant:
                server, name = by_id[document]
                memory.tools.learn(query.text, name, server=server)
        done = upto
        found[f"{share:.0%}"] = {**score(memory, scored, ids), "usages": done}
    return found


def tool_of(row: dict[str, Any]) -> Tool:
    """A row as its server would describe it. Where parameters are not parsed they are read from the raw definition."""
    return Tool(
        str(row.get("name") or row["id"]), str(row.get("text") or ""), str(row.get("server") or ""), parameters(row)
    )


def parameters(row: dict[str, Any]) -> dict[str, str]:
    given = row.get("params")
    if isinstance(given, dict):
        return {str(name): _words(told) for name, told in given.items()}
    if isinstance(given, list):
        return {str(one.get("name", "")): _words(one) for one in given if isinstance(one, dict)}
    found = {}
    for match in _FIELD.findall(str(row.get("raw") or "")):
        try:
            one = json.loads(match)
        except ValueError:
            continue
        found[str(one.get("name", ""))] = _words(one)
    return found


def _words(told: Any) -> str:
    return str(told.get("description") or "") if isinstance(told, dict) else str(told or "")


def score(memory: Memory, queries: list[Query], ids: dict[tuple[str, str], str]) -> dict[str, float]:
    recalls, gains = [], []
    for query in queries:
        hits = memory.tools.search(query.text, limit=DEPTH)
        found = [ids[hit.tool.server, hit.tool.name] for hit in hits]
        recalls.append(sum(1 for document in found[:5] if document in query.relevant) / len(query.relevant))
        ideal = sorted(query.relevant.values(), reverse=True)[:DEPTH]
        gains.append(_dcg([query.relevant.get(document, 0.0) for document in found]) / _dcg(ideal))
    return {"recall@5": _percent(recalls), "ndcg@10": _percent(gains)}


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, 1))


def _percent(values: Sequence[float]) -> float:
    return round(100 * sum(values) / len(values), 2) if values else 0.0


# --- speed


def speed(tools: int = 1000, pairs: int = 5000, rounds: int = 200) -> dict[str, float]:
    """One retrieval beside embedding the same query and one scan of as many vectors."""
    made = random.Random(2)
    words = [f"{a}{b}" for a in ("read", "find", "send", "make", "list", "plan") for b in "abcdefghijklmnopqrst"]

    def text(size: int) -> str:
        return " ".join(made.choice(words) for _ in range(size))

    folder = Path(tempfile.mkdtemp(prefix="recollect-tools-"))
    os.environ["RECOLLECT_HOME"] = str(folder)
    try:
        with Memory(folder / "tools.db", space="tools", settings=_settings()) as memory:
            offered = [Tool(f"tool_{number}", text(12), f"server{number % 20}") for number in range(tools)]
            memory.tools.offer(offered)
            for number in range(pairs):
                tool = offered[number % tools]
                memory.tools.learn(text(10), tool.name, server=tool.server)
            memory.tools.embed_pending()
            return _race(memory, [text(10) for _ in range(rounds)], tools + pairs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _race(memory: Memory, queries: list[str], rows: int) -> dict[str, float]:
    embedder = open_embedder("minilm", options=EmbedOptions())
    assert embedder is not None
    matrix = np.random.default_rng(3).standard_normal((rows, embedder.dims)).astype(np.float32)
    memory.tools.search("warm up", limit=15)
    embedder.embed(["warm up"])
    ours, bare = [], []
    for query in queries:
        start = time.perf_counter()
        memory.tools.search(query, limit=15)
        middle = time.perf_counter()
        similar = matrix @ embedder.embed([query])[0]
        np.argpartition(-similar, 15)
        ours.append(middle - start)
        bare.append(time.perf_counter() - middle)
    one, other = statistics.median(ours), statistics.median(bare)
    return {"p50_ms": round(1000 * one, 2), "bare_p50_ms": round(1000 * other, 2), "ratio": round(one / other, 2)}


# --- the proxy

_ECHO = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    answers = {
        "initialize": {"protocolVersion": "2025-06-18", "serverInfo": {"name": "echo", "version": "1"},
                       "capabilities": {"tools": {}}},
        "tools/list": {"tools": [{"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "again"}]},
    }
    if "id" in request:
        found = answers.get(request["method"])
        answer = {"result": found} if found else {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


def proxied(calls: int = 300) -> dict[str, float]:
    """One call of a tool that does nothing, over a pipe to its server and through the proxy, with a context set."""
    import anyio
    from mcp.client.stdio import StdioServerParameters

    folder = Path(tempfile.mkdtemp(prefix="recollect-proxy-"))
    try:
        echo = {"command": sys.executable, "args": ["-S", "-c", _ECHO]}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"echo": echo}}), encoding="utf-8")
        through = StdioServerParameters(
            command=sys.executable, args=["-m", "recollect", "proxy", "--config", str(folder / "mcp.json")],
            env={"RECOLLECT_HOME": str(folder), "RECOLLECT_SPACE": "bench"},
        )  # fmt: skip
        direct = StdioServerParameters(command=sys.executable, args=["-S", "-c", _ECHO])
        one = anyio.run(_call_p50, direct, "echo", calls)
        other = anyio.run(_call_p50, through, "echo__echo", calls)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"direct_p50_ms": round(one, 2), "proxied_p50_ms": round(other, 2), "overhead_ms": round(other - one, 2)}


async def _call_p50(server: Any, name: str, calls: int) -> float:
    from mcp import Client

    async with Client(server, cache=None) as client:
        await client.list_tools()
        if name != "echo":
            await client.call_tool("set_context", {"query": "say it again"})
        times = []
        for _ in range(calls):
            start = time.perf_counter()
            await client.call_tool(name, {})
            times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


# --- printing


def print_row(name: str, found: dict[str, Any]) -> None:
    points = ("cold", "5%", "25%", "100%")
    cells = [
        f"{found[point][metric]:>{width}.1f}" if point in found else f"{'–':>{width}}"
        for metric, first in (("recall@5", 16), ("ndcg@10", 17))
        for point, width in zip(points, (first, 8, 8, 8), strict=True)
    ]
    below = [point for point in points[1:] if point in found and found[point]["ndcg@10"] < found["cold"]["ndcg@10"]]
    print(f"{name:<22}" + "".join(cells) + (f"   below cold at {', '.join(below)}" if below else ""))
    sys.stdout.flush()


def print_speed(found: dict[str, float], proxy: dict[str, float]) -> None:
    print(
        f"\none retrieval over 1,000 tools and 5,000 pairs: p50 {found['p50_ms']} ms; "
        f"embedding the query and a bare scan {found['bare_p50_ms']} ms; ratio {found['ratio']}"
    )
    print(
        f"one call: p50 {proxy['direct_p50_ms']} ms directly, {proxy['proxied_p50_ms']} ms through the proxy, "
        f"{proxy['overhead_ms']} ms more"
    )


if __name__ == "__main__":
    main()
