"""The command line as tests use it: in this process for most, in one of its own where that is the point."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from recollect.interfaces.cli.app import run

PYTHON = [sys.executable, "-m", "recollect"]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """One home, one folder; `shell("add", "text")` runs a command there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.folder = folder / "work"
        self.folder.mkdir()
        self.store = self.home / "memory.db"
        self.environ = {
            "RECOLLECT_HOME": str(self.home),
            "RECOLLECT_EMBEDDER": "none",
            "RECOLLECT_DURABILITY": "normal",
        }

    def __call__(self, *args: str, stdin: bytes | None = b"", **environ: str) -> Result:
        """In this process; `stdin` None means that it is closed."""
        out, err = _stream(), _stream()
        given = _stream(stdin) if stdin is not None else None
        with (
            inside(self.folder),
            mock.patch.dict(os.environ, {**self.environ, **environ}),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch.object(sys, "stdin", given),
        ):
            code = run(args)
        return Result(code, _text(out), _text(err))

    def process(self, *args: str | bytes, stdin: bytes | None = b"", **environ: str) -> Result:
        """In a process of its own."""
        done = subprocess.run(
            [*PYTHON, *args], input=stdin, capture_output=True, cwd=self.folder,
            env={**os.environ, **self.environ, **environ}, timeout=60,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def add(self, text: str, *options: str) -> int:
        number: int = self("add", text, "--json", *options).json["id"]
        return number


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
