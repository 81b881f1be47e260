"""`recollect doctor`: checks everything, says what it found in plain words, repairs what can be rebuilt."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recollect.errors import NotFound, RecollectError, StoreCorrupt
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command
from recollect.types import Finding

if TYPE_CHECKING:
    from recollect.memory import Memory


@command("doctor", "recollect doctor", "recollect doctor --fix", "recollect doctor --json")
@click.option("--fix", is_flag=True, help="Rebuild what is derived and damaged.")
def doctor_command(door: Door, fix: bool) -> int:
    """Check the store and repair what can be rebuilt.

    Agents that were set up are looked at too. Exits with 0 when every check passed and with 6 otherwise.
    """
    findings, fixed = _examine(door, fix)
    health = answers.health_json(findings, fixed)
    door.answer(health, lambda: _show(health))
    return answers.EXIT_OK if health["status"] == "healthy" else answers.EXIT_CORRUPT


def _examine(door: Door, fix: bool) -> tuple[list[Finding], list[str]]:
    try:
        memory = door.memory()
    except NotFound:
        raise
    except RecollectError as error:
        # Other commands say "run doctor" here; doctor itself has to name the way out.
        if fix and isinstance(error, StoreCorrupt):
            return _rescued(door)
        hint = "`recollect doctor --fix` saves what can be read; `recollect backup restore` brings a copy back"
        return [Finding("open", False, error.message, hint)], []
    with memory:
        findings, fixed = _looked(memory, fix)
    if fix and any(finding.check == "integrity" and not finding.ok for finding in findings):
        return _rescued(door)
    return findings, fixed


def _looked(memory: "Memory", fix: bool) -> tuple[list[Finding], list[str]]:
    opened = Finding("open", True, f"{memory.settings.store} opens")
    try:
        fixed = list(memory.repair()) if fix else []
        around = _agents(memory.settings.home)
        return [opened, *memory.check(surroundings=True), *around], fixed
    except StoreCorrupt as error:  # a page that a check needs is gone
        hint = "`recollect doctor --fix` saves what can be read; `recollect backup restore` brings a copy back"
        return [opened, Finding("integrity", False, error.message, hint)], []


def _agents(home: Path) -> list[Finding]:
    from recollect.interfaces.setup.health import findings

    return findings(home, Path.cwd())


def _rescued(door: Door) -> tuple[list[Finding], list[str]]:
    from recollect.ids import now_ms
    from recollect.upkeep.rescue import rescue

    saved = rescue(door.settings(), now_ms())
    with door.memory() as memory:
        return [Finding("open", True, f"{memory.settings.store} opens"), *memory.check(surroundings=True)], saved.story


def _show(health: dict[str, Any]) -> None:
    for done in health["fixed"]:
        screen.say(f"fixed: {done}")
    for row in health["checks"]:
        screen.say(f"{'ok ' if row['ok'] else 'BAD'}  {row['check']}: {row['detail']}")
        if row["hint"] and not row["ok"]:
            screen.say(f"     {row['hint']}")
    passed = sum(1 for row in health["checks"] if row["ok"])
    screen.say(f"{health['status']}: {passed} of {len(health['checks'])} checks passed ({health['score']} %)")
