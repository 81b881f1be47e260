"""Clients and servers of others, from npm: exact versions with their digests, installed once into the build folder.

Without node, npm or a network the tests that need them are skipped, and say so; a strict run counts that as failed.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WANTED = Path(__file__).parent / "npm"
PARTS = ("package.json", "package-lock.json")


@cache
def npm_folder() -> Path:
    """The folder whose `node_modules` has what the tests need; whoever installs first does it for all."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not installed")
    digest = hashlib.sha256(b"".join((WANTED / part).read_bytes() for part in PARTS)).hexdigest()[:16]
    folder = ROOT / "build" / f"npm-{digest}"
    if not folder.exists():
        _install(npm, folder)
    return folder


def _install(npm: str, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        place = Path(name) / "npm"
        place.mkdir()
        for part in PARTS:
            shutil.copy(WANTED / part, place)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=240)
        if done.returncode != 0:
            pytest.skip(f"npm cannot install what the tests need: {(done.stderr or done.stdout).strip()[-300:]}")
        try:
            os.rename(place, folder)
        except OSError:
            if not folder.exists():  # unless somebody else was quicker
                raise
