"""The options that describe a note, shared by add and update, and what they become in Memory."""

from collections.abc import Callable
from typing import Any

import click

from recollect.interfaces.cli import words

Callback = Callable[..., Any]


def note_options(function: Callback) -> Callback:
    for option in reversed(
        (
            click.option("--kind", metavar="KIND", help="fact, decision, bugfix, … (else the text decides)."),
            click.option("--title", metavar="TEXT", help="Title (else taken from the text)."),
            click.option("--tag", "tag", multiple=True, metavar="TAG", help="Tag; may be repeated, or a,b."),
            click.option("--importance", type=int, metavar="1-10", help="How much it matters; 5 by default."),
            click.option("--confidence", type=float, metavar="0-1", help="How sure it is; 1.0 by default."),
            click.option("--context", metavar="TEXT", help="What it was about; helps to find it."),
            click.option("--source", metavar="TEXT", help="Where it comes from: a link, a file, a person."),
            click.option("--expires", metavar="WHEN", help="2026-12-31, or a span: 12h, 30d, 2w; never."),
            click.option("--valid-from", metavar="WHEN", help="Since when it is true; else since it is remembered."),
            click.option("--valid-to", metavar="WHEN", help="Until when it is true; never takes it off."),
            click.option("--meta", multiple=True, metavar="KEY=VALUE", help="Further field; may be repeated."),
            click.option("--allow-secrets", is_flag=True, help="Keep what looks like a password or key."),
        )
    ):
        function = option(function)
    return function


def note_fields(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, under Memory's names; what was not given is left out."""
    fields = {
        name: given[name]
        for name in ("kind", "title", "importance", "confidence", "context", "source")
        if given.get(name) is not None
    }
    if given["tag"]:
        fields["tags"] = words.tags(given["tag"])
    if given["meta"]:
        fields["metadata"] = words.metadata(given["meta"])
    if given["expires"] is not None:
        never = given["expires"].strip().lower() in ("never", "")
        fields["expires_ms"] = None if never else words.moment_ms(given["expires"], ahead=True)
    return fields | words.validity(given["valid_from"], given["valid_to"])
