"""recollect: persistent memory for AI agents.

    from recollect import Memory

    memory = Memory("memory.db")
    memory.add("We chose PostgreSQL for billing")
    memory.search("billing database")[0].title
"""

from typing import TYPE_CHECKING, Any

from recollect.errors import (
    ConfigInvalid,
    Conflict,
    EmbedderUnavailable,
    InvalidInput,
    NotFound,
    RecollectError,
    StoreBusy,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from recollect.config import Settings, load_settings
    from recollect.memory import Memory
    from recollect.types import Added, Answer, Draft, Event, Hit, Link, Moment, Note, Revision, Session, Space, Turn

__version__ = "0.1.0"

__all__ = [
    "Added",
    "Answer",
    "ConfigInvalid",
    "Conflict",
    "Draft",
    "EmbedderUnavailable",
    "Event",
    "Hit",
    "InvalidInput",
    "Link",
    "Memory",
    "Moment",
    "NotFound",
    "Note",
    "RecollectError",
    "Revision",
    "Session",
    "Settings",
    "Space",
    "StoreBusy",
    "StoreCorrupt",
    "StoreForeign",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnavailable",
    "Turn",
    "load_settings",
]


def __getattr__(name: str) -> Any:
    """Imports on first use, so that `import recollect` is instant."""
    if name not in __all__:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    if name == "Memory":
        from recollect import memory as home
    elif name in ("Settings", "load_settings"):
        from recollect import config as home  # type: ignore[no-redef]
    else:
        from recollect import types as home  # type: ignore[no-redef]
    return getattr(home, name)
