"""The documentation tells the truth: every example runs, and whatever can be used is described.

In README.md and docs/*.md, `python` blocks run one after another in one namespace, `bash` blocks as scripts, and in
`console` blocks each `$ command` runs and must print the lines that follow it, in that order, where `…` stands for
anything and spaces count once. Each file has a home and a folder of its own. Blocks of another kind are not run.
"""

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import click
import pytest

import recollect
from recollect import config, errors
from recollect.interfaces.cli.app import COMMANDS, cli
from shell import Shell, inside

ROOT = Path(__file__).parent.parent
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS_A_SHELL = set("|<>&;$`*~")


@dataclass(frozen=True)
class Example:
    kind: str
    text: str
    line: int


def examples(page: Path) -> Iterator[Example]:
    content = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(content):
        yield Example(match[1], match[2], content.count("\n", 0, match.start()) + 1)


def steps(text: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block with the lines that it shall print."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and found:
            found[-1][1].append(line)
    return found


def missing_line(expected: list[str], printed: str) -> str | None:
    """The first expected line that is not there, looking on from where the one before was found."""
    lines = iter(" ".join(line.split()) for line in printed.splitlines())
    for line in expected:
        pattern = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
        if not any(re.fullmatch(pattern, candidate) for candidate in lines):
            return line
    return None


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with `recollect` in it, for scripts."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "recollect"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m recollect "$@"\n')
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_runs_and_prints_what_it_says(page: Path, tmp_path: Path, program: Path) -> None:
    shell = Shell(tmp_path)
    shell.environ = {"RECOLLECT_HOME": str(shell.home)}  # else as a reader has it
    shell.environ["PATH"] = f"{program}{os.pathsep}{os.environ['PATH']}"
    names: dict[str, object] = {"__name__": "example"}
    for example in examples(page):
        where = f"{page.name}, line {example.line}"
        if example.kind == "python":
            run_python(example.text, where, names, shell)
        elif example.kind == "console":
            for command, expected in steps(example.text):
                code, printed = run_command(command, shell)
                assert code == 0, f"{where}: {command}\n{printed}"
                lost = missing_line(expected, printed)
                assert lost is None, f"{where}: {command}\nnot printed: {lost}\nprinted:\n{printed}"
        elif example.kind == "bash":
            code, printed = run_script(f"set -e\n{example.text}", shell)
            assert code == 0, f"{where}:\n{printed}"


def run_python(text: str, where: str, names: dict[str, object], shell: Shell) -> None:
    with inside(shell.folder), mock.patch.dict(os.environ, shell.environ):
        exec(compile(text, where, "exec"), names)


def run_command(command: str, shell: Shell) -> tuple[int, str]:
    """A plain call of ours in this process, which is quick; everything else in a shell."""
    words = shlex.split(command)
    if words[0] == "recollect" and not set(command) & _NEEDS_A_SHELL:
        result = shell(*words[1:])
        return result.code, result.out + result.err
    return run_script(command, shell)


def run_script(text: str, shell: Shell) -> tuple[int, str]:
    program = shutil.which("bash") or shutil.which("sh")
    if program is None:
        pytest.skip("no shell on this machine")
    done = subprocess.run([program, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, cwd=shell.folder, env={**os.environ, **shell.environ},
                          timeout=120)  # fmt: skip
    return done.returncode, done.stdout


def test_a_line_that_is_not_printed_is_noticed() -> None:
    printed = "id  kind   title\n1   fact   Tea is hot\n2   task   Buy tea\n"
    assert missing_line(["id kind title", "1 fact …hot", "2 … tea"], printed) is None
    assert missing_line(["2 task Buy tea", "1 fact Tea is hot"], printed) == "1 fact Tea is hot"
    assert missing_line(["Buy"], printed) == "Buy"
    assert missing_line(["1 fact (Tea|x) is hot"], printed) is not None


def test_a_console_block_is_commands_and_what_they_print() -> None:
    assert steps("$ one\na\n\nb\n$ two\n") == [("one", ["a", "b"]), ("two", [])]


# -- nothing is left out -----------------------------------------------------------------------------------------------


def sections(page: Path) -> dict[str, str]:
    """The text under each third-level heading."""
    without_headings = _FENCE.sub(lambda match: match[0].replace("\n#", "\n #"), page.read_text(encoding="utf-8"))
    parts = re.split(r"^### (.+)\n", without_headings, flags=re.MULTILINE)
    return {
        name.strip(): re.split(r"^## ", body, flags=re.MULTILINE)[0]
        for name, body in zip(parts[1::2], parts[2::2], strict=True)
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_described_with_its_options_and_an_example(name: str) -> None:
    text = sections(ROOT / "docs" / "cli.md").get(name)
    assert text is not None, f"docs/cli.md has no section ### {name}"
    assert f"$ recollect {name}" in text
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    shared = {"--store", "--space", "--json", "--help"}
    for leaf in command.commands.values() if isinstance(command, click.Group) else [command]:
        if leaf is not command:
            assert f"recollect {name} {leaf.name}" in text, f"{name} {leaf.name} is not described"
        options = {max(parameter.opts, key=len) for parameter in leaf.params if isinstance(parameter, click.Option)}
        absent = [option for option in options - shared if option not in text]
        assert not absent, f"docs/cli.md, {name}: {absent} not described"


def test_no_section_describes_a_command_that_is_gone() -> None:
    assert set(sections(ROOT / "docs" / "cli.md")) == set(COMMANDS)


def test_every_error_code_and_exit_code_is_described() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if re.match(r"\| \d+ \|", line)}
    known = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.RecollectError)]
    for kind in known:
        assert f"`{kind.code}`" in rows[str(kind.exit_code)], kind.__name__
    assert {"0", "130"} <= set(rows)


def test_every_setting_is_described() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    absent = [name for name in config.DOCS if f"`{name}`" not in page]
    assert not absent, f"docs/settings.md says nothing of {absent}"


def test_every_public_method_and_name_is_described() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    methods = [name for name in dir(recollect.Memory) if not name.startswith("_")]
    absent = [name for name in methods if not re.search(rf"\b\w+\.{name}\b", page)]
    absent += [name for name in recollect.__all__ if not re.search(rf"\b{name}\b", page)]
    assert not absent, f"docs/python.md says nothing of {absent}"
    assert len(methods) > 20


def test_every_mcp_tool_is_described() -> None:
    from recollect.interfaces.mcp.server import PROFILES

    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    tools = {tool.name for profile in PROFILES.values() for tool in profile(recollect.Memory)}
    absent = sorted(name for name in tools if f"`{name}`" not in page)
    absent += [name for name in PROFILES if f"`{name}`" not in page and f"--profile {name}" not in page]
    assert not absent or absent == ["default"], f"docs/agents.md says nothing of {absent}"


def test_every_command_that_a_hint_names_exists() -> None:
    for source in (ROOT / "src").rglob("*.py"):
        for name in re.findall(r"`recollect ([a-z]+)", source.read_text(encoding="utf-8")):
            assert name in COMMANDS, f"{source.name} speaks of `recollect {name}`"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
