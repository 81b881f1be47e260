"""What a fork does to SQLite, and how a child gets clear of it.

SQLite notes in memory which file locks the process holds. A fork copies the notes but not the locks: a connection
that the child opens to the same file believes itself protected, and when the parent closes the store its log is
deleted under the child, with everything that the child writes from then on. So the first thing in a child is to close
what it inherited. Nothing is lost by that: idle connections have nothing open, and the parent's locks, which are
real, keep the child from touching the log. A connection in the middle of a transaction cannot be closed so; the child
is then refused.
"""

import os
import weakref
from pathlib import Path

import apsw

from recollect.errors import StoreUnavailable

_open: "weakref.WeakKeyDictionary[apsw.Connection, Path]" = weakref.WeakKeyDictionary()
_stranded: set[Path] = set()
_kept: list[apsw.Connection] = []  # never closed, not even by the garbage collector


def watch(connection: apsw.Connection, path: Path) -> None:
    _open[connection] = path


def refuse_stranded(path: Path) -> None:
    if path in _stranded:
        raise StoreUnavailable(
            f"this process was forked while its parent was using {path}",
            hint='start it with the "spawn" method, or fork before the store is in use',
        )


def _close_inherited() -> None:
    for connection, path in list(_open.items()):
        try:
            if not connection.in_transaction:
                connection.close()
                continue
        except apsw.ConnectionClosedError:
            continue
        except apsw.Error:  # another thread of the parent was inside it
            pass
        _kept.append(connection)
        _stranded.add(path)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
