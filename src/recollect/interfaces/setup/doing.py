"""Planning, doing and taking back; what a file was before is kept in recollect's home."""

import base64
import contextlib
import difflib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from recollect.errors import ConfigInvalid
from recollect.files import make_private_folder, replace_whole, write_private
from recollect.interfaces.setup.places import Place
from recollect.values import value


@value
class Edit:
    """One file, before and after; None means that there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        return self.before != self.after

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True), (self.after or "").splitlines(keepends=True),
            str(self.path), str(self.path),
        )  # fmt: skip
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)


def plan(places: Sequence[Place], home: Path, *, uninstall: bool) -> list[Edit]:
    """What would change; raises before anything does when a file cannot be understood."""
    return [_taken_back(place, home) if uninstall else _added(place) for place in places]


def apply(edits: Sequence[Edit], home: Path, *, uninstall: bool) -> None:
    for edit in edits:
        if edit.changes and not uninstall:
            _keep(edit, home)
        if edit.after is None:
            edit.path.unlink(missing_ok=True)
            if edit.path.parent.name == "recollect":  # a folder of our own; anybody else's file in it keeps it
                with contextlib.suppress(OSError):
                    edit.path.parent.rmdir()
        elif edit.changes:
            replace_whole(edit.path, edit.after, mode=_mode(edit.path))
        if uninstall:
            _record(edit.path, home).unlink(missing_ok=True)


def is_installed(places: Sequence[Place]) -> bool:
    """Whether nothing is missing; a file that cannot be understood counts as not."""
    try:
        return not any(_added(place).changes for place in places)
    except ConfigInvalid:
        return False


def _added(place: Place) -> Edit:
    before = _read(place.path)
    return Edit(place.path, before, place.add(before or ""))


def _taken_back(place: Place, home: Path) -> Edit:
    now = _read(place.path)
    if now is None:
        return Edit(place.path, None, None)
    kept = _kept(place.path, home)
    if kept is not None and kept[1] == _digest(now):
        return Edit(place.path, now, kept[0])
    after = place.remove(now)
    nothing = place.is_ours or (kept is not None and kept[0] is None and after.strip() in ("", "{}"))
    return Edit(place.path, now, None if nothing else after)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as trouble:
        raise ConfigInvalid(f"cannot read {path}: {trouble}", hint="nothing was changed") from trouble


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        return 0o600


# -- what was there before ---------------------------------------------------------------------------------------------


def _record(path: Path, home: Path) -> Path:
    return home / "setup" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:24]}.json"


def _keep(edit: Edit, home: Path) -> None:
    """The file as it was before our first change to it, and what we made of it now."""
    kept = _kept(edit.path, home)
    # Ours again, after somebody else's change: what they have now is what to go back to, once our part is out of it.
    before = kept[0] if kept is not None and kept[1] == _digest(edit.before or "") else edit.before
    packed = None if before is None else base64.b64encode(before.encode()).decode("ascii")
    make_private_folder(home / "setup")
    record = {"path": str(edit.path), "before": packed, "after_sha256": _digest(edit.after or "")}
    write_private(_record(edit.path, home), json.dumps(record, indent=1))


def _kept(path: Path, home: Path) -> tuple[str | None, str] | None:
    try:
        found = json.loads(_record(path, home).read_bytes())
        before = None if found["before"] is None else base64.b64decode(found["before"]).decode("utf-8")
        return before, str(found["after_sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
