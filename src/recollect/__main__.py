"""`recollect` and `python -m recollect`: nothing but the way to the command line, so that Ctrl-C is met everywhere.

A short call makes thousands of objects while it imports and throws them all away at its end; looking through them for
garbage costs a tenth of its time, so the collector rests until a command has started, and at the end.
"""

import gc
import sys


def main() -> int:
    gc.disable()
    try:
        from recollect.interfaces.cli.app import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the store is sound\n")
        return 130
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
