"""Settings: one frozen value, put together once, each part remembering where it came from.

Argument beats environment (`RECOLLECT_…`), environment beats the config file (TOML), the file beats the default. A key
that nobody knows or a value that cannot be meant stops here with a hint; nothing is ignored in silence.

This module is on the way of every command, so it imports little: the TOML reader only when there is a file, and the
search for the nearest known name only when there is an error to explain.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from recollect.errors import ConfigInvalid
from recollect.values import value

PREFIX = "RECOLLECT_"

DOCS: Mapping[str, str] = MappingProxyType(
    {
        "store": "Where notes are kept: a file, or a postgresql:// address. Empty means memory.db in the home folder.",
        "space": "Which space to use: auto (the project of the current folder), user, or the name of a space.",
        "embedder": "What turns text into vectors: minilm (offline, in the package) or another embedder by name.",
        "embed_model": "The embedder's model. Empty means the embedder's own default.",
        "embed_base_url": "Address of an embedding service. Empty means the embedder's own default.",
        "embed_api_key_env": "Name of the environment variable that holds the embedding service's key.",
        "embed_timeout_seconds": "How long to wait for one answer of an embedding service.",
        "embed_threads": "How many threads the bundled model computes with; the vectors are the same.",
        "search_deadline_ms": "How long a search may spend on embedding chunks that have no vector yet.",
        "search_limit": "How many hits a search returns unless told otherwise.",
        "search_fusion": "How keyword and vector results are merged: default (what measured best), rrf or weighted.",
        "search_min_score": "Hits below this score, from 0 to 1, are left out.",
        "weight_vector": "Weight of the vector lane when search_fusion is weighted.",
        "weight_keyword": "Weight of the keyword lane when search_fusion is weighted.",
        "kinds": "Kinds of note accepted besides the built-in ones.",
        "busy_timeout_seconds": "How long a write waits for another process before it gives up.",
        "durability": "full: an acknowledged write survives a power cut. normal: faster, the last writes may be lost.",
        "max_note_bytes": "Largest text of one note, in bytes of UTF-8.",
        "max_tags": "Most tags on one note.",
        "chunk_tokens": "Largest searchable slice, in tokens.",
        "chunk_overlap": "Tokens that neighbouring slices share; less than chunk_tokens.",
        "redact": "Replace secrets and private blocks before anything is stored.",
        "daily_log": "Also write each new note as a line to a file a day, in .recollect/daily of the home folder.",
        "sync_on_start": "Bring what was indexed before up to date when a server (recollect mcp) opens the store.",
        "sync_on_search": "Do so in the background when a server is searched; the search never waits for it.",
        "sync_interval_seconds": "Do so every so many seconds while a server runs; 0 means not by the clock.",
        "tool_learning": "Learn which tools work: on, hashed (without the words of the request), or off.",
        "cache_entries": "Most embeddings kept in the cache; the least recently used go first.",
        "max_notes": "Most live notes of a store; beyond that the least recently used are evicted, down to 85 %.",
        "max_bytes": "Most bytes of live notes' texts in a store; beyond that the least recently used are evicted.",
        "evicted_grace_days": "How long evicted and expired notes can still be restored before they are gone.",
        "history_days": "How long earlier versions and events are kept; a note's newest 20 versions always are.",
        "auto_backups": "How many copies made before bulk changes and upgrades are kept; 0 makes none.",
        "audit_key_file": "File with a key that seals the chain of events; kept away from the store. Empty means none.",
        "forgetting": "How fast what nobody reads fades: days (half in 30 days), seed (to a tenth in 23 hours) or off.",
        "scratchpad_tokens": "Most tokens on one session's scratchpad; beyond that the least important become notes.",
        "scratchpad_minutes": "How long something stays on the scratchpad unless told otherwise; 0 is for good.",
        "log_level": "Least serious message that is logged.",
    }
)

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "search_fusion": ("default", "rrf", "weighted"),
        "durability": ("full", "normal"),
        "tool_learning": ("on", "hashed", "off"),
        "forgetting": ("days", "seed", "off"),
        "log_level": ("debug", "info", "warning", "error"),
    }
)

BOUNDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "embed_timeout_seconds": (0.1, 3600),
        "embed_threads": (1, 64),
        "search_deadline_ms": (0, 600_000),
        "search_limit": (1, 1000),
        "search_min_score": (0, 1),
        "weight_vector": (0, 1),
        "weight_keyword": (0, 1),
        "busy_timeout_seconds": (0, 3600),
        "max_note_bytes": (1, 100_000_000),
        "max_tags": (0, 10_000),
        "chunk_tokens": (16, 8192),
        "chunk_overlap": (0, 4096),
        "sync_interval_seconds": (0, 86_400),
        "cache_entries": (0, 10_000_000),
        "max_notes": (1, 1_000_000_000),
        "max_bytes": (1, 10**15),
        "evicted_grace_days": (0, 36_500),
        "history_days": (1, 36_500),
        "auto_backups": (0, 1000),
        "scratchpad_tokens": (1, 1_000_000),
        "scratchpad_minutes": (0, 5_256_000),
    }
)

MAY_BE_EMPTY = frozenset({"store", "embed_model", "embed_base_url", "audit_key_file"})
STORE_URL_SCHEMES = ("postgresql://", "postgres://")


@value
class Settings:
    """Every setting, checked. `home` and `config_file` are places, chosen by argument or environment only."""

    home: Path
    config_file: Path
    store: str = field(default="", repr=False)  # may hold a password
    space: str = "auto"
    embedder: str = "minilm"
    embed_model: str = ""
    embed_base_url: str = ""
    embed_api_key_env: str = "OPENAI_API_KEY"
    embed_timeout_seconds: float = 30.0
    embed_threads: int = 1
    search_deadline_ms: int = 2000
    search_limit: int = 10
    search_fusion: str = "default"
    search_min_score: float = 0.0
    weight_vector: float = 0.7
    weight_keyword: float = 0.3
    kinds: tuple[str, ...] = ()
    busy_timeout_seconds: float = 30.0
    durability: str = "full"
    max_note_bytes: int = 1_000_000
    max_tags: int = 64
    chunk_tokens: int = 256
    chunk_overlap: int = 50
    redact: bool = True
    daily_log: bool = False
    sync_on_start: bool = True
    sync_on_search: bool = True
    sync_interval_seconds: int = 300
    tool_learning: str = "on"
    cache_entries: int = 10_000
    max_notes: int = 1_000_000
    max_bytes: int = 500_000_000
    evicted_grace_days: int = 30
    history_days: int = 365
    auto_backups: int = 3
    audit_key_file: str = ""
    forgetting: str = "days"
    scratchpad_tokens: int = 4000
    scratchpad_minutes: int = 60
    log_level: str = "warning"
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


class SettingRow(NamedTuple):  # 0.4 ms quicker to import than a dataclass
    """One line of `recollect config`: `value` is fit to be shown, without passwords."""

    name: str
    value: str
    origin: str  # default, file, environment or argument
    doc: str


def _defaults() -> dict[str, Any]:
    fields = Settings.__dataclass_fields__
    return {name: fields[name].default for name in DOCS}


DEFAULTS: Mapping[str, Any] = MappingProxyType(_defaults())


def load_settings(
    *, config_file: Path | None = None, environ: Mapping[str, str] | None = None, **overrides: object
) -> Settings:
    """Put the settings together; an override of None means that the caller has no wish."""
    environ = os.environ if environ is None else environ
    given = {name: value for name, value in overrides.items() if value is not None}
    home = _home_folder(given.pop("home", None), environ)
    file = config_path(config_file=config_file, environ=environ, home=home)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    layers = (
        ("file", _read_file(file, must_exist=config_file is not None or bool(environ.get("RECOLLECT_CONFIG")))),
        ("environment", _read_environment(environ)),
        ("argument", given),
    )
    for origin, layer in layers:
        for name, raw in layer.items():
            values[name] = _checked(
                name, raw, _where(origin, file, name), folder=file.parent if origin == "file" else None
            )
            origins[name] = origin
    values["store"] = values.get("store") or str(home / "memory.db")
    settings = Settings(home=home, config_file=file, origins=MappingProxyType(origins), **values)
    _check_together(settings)
    return settings


def config_path(
    *, config_file: Path | None = None, environ: Mapping[str, str] | None = None, home: Path | None = None
) -> Path:
    """The config file in force, whether it exists or not: argument, `RECOLLECT_CONFIG`, or config.toml in the home."""
    environ = os.environ if environ is None else environ
    chosen = config_file or environ.get("RECOLLECT_CONFIG")
    if chosen:
        return _absolute(chosen, None)
    return (home or _home_folder(None, environ)) / "config.toml"


def describe(settings: Settings) -> list[SettingRow]:
    """Every setting with its value and where that came from, in the order of the documentation."""
    return [
        SettingRow(name, _shown(name, getattr(settings, name)), settings.origins.get(name, "default"), doc)
        for name, doc in DOCS.items()
    ]


def set_in_file(path: Path, key: str, value: object) -> None:
    """Set one key in the config file and leave every other line as it is. Text is read as in the environment."""
    from recollect.config_edit import with_key

    with_key(path, key, _checked(key, value, f"recollect config set {key}", folder=None))


def _home_folder(argument: object, environ: Mapping[str, str]) -> Path:
    chosen = argument or environ.get("RECOLLECT_HOME")
    if chosen:
        return _absolute(str(chosen), None)
    try:
        return _platform_data_folder(environ) / "recollect"
    except RuntimeError as trouble:
        raise ConfigInvalid(
            "there is no home folder for this user", "Set RECOLLECT_HOME to the folder that should hold the memory."
        ) from trouble


def _platform_data_folder(environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    data = Path(environ.get("XDG_DATA_HOME", ""))
    # The XDG rules say that a relative path there is to be ignored.
    return data if data.is_absolute() else Path.home() / ".local" / "share"


def _read_file(file: Path, *, must_exist: bool) -> Mapping[str, Any]:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        if not must_exist:
            return {}
        raise ConfigInvalid(
            f"there is no config file {file}", "Correct the path, or create it with `recollect config set`."
        ) from None
    except OSError as trouble:
        raise ConfigInvalid(f"cannot read {file}: {trouble.strerror or trouble}", "Check who may read it.") from trouble
    from recollect.config_edit import parse

    table = parse(file, content)
    for name in table:
        if name not in DOCS:
            raise _unknown(f"{file}: unknown setting {name!r}", name)
    return table


def _read_environment(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Settings from the environment; an empty variable counts as absent, and a misspelt one is refused."""
    found = {}
    for variable, content in environ.items():
        if not variable.startswith(PREFIX) or not content:
            continue
        name = variable[len(PREFIX) :].lower()
        if name in DOCS:
            found[name] = content
        elif name not in ("home", "config") and _nearest(name, cutoff=0.8):
            # Other variables may carry our prefix for their own purposes, so only a near miss is an error.
            raise _unknown(f"environment: unknown setting {variable}", name)
    return found


def _where(origin: str, file: Path, name: str) -> str:
    if origin == "file":
        return f"{file}: {name}"
    return f"environment: {PREFIX}{name.upper()}" if origin == "environment" else f"argument: {name}"


def _checked(name: str, raw: object, where: str, *, folder: Path | None) -> Any:
    """The value in its setting's own type, or ConfigInvalid that says what would be accepted."""
    if name not in DOCS:
        raise _unknown(f"{where}: unknown setting", name)
    value = _converted(name, raw)
    if value is None or not _acceptable(name, value):
        shown = _shown(name, raw if isinstance(raw, str) else repr(raw))
        raise ConfigInvalid(f"{where}: {shown!r} is not accepted", f"{name} takes {accepted(name)}.")
    if name == "store" and value and not value.startswith(STORE_URL_SCHEMES):
        return str(_absolute(value, folder))
    return value


def _converted(name: str, raw: object) -> Any:
    default = DEFAULTS[name]
    if isinstance(default, bool):
        words = {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }
        return raw if isinstance(raw, bool) else words.get(raw.lower()) if isinstance(raw, str) else None
    if isinstance(default, int | float):
        return _number(type(default), raw)
    if isinstance(default, tuple):
        items = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            return None
        return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))
    return raw.strip() if isinstance(raw, str) else str(raw) if isinstance(raw, os.PathLike) else None


def _number(kind: type[int] | type[float], raw: object) -> int | float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float | str):
        return None
    try:
        if kind is float:
            return float(raw)
        return int(raw) if not isinstance(raw, float) or raw.is_integer() else None
    except (ValueError, OverflowError):
        return None


def _acceptable(name: str, value: Any) -> bool:
    if name in CHOICES:
        return value in CHOICES[name]
    if name in BOUNDS:
        low, high = BOUNDS[name]
        return bool(low <= value <= high)  # false for NaN
    if name == "kinds":
        return all(_is_kind(kind) for kind in value)
    if isinstance(value, str):
        return value.isprintable() and (bool(value) or name in MAY_BE_EMPTY)
    return True


def _is_kind(name: str) -> bool:
    return len(name) <= 32 and name.isascii() and name.replace("_", "a").isalnum() and name == name.lower()


def accepted(name: str) -> str:
    """What a setting takes, in words."""
    if name in CHOICES:
        return "one of " + ", ".join(CHOICES[name])
    if name in BOUNDS:
        low, high = BOUNDS[name]
        noun = "a whole number" if isinstance(DEFAULTS[name], int) else "a number"
        return f"{noun} from {low:g} to {high:,.0f}".replace(",", "_")
    if name == "kinds":
        return "lower-case names of letters, digits and _, separated by commas (a list in the file)"
    return "true or false" if isinstance(DEFAULTS[name], bool) else "one line of text"


def _check_together(settings: Settings) -> None:
    if settings.chunk_overlap >= settings.chunk_tokens:
        raise ConfigInvalid(
            f"chunk_overlap ({settings.chunk_overlap}) must be less than chunk_tokens ({settings.chunk_tokens})",
            "Lower chunk_overlap or raise chunk_tokens.",
        )
    if settings.weight_vector + settings.weight_keyword <= 0:
        raise ConfigInvalid(
            "weight_vector and weight_keyword are both 0", "Give at least one of them a weight above 0."
        )


def _absolute(path: str | Path, folder: Path | None) -> Path:
    """Absolute without touching the disk; relative to the given folder, else to the current one."""
    try:
        expanded = Path(path).expanduser()
    except RuntimeError:  # "~nobody": there is no such user, so it is a plain name
        expanded = Path(path)
    return Path(os.path.abspath(folder / expanded if folder else expanded))  # noqa: PTH100 - resolve() follows links


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(value)
    text = str(value)
    return without_password(text) if "://" in text else text


def without_password(url: str) -> str:
    """The address with every password in it replaced by ***."""
    import re

    url = re.sub(r"(://[^/?#]*?):[^/?#]*@", r"\1:***@", url)
    return re.sub(r"(?i)([?&][^=&]*password=)[^&#]*", r"\1***", url)


def _nearest(name: str, cutoff: float = 0.6) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(name.lower().replace("-", "_"), DOCS, n=1, cutoff=cutoff)), None)


def _unknown(message: str, name: str) -> ConfigInvalid:
    nearest = _nearest(name)
    hint = f"Did you mean {nearest}, which takes {accepted(nearest)}?" if nearest else "There is no such setting."
    return ConfigInvalid(message, f"{hint} Known settings: {', '.join(DOCS)}.")
