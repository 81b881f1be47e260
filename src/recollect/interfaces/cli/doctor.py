"""`recollect doctor`: checks everything, says what it found in plain words, repairs what can be rebuilt."""

from pathlib import Path
from typing import Any

import click

from recollect.errors import NotFound, RecollectError
from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command
from recollect.types import Finding


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
        hint = "`recollect backup list` shows copies, `recollect backup restore` brings one back"
        return [Finding("open", False, error.message, hint)], []
    with memory:
        fixed = list(memory.repair()) if fix else []
        store = [Finding("open", True, f"{memory.settings.store} opens"), *memory.check()]
        return [*store, *_agents(memory.settings.home)], fixed


def _agents(home: Path) -> list[Finding]:
    from recollect.interfaces.setup.health import findings

    return findings(home, Path.cwd())


def _show(health: dict[str, Any]) -> None:
    for done in health["fixed"]:
        screen.say(f"fixed: {done}")
    for row in health["checks"]:
        screen.say(f"{'ok ' if row['ok'] else 'BAD'}  {row['check']}: {row['detail']}")
        if row["hint"] and not row["ok"]:
            screen.say(f"     {row['hint']}")
    passed = sum(1 for row in health["checks"] if row["ok"])
    screen.say(f"{health['status']}: {passed} of {len(health['checks'])} checks passed ({health['score']} %)")
