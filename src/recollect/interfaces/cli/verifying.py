"""`recollect verify`."""

from typing import TYPE_CHECKING

from recollect.interfaces import answers
from recollect.interfaces.cli import screen
from recollect.interfaces.cli.door import Door, command

if TYPE_CHECKING:
    from recollect.upkeep.verify import Verified


@command("verify", "recollect verify", "recollect verify --json")
def verify_command(door: Door) -> int:
    """Prove that nothing was changed behind recollect's back.

    Exits with 0 when everything fits and with 6 otherwise.
    """
    with door.memory() as memory:
        found = memory.verify()
    door.answer(answers.plain(found), lambda: _show(found))
    return answers.EXIT_OK if found.ok else answers.EXIT_CORRUPT


def _show(found: "Verified") -> None:
    counted = [screen.plural(found.events, "event"), screen.plural(found.notes, "note"),
               f"{screen.plural(found.versions, 'earlier version')}"]  # fmt: skip
    screen.say(f"{'verified' if found.ok else 'NOT verified'}: {', '.join(counted)}")
    for problem in found.problems:
        screen.say(f"BAD  {problem}")
    for claim in found.proves:
        screen.say(f"proves: {claim}")
    for claim in found.does_not_prove:
        screen.say(f"does not prove: {claim}")
    if found.sealed is not None and found.ok:
        screen.say("sealed with your key" if found.sealed else "sealed with your key for the first time")
