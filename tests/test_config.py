"""Settings: who wins, what is refused and how it is said, and edits of the config file that lose nothing."""

import os
import re
import stat
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import config
from recollect.config import DOCS, Settings, config_path, describe, load_settings, set_in_file
from recollect.errors import ConfigInvalid, RecollectError

DOCS_PAGE = Path(__file__).parent.parent / "docs" / "settings.md"

# For each setting: a value other than its default, as the environment and as the file would write it.
OTHER_VALUES = {
    "store": ("/srv/notes.db", '"/srv/notes.db"', os.path.abspath("/srv/notes.db")),
    "space": ("billing", '"billing"', "billing"),
    "embedder": ("none", '"none"', "none"),
    "embed_model": ("large", '"large"', "large"),
    "embed_base_url": ("https://embed.example/v1", '"https://embed.example/v1"', "https://embed.example/v1"),
    "embed_api_key_env": ("MY_KEY", '"MY_KEY"', "MY_KEY"),
    "embed_timeout_seconds": ("2.5", "2.5", 2.5),
    "embed_threads": ("2", "2", 2),
    "search_deadline_ms": ("150", "150", 150),
    "search_limit": ("25", "25", 25),
    "search_fusion": ("rrf", '"rrf"', "rrf"),
    "search_min_score": ("0.2", "0.2", 0.2),
    "weight_vector": ("0.5", "0.5", 0.5),
    "weight_keyword": ("1", "1", 1.0),
    "kinds": ("recipe, todo", '["recipe", "todo"]', ("recipe", "todo")),
    "busy_timeout_seconds": ("5", "5", 5.0),
    "durability": ("normal", '"normal"', "normal"),
    "max_note_bytes": ("2_000", "2_000", 2000),
    "max_tags": ("3", "3", 3),
    "chunk_tokens": ("128", "128", 128),
    "chunk_overlap": ("0", "0", 0),
    "redact": ("off", "false", False),
    "daily_log": ("on", "true", True),
    "sync_on_start": ("off", "false", False),
    "sync_on_search": ("off", "false", False),
    "sync_interval_seconds": ("60", "60", 60),
    "tool_learning": ("hashed", '"hashed"', "hashed"),
    "cache_entries": ("7", "7", 7),
    "max_notes": ("1000", "1_000", 1000),
    "max_bytes": ("5_000_000", "5_000_000", 5_000_000),
    "evicted_grace_days": ("7", "7", 7),
    "history_days": ("90", "90", 90),
    "auto_backups": ("0", "0", 0),
    "audit_key_file": ("/media/key", '"/media/key"', "/media/key"),
    "forgetting": ("seed", '"seed"', "seed"),
    "scratchpad_tokens": ("900", "900", 900),
    "scratchpad_minutes": ("15", "15", 15),
    "log_level": ("debug", '"debug"', "debug"),
}


def load(home: Path, **overrides: Any) -> Settings:
    return load_settings(environ={"RECOLLECT_HOME": str(home)}, **overrides)


def refused(home: Path, text: str) -> ConfigInvalid:
    (home / "config.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigInvalid) as caught:
        load(home)
    return caught.value


def test_every_setting_has_a_default_a_line_of_documentation_and_a_test_value() -> None:
    places = {"home", "config_file", "origins"}
    assert set(Settings.__dataclass_fields__) - places == set(DOCS) == set(OTHER_VALUES)
    assert all(doc.endswith(".") and "\n" not in doc for doc in DOCS.values())


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_each_setting_takes_effect_from_file_then_environment_then_argument(name: str, tmp_path: Path) -> None:
    variable, literal, wanted = OTHER_VALUES[name]
    default = getattr(load(tmp_path), name)
    assert default != wanted
    (tmp_path / "config.toml").write_text(f"{name} = {literal}\n", encoding="utf-8")
    assert getattr(load(tmp_path), name) == wanted
    (tmp_path / "config.toml").unlink()
    environ = {"RECOLLECT_HOME": str(tmp_path), f"RECOLLECT_{name.upper()}": variable}
    assert getattr(load_settings(environ=environ), name) == wanted
    assert getattr(load(tmp_path, **{name: wanted}), name) == wanted
    assert getattr(load_settings(environ=environ, **{name: default}), name) == default


def test_argument_beats_environment_beats_file_and_each_row_says_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("search_limit = 1\nmax_tags = 2\nchunk_tokens = 100\n", encoding="utf-8")
    environ = {"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_SEARCH_LIMIT": "3", "RECOLLECT_MAX_TAGS": "4"}
    settings = load_settings(environ=environ, search_limit=5)
    assert (settings.search_limit, settings.max_tags, settings.chunk_tokens) == (5, 4, 100)
    rows = {row.name: row for row in describe(settings)}
    assert [rows[name].origin for name in ("search_limit", "max_tags", "chunk_tokens", "redact")] == [
        "argument",
        "environment",
        "file",
        "default",
    ]
    assert rows["max_tags"].value == "4"
    assert list(rows) == list(DOCS)


def test_an_override_of_none_leaves_the_setting_alone(tmp_path: Path) -> None:
    assert load(tmp_path, search_limit=None, store=None) == load(tmp_path)


def test_an_empty_variable_counts_as_absent(tmp_path: Path) -> None:
    assert load_settings(environ={"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_SPACE": ""}).space == "auto"


def test_settings_cannot_be_changed_after_loading(tmp_path: Path) -> None:
    with pytest.raises(FrozenInstanceError):
        load(tmp_path).search_limit = 3  # type: ignore[misc]


def test_an_unknown_key_names_the_file_the_key_and_the_nearest_known_one(tmp_path: Path) -> None:
    error = refused(tmp_path, "serch_limit = 3\n")
    assert str(tmp_path / "config.toml") in error.message
    assert "'serch_limit'" in error.message
    assert "Did you mean search_limit, which takes a whole number from 1 to 1_000?" in error.hint
    assert "busy_timeout_seconds" in error.hint


@pytest.mark.parametrize(
    ("line", "accepted"),
    [
        ('search_fusion = "sum"', "one of default, rrf, weighted"),
        ("search_limit = 0", "a whole number from 1 to 1_000"),
        ("search_limit = 2.5", "a whole number"),
        ("search_limit = true", "a whole number"),
        ("search_min_score = nan", "a number from 0 to 1"),
        ("search_min_score = 1.1", "a number from 0 to 1"),
        ("redact = 3", "true or false"),
        ('kinds = ["Two Words"]', "lower-case names"),
        ("kinds = [1]", "lower-case names"),
        ('space = ""', "one line of text"),
        ('store = "a\\u0000b"', "one line of text"),
        ("store = 7", "one line of text"),
    ],
)
def test_a_bad_value_says_what_is_accepted(line: str, accepted: str, tmp_path: Path) -> None:
    error = refused(tmp_path, line)
    assert str(tmp_path / "config.toml") in error.message
    assert line.split()[0] in error.message
    assert accepted in error.hint


def test_settings_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    assert "chunk_overlap" in refused(tmp_path, "chunk_tokens = 50\nchunk_overlap = 50\n").message
    assert "weight" in refused(tmp_path, "weight_vector = 0\nweight_keyword = 0\n").message


def test_a_misspelt_variable_is_refused_and_a_foreign_one_ignored(tmp_path: Path) -> None:
    home = {"RECOLLECT_HOME": str(tmp_path)}
    with pytest.raises(ConfigInvalid, match="RECOLLECT_SERCH_LIMIT") as caught:
        load_settings(environ={**home, "RECOLLECT_SERCH_LIMIT": "3"})
    assert "search_limit" in caught.value.hint
    assert load_settings(environ={**home, "RECOLLECT_STRICT": "1", "RECOLLECT_CI_RUN": "x"}).search_limit == 10


def test_an_unknown_argument_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="argument: limit"):
        load(tmp_path, limit=3)


def test_a_broken_file_is_refused_with_the_place_of_the_trouble(tmp_path: Path) -> None:
    assert "line 2" in refused(tmp_path, "max_tags = 3\nspace = billing\n").message
    (tmp_path / "config.toml").write_bytes(b'space = "\xff"\n')
    with pytest.raises(ConfigInvalid, match="not UTF-8"):
        load(tmp_path)
    (tmp_path / "config.toml").unlink()
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigInvalid, match="cannot read"):
        load(tmp_path)


def test_a_config_file_that_was_asked_for_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no config file"):
        load(tmp_path, config_file=tmp_path / "missing.toml")
    with pytest.raises(ConfigInvalid, match="no config file"):
        load_settings(environ={"RECOLLECT_CONFIG": str(tmp_path / "missing.toml")})


def test_a_relative_store_in_the_file_is_beside_that_file(tmp_path: Path) -> None:
    elsewhere = tmp_path / "etc"
    elsewhere.mkdir()
    (elsewhere / "mine.toml").write_text('store = "notes/a.db"\n', encoding="utf-8")
    settings = load(tmp_path, config_file=elsewhere / "mine.toml")
    assert settings.store == str(elsewhere / "notes" / "a.db")
    assert load(tmp_path, config_file=elsewhere / "mine.toml", store="b.db").store == os.path.abspath("b.db")


def test_a_database_address_is_kept_as_it_is_and_shown_without_its_password(tmp_path: Path) -> None:
    address = "postgresql://ann:s3cret@db.example/memory?sslpassword=hush&x=1"
    settings = load(tmp_path, store=address)
    assert settings.store == address
    shown = describe(settings)[0].value
    assert shown == "postgresql://ann:***@db.example/memory?sslpassword=***&x=1"
    assert "s3cret" not in repr(settings)


def test_the_home_folder_holds_the_store_and_the_config_file(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.store, settings.config_file) == (str(tmp_path / "memory.db"), tmp_path / "config.toml")
    assert load_settings(environ={}, home=tmp_path).home == tmp_path


@pytest.mark.parametrize(
    ("platform", "environ", "wanted"),
    [
        ("linux", {}, "~/.local/share/recollect"),
        ("linux", {"XDG_DATA_HOME": "/xdg"}, "/xdg/recollect"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "~/.local/share/recollect"),
        ("darwin", {}, "~/Library/Application Support/recollect"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/recollect"),
        ("win32", {}, "~/AppData/Local/recollect"),
    ],
)
def test_each_platform_has_its_own_data_folder(
    platform: str, environ: dict[str, str], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.sys, "platform", platform)  # type: ignore[attr-defined]
    assert config_path(environ=environ) == Path(wanted).expanduser() / "config.toml"


# --- set_in_file


def test_setting_a_key_keeps_comments_other_keys_and_line_endings(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"# mine\r\nspace = 'a#b'  # keep #1\r\n\r\nkinds = [ # old\r\n  'x',\r\n]\r\nmax_tags = 3")
    set_in_file(file, "space", 'say "hi" \\ #2')
    set_in_file(file, "kinds", "todo,recipe")
    set_in_file(file, "redact", "no")
    assert file.read_bytes() == (
        b'# mine\r\nspace = "say \\"hi\\" \\\\ #2"  # keep #1\r\n\r\nkinds = ["todo", "recipe"]\r\nmax_tags = 3\r\n'
        b"redact = false\r\n"
    )
    settings = load(tmp_path)
    assert (settings.space, settings.kinds, settings.redact) == ('say "hi" \\ #2', ("todo", "recipe"), False)


def test_setting_a_key_creates_the_file_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    set_in_file(file, "search_limit", "12")
    assert file.read_text(encoding="utf-8") == "search_limit = 12\n"
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_a_refused_value_leaves_the_file_untouched(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("search_limit = 12\n", encoding="utf-8")
    for key, value in [("search_limit", "many"), ("serch_limit", "3")]:
        with pytest.raises(ConfigInvalid):
            set_in_file(file, key, value)
    assert file.read_text(encoding="utf-8") == "search_limit = 12\n"


def test_a_file_that_cannot_be_edited_safely_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    text = 'space = """\nmax_tags = 1\n"""\n'
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigInvalid, match="safely"):
        set_in_file(file, "max_tags", 3)
    assert file.read_text(encoding="utf-8") == text


def test_a_key_goes_before_the_first_table(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[other]\nmax_tags = 1\n", encoding="utf-8")
    set_in_file(file, "max_tags", 3)
    assert file.read_text(encoding="utf-8") == "max_tags = 3\n[other]\nmax_tags = 1\n"


@pytest.mark.skipif(os.name != "posix", reason="symbolic links need a privilege on Windows")
def test_setting_a_key_through_a_symbolic_link_keeps_the_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("max_tags = 1\n", encoding="utf-8")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    set_in_file(link, "max_tags", 2)
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "max_tags = 2\n"


def test_an_unwritable_place_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RecollectError):
        set_in_file(tmp_path / "file" / "config.toml", "max_tags", 3)


@given(space=st.text(min_size=1).filter(lambda text: text.strip().isprintable() and bool(text.strip())))
def test_any_printable_text_survives_the_file(space: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = tmp_path_factory.mktemp("home")
    set_in_file(home / "config.toml", "space", space)
    set_in_file(home / "config.toml", "max_tags", 5)
    assert load(home).space == space.strip()


# --- cost and documentation


def test_loading_defaults_imports_neither_toml_nor_difflib(tmp_path: Path) -> None:
    script = "import sys; from recollect.config import load_settings; load_settings(); print(*sys.modules)"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    environ["RECOLLECT_HOME"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)
    assert not {"tomllib", "difflib", "tempfile", "importlib.metadata"} & set(done.stdout.split())


def test_the_settings_page_documents_every_setting_with_its_variable_and_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", DOCS_PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert list(rows)[: len(DOCS)] == list(DOCS)
    for name, default in config.DEFAULTS.items():
        variable, shown, meaning = rows[name].split(" | ")
        assert variable == f"`RECOLLECT_{name.upper()}`"
        assert shown.strip("`") == config._shown(name, default) or (shown == "*(empty)*" and not default), name
        assert meaning == DOCS[name]
