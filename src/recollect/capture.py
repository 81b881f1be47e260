"""From what an agent printed, and from its tool calls, to notes worth keeping. Pure.

Output is cut at rules, wide gaps and headings; pieces of 50 characters or less say too little. A call is kept when it
changed something: tools that only look, our own tools, and calls that failed are left out. The same title twice in a
row of calls is once enough; which titles were last is asked of the store, because hooks live for one event only.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from recollect.readers.clean import spoken_by_agent
from recollect.text.classify import classify, title_of
from recollect.types import Draft

SHORTEST = 50
LONGEST_TITLE = 80
RESULT_CHARS = 500
LAST_TITLES = 50
CALL_TAG = "tool-call"

_BORDERS = re.compile(r"\n---\n|\n{3,}|\n(?=#{1,3} )")
_LOOKS = frozenset({
    "read", "glob", "grep", "ls", "list", "search", "find", "fetch", "get", "view", "cat", "head", "tail", "status",
    "stats", "show", "timeline", "websearch", "webfetch", "todoread", "todowrite", "notebookread", "toolsearch",
})  # fmt: skip
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def pieces(output: str) -> Iterator[str]:
    """The parts of an agent's output that are long enough to mean something."""
    for part in _BORDERS.split(f"\n{output}".replace("\r\n", "\n")):
        text = part.strip()
        if len(text) > SHORTEST:
            yield text


def from_output(output: str, agent: str, session: str | None = None) -> list[Draft]:
    """Drafts for what an agent printed; each is classified and titled by its own words."""
    spoken = spoken_by_agent(output)  # without memories that were recalled into it
    return [
        Draft(
            text,
            kind=classify(text),
            title=title_of(text, LONGEST_TITLE),
            source=agent,
            origin="agent",
            session=session,
        )
        for text in dict.fromkeys(pieces(spoken))
    ]


def from_call(
    tool: str, arguments: Mapping[str, Any], result: Any, agent: str, known_titles: Collection[str] = (),
    session: str | None = None,
) -> Draft | None:  # fmt: skip
    """The draft for a tool call, or None where there is nothing to keep. What tools say is not trusted."""
    if looks_only(tool) or failed(result):
        return None
    told = _shown(arguments)
    title = title_of(f"{tool}: {told}", LONGEST_TITLE)
    if title in known_titles:
        return None
    text = f"{tool}: {told}\n\n{_shown(result)[:RESULT_CHARS]}".strip()
    return Draft(
        text, kind=classify(text), title=title, tags=(CALL_TAG, tool[:60]), source=agent, origin="tool", session=session
    )


def looks_only(tool: str) -> bool:
    """Whether a tool changes nothing, going by its name, or is one of our own: capturing those would feed on itself."""
    name = tool.rsplit("__", 1)[-1]
    words = [word.lower() for word in _WORDS.findall(name)]
    ours = "recollect" in tool.lower() or "memory" in words
    return ours or not words or "".join(words) in _LOOKS or words[0] in _LOOKS or words[-1] in ("search", "list", "get")


def failed(result: Any) -> bool:
    """Whether a result says of itself that it is none."""
    if isinstance(result, str) and result.lstrip().startswith("{"):
        try:
            result = json.loads(result)
        except ValueError:
            return False
    if not isinstance(result, Mapping):
        return False
    return result.get("success") is False or bool(
        result.get("is_error") or result.get("isError") or result.get("error")
    )


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_short(part)}" for name, part in value.items())
    return json.dumps(value, ensure_ascii=False, default=str) if value is not None else ""


def _short(part: Any) -> str:
    text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str)
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"
