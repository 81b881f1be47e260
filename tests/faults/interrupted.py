"""A worker that is interrupted with Ctrl-C: `python -m faults.interrupted STORE JOURNAL VERB`.

It adds or imports many notes until the interrupt comes, then uses the same Memory once more.
"""

import sys
from pathlib import Path

from faults.journal import Journal
from faults.model import SPACE, Step, perform
from recollect import Draft, Memory
from recollect.ids import new_uid


def main(store: str, journal_path: str, verb: str) -> None:
    journal = Journal(Path(journal_path))
    with Memory(store, space=SPACE) as memory:
        memory.add("bootstrapword comes first")
        print("ready")
        count = 0
        try:
            while True:
                step = Step("import", tuple((new_uid(), f"{_word(count, n)} is one of many") for n in range(600)))
                journal.intend(step)
                if verb == "import":
                    perform(memory, step)
                else:
                    memory.add_many(Draft(text, uid=uid) for uid, text in step.texts)
                journal.acknowledge()
                count += 1
        except KeyboardInterrupt:
            memory.add("afterwards the same memory still works")
            print("acknowledged")


def _word(one: int, other: int) -> str:
    return "w" + "".join("bcdfghjklm"[int(digit)] for digit in f"{one:04}{other:04}")


if __name__ == "__main__":
    main(*sys.argv[1:])
