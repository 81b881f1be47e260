"""What an agent said before it had a memory: its transcripts on this machine."""

import os
from collections.abc import Mapping
from pathlib import Path

from recollect.readers.homes import agent_histories

# an agent's name here: its name among the histories
_HISTORIES = {"gemini": "gemini-cli"}


def transcripts(agent: str, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The files of the agent's history, in a fixed order; nothing is opened."""
    name = _HISTORIES.get(agent, agent)
    found: set[Path] = set()
    for root in agent_histories(Path.home(), environ):
        if root.agent == name:
            inside = [root.path] if root.path.is_file() else root.path.rglob("*")
            found.update(path for path in inside if root.covers(path) and path.is_file())
    return sorted(found)
