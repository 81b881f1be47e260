"""Which engine a URL means: ours for a path or PostgreSQL, a guest's for any other scheme."""

import re
from typing import TYPE_CHECKING

from recollect.errors import InvalidInput, StoreUnavailable
from recollect.store import SCHEMA_VERSION, Store

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "recollect.stores"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)  # two letters at least: C:\ is a path


def open_store(url: str, *, busy_seconds: float, durability: str, create: bool = True) -> Store:
    """A path opens SQLite; `postgresql://…` a server; another scheme the engine that registered it."""
    match = _SCHEME.match(url)
    scheme = match[1].lower() if match else ""
    if scheme in ("postgresql", "postgres"):
        return _postgres(url, busy_seconds, durability, create)
    if scheme:
        return _guest(scheme, url, busy_seconds, durability, create)
    from recollect.store.sqlite import SqliteStore

    return SqliteStore(url, busy_seconds=busy_seconds, durability=durability, create=create)


def may_be_older(url: str) -> bool:
    """Whether a file's header names an older schema than ours; its log may know better. Reads 64 bytes, no more."""
    if _SCHEME.match(url):
        return False
    try:
        with open(url, "rb") as stream:  # noqa: PTH123 - on the way of every call
            header = stream.read(64)
    except OSError:
        return False
    return header[:16] == b"SQLite format 3\0" and 0 < int.from_bytes(header[60:64], "big") < SCHEMA_VERSION


def _postgres(url: str, busy_seconds: float, durability: str, create: bool) -> Store:
    try:
        from recollect.store.postgres import PostgresStore
    except ImportError as trouble:
        raise StoreUnavailable(
            "a store on PostgreSQL needs psycopg", hint="pip install 'recollect[postgres]'"
        ) from trouble
    return PostgresStore(url, busy_seconds=busy_seconds, durability=durability, create=create)


def _guest(scheme: str, url: str, busy_seconds: float, durability: str, create: bool) -> Store:
    """Installed packages are asked only here: the scan costs more than opening a store."""
    from importlib.metadata import entry_points

    found: list[EntryPoint] = [point for point in entry_points(group=GROUP) if point.name == scheme]
    if not found:
        raise InvalidInput(
            f"no engine for {scheme}:// is installed",
            hint=f"use a path or postgresql://…, or install a package that offers {scheme!r} in {GROUP}",
        )
    made: Store = found[0].load()(url, busy_seconds=busy_seconds, durability=durability, create=create)
    return made
