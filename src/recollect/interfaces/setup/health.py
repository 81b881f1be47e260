"""What doctor says of agents: which have our entries, when they last captured, and what went wrong."""

from pathlib import Path
from typing import Any

from recollect.errors import RecollectError
from recollect.interfaces.answers import iso
from recollect.interfaces.hooks import spool, status
from recollect.interfaces.hooks.adapters import AGENTS
from recollect.interfaces.setup import doing, hosts
from recollect.types import Finding


def findings(home: Path, project: Path | None) -> list[Finding]:
    """A row for each agent that is set up or was ever heard of, and one for what waits in the spool."""
    rows = status.read(home)
    found = [finding for agent in AGENTS if (finding := _agent(agent, rows.get(agent), project)) is not None]
    waiting, bad = spool.waiting(home)
    if bad:
        hint = f"look at the files *.bad in {spool.folder(home)}; delete them when they are of no use"
        found.append(Finding("spool", False, f"{bad} captures could not be done", hint, True))
    elif waiting:
        found.append(Finding("spool", True, f"{waiting} captures wait; the next session or search does them"))
    return found


def _agent(agent: str, row: Any, project: Path | None) -> Finding | None:
    row = row if isinstance(row, dict) else {}
    where = [name for name, folder in (("user", None), ("project", project)) if name == "user" or folder is not None]
    installed = [name for name in where if _is_set_up(agent, project if name == "project" else None)]
    if not installed and not row:
        return None
    detail = f"set up for the {' and the '.join(installed)}" if installed else "not set up"
    captured = row.get("captured_ms")
    detail += f"; last capture {iso(captured)}" if isinstance(captured, int) else "; nothing captured yet"
    if row.get("error"):
        return Finding(
            f"agent {agent}", False, f"{detail}; {row['error']}", "the next capture that succeeds clears this", True
        )
    return Finding(f"agent {agent}", True, detail)


def _is_set_up(agent: str, project: Path | None) -> bool:
    try:
        return doing.is_installed(hosts.places(agent, project))
    except (RecollectError, RuntimeError):  # no home folder
        return False
