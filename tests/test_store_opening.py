"""Which engine a URL opens."""

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import SimpleNamespace

import pytest

from recollect.errors import InvalidInput, NotFound, StoreUnavailable
from recollect.store.opening import open_store

_SETTINGS = {"busy_seconds": 1.0, "durability": "normal"}


def test_a_path_opens_sqlite(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "memory.db"), **_SETTINGS)  # type: ignore[arg-type]
    assert store.engine == "sqlite"
    store.close()


def test_a_missing_file_is_not_made_when_told_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        open_store(str(tmp_path / "memory.db"), create=False, **_SETTINGS)  # type: ignore[arg-type]


def test_postgresql_without_its_driver_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """The import fails as it would on a machine without the extra."""
    for name in [name for name in sys.modules if name.startswith(("psycopg", "recollect.store.postgres"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for scheme in ("postgresql", "postgres", "PostgreSQL"):
        with pytest.raises(StoreUnavailable) as trouble:
            open_store(f"{scheme}://somewhere/db", **_SETTINGS)  # type: ignore[arg-type]
        assert trouble.value.hint == "pip install 'recollect[postgres]'"


def test_another_scheme_is_a_guests(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine comes in by entry point; an unknown scheme is refused, never taken for a file name."""
    with pytest.raises(InvalidInput, match="redis"):
        open_store("redis://host/0", **_SETTINGS)  # type: ignore[arg-type]
    guest = EntryPoint("redis", f"{__name__}:Guest", "recollect.stores")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: EntryPoints([guest]))
    store = open_store("redis://host/0", **_SETTINGS)  # type: ignore[arg-type]
    assert store.location == "redis://host/0"


class Guest(SimpleNamespace):
    def __init__(self, url: str, **settings: object) -> None:
        super().__init__(location=url, **settings)
