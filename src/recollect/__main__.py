"""`recollect` and `python -m recollect`: nothing but the way to the command line, so that Ctrl-C is met everywhere.

A short call makes thousands of objects while it imports and throws them all away at its end; looking through them for
garbage costs a tenth of its time, so the collector rests until a command has started, and at the end. Hooks run at
every prompt of an agent, so they do not even load the command line.
"""

import gc
import sys


def main() -> int:
    gc.disable()
    try:
        if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv:
            from recollect.interfaces.hooks import run as run_hook

            return run_hook(sys.argv[2:])
        from recollect.interfaces.cli.app import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the store is sound\n")
        return 130
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
