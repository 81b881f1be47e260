"""Every trouble recollect can report, each with a hint that says what to do next.

RecollectError
├── InvalidInput        the caller gave something we refuse (bad text, bad range, unknown kind)
├── NotFound            no such note, session, space or operation in the visible spaces
├── Conflict            compare-and-set or undo met a newer revision
├── StoreUnavailable    the store cannot be opened or written now
│   ├── StoreBusy       another process holds the write lock past the deadline
│   ├── StoreFull       the disk or quota is full
│   ├── StoreReadOnly   the file or folder does not let us write
│   └── StoreForeign    the file is not ours, or was written by a newer recollect
├── StoreCorrupt        the file is damaged, or a note's text no longer has its hash
├── EmbedderUnavailable the embedding model or service cannot answer
└── ConfigInvalid       a setting is unknown or has a bad value

`code` is stable and goes to JSON; `exit_code` is what the command line returns. Interfaces translate in one
place, `interfaces/answers.py`.
"""


class RecollectError(Exception):
    code = "error"
    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInput(RecollectError):
    code = "invalid_input"
    exit_code = 2


class NotFound(RecollectError):
    code = "not_found"
    exit_code = 3


class Conflict(RecollectError):
    code = "conflict"
    exit_code = 4


class StoreUnavailable(RecollectError):
    code = "store_unavailable"
    exit_code = 5


class StoreBusy(StoreUnavailable):
    code = "store_busy"


class StoreFull(StoreUnavailable):
    code = "store_full"


class StoreReadOnly(StoreUnavailable):
    code = "store_read_only"


class StoreForeign(StoreUnavailable):
    code = "store_foreign"


class StoreCorrupt(RecollectError):
    code = "store_corrupt"
    exit_code = 6


class EmbedderUnavailable(RecollectError):
    code = "embedder_unavailable"
    exit_code = 7


class ConfigInvalid(RecollectError):
    code = "config_invalid"
    exit_code = 2
