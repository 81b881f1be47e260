"""PostgreSQL's troubles as ours: what may be tried again, what is full, what clashes, what is gone."""

from psycopg import errors as pg

from recollect.errors import (
    Conflict,
    InvalidInput,
    RecollectError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

# Serialization failure, deadlock, lock or statement timeout, too many clients, server starting or stopping.
_AGAIN = (
    pg.SerializationFailure, pg.DeadlockDetected, pg.LockNotAvailable, pg.QueryCanceled, pg.TooManyConnections,
)  # fmt: skip
_FULL = (pg.DiskFull, pg.OutOfMemory)
_READ_ONLY = (pg.ReadOnlySqlTransaction, pg.InsufficientPrivilege)
_DAMAGED = (pg.DataCorrupted, pg.IndexCorrupted)


def explain(trouble: pg.Error, where: str) -> RecollectError:
    text = _first_line(trouble)
    if isinstance(trouble, _AGAIN):
        return StoreBusy(f"{where} is in use by another writer: {text}", hint="nothing was changed; try again")
    if isinstance(trouble, _FULL):
        return StoreFull(f"no space left for {where}: {text}", hint="free space on the server; nothing was changed")
    if isinstance(trouble, _READ_ONLY):
        return StoreReadOnly(f"{where} cannot be written: {text}", hint="use a role that may write, on the primary")
    if isinstance(trouble, _DAMAGED):
        return StoreCorrupt(f"{where} is damaged: {text}", hint="restore from a backup of the server")
    if isinstance(trouble, pg.IntegrityError):
        return Conflict(f"the change clashes with what is stored: {text}", hint="read it again and retry")
    if isinstance(trouble, pg.DataError):
        return InvalidInput(f"the database refuses a value: {text}", hint="check the text for NUL characters")
    if isinstance(trouble, pg.UndefinedTable):
        return StoreUnavailable(f"{where} lost a table: {text}", hint="was the store dropped? open it anew")
    return StoreUnavailable(
        f"cannot reach {where}: {text}", hint="check that the server runs and that the URL, role and password are right"
    )


def _first_line(trouble: Exception) -> str:
    lines = str(trouble).strip().splitlines()
    return lines[0] if lines else type(trouble).__name__
