"""`recollect` and `python -m recollect`: nothing but the way to the command line, so that Ctrl-C is met everywhere."""

import sys


def main() -> int:
    try:
        from recollect.interfaces.cli.app import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the store is sound\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
