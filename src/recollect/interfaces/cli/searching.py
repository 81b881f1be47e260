"""`recollect search`."""

from typing import Any

import click

from recollect.errors import InvalidInput
from recollect.interfaces import answers
from recollect.interfaces.cli import screen, words
from recollect.interfaces.cli.door import Door, command
from recollect.types import Answer, Hit

_OWNERS = {"notes": ("note",), "sessions": ("turn",), "files": ("file",), "all": ("note", "turn", "file")}


@command(
    "search",
    'recollect search "billing database"',
    "recollect search deploy --kind decision --since 30d --limit 3",
    'recollect search "where does Ana work" --as-of "in March"',
    'recollect search "what did we say about caching" --source sessions --explain',
    'recollect search "api style" --space all --json',
)
@click.argument("query", nargs=-1)
@click.option("--limit", type=int, metavar="N", help="Most hits to show; 10 by default.")
@click.option("--mode", metavar="MODE", help="hybrid, keyword or vector; hybrid by default.")
@click.option("--kind", multiple=True, metavar="KIND", help="Only notes of this kind; may be repeated.")
@click.option("--tag", multiple=True, metavar="TAG", help="Only notes with this tag; may be repeated, or a,b.")
@click.option("--since", metavar="WHEN", help="Not older than: 2026-01-31, 30d, 'last Tuesday', 'in March'.")
@click.option("--until", metavar="WHEN", help="Not newer than; also 'before the release'.")
@click.option("--as-of", metavar="WHEN", help="Only what was true then, though it was superseded since.")
@click.option("--min-score", type=float, metavar="0-1", help="Leave weaker hits out.")
@click.option("--source", metavar="WHAT", default="all", help="notes, sessions, files or all.")
@click.option("--session", metavar="UID", help="Only what belongs to this session.")
@click.option("--explain", is_flag=True, help="Say how each score came about.")
def search_command(door: Door, query: tuple[str, ...], limit: int | None, **given: Any) -> None:
    """Find notes, turns and passages by keyword and meaning.

    Looks in the current project and in the user space; --space all looks everywhere. Finding nothing is no error.
    """
    options = _options(given)
    with door.caught_up() as memory:
        answer = memory.search(" ".join(query), limit=limit, explain=given["explain"], **options)
    door.answer(answers.answer_json(answer), lambda: _show(answer, given["explain"]))


def _options(given: dict[str, Any]) -> dict[str, Any]:
    if given["source"] not in _OWNERS:
        raise InvalidInput(f"unknown source {given['source'][:40]!r}", hint=f"one of: {', '.join(_OWNERS)}")
    times = words.since_until(given["since"], given["until"], given["as_of"])
    options: dict[str, Any] = {"owners": _OWNERS[given["source"]], **times}
    if given["kind"]:
        options["kinds"] = words.tags(given["kind"])
    if given["tag"]:
        options["tags"] = words.tags(given["tag"])
    for name in ("mode", "min_score", "session"):
        if given[name] is not None:
            options[name] = given[name]
    return options


def _show(answer: Answer, explain: bool) -> None:
    if not answer.hits:
        screen.say(f"nothing found for {answer.query[:200]!r}" if answer.query.strip() else "nothing to search for")
    else:
        rows = [(hit.id, f"{hit.score:.2f}", hit.kind, _what(hit), screen.day_and_time(hit.created_ms), hit.space)
                for hit in answer.hits]  # fmt: skip
        screen.table(("id", "score", "kind", "title", "created", "space"), rows)
    if explain:
        for hit in answer.hits:
            screen.say(f"{hit.id}: {hit.why or ', '.join(hit.matched_by)}")
    for notice in (f"mode: {answer.mode}", *answer.notices):
        screen.remark(notice)


def _what(hit: Hit) -> str:
    where = hit.path and (f"{hit.path}:{hit.lines[0]}" if hit.lines else hit.path)
    lead = ": ".join(part for part in (hit.speaker, hit.title or hit.snippet) if part)
    return f"{lead} ({where})" if where else lead
