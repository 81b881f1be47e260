"""Which spaces a caller works in: one to write to, and those it may see.

`auto` is the project of a folder plus the user space; reading never makes a space, writing makes the project's on
first use. A merge moves notes and sessions in one transaction under one operation, so that it can be undone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import Settings
from recollect.errors import InvalidInput, NotFound
from recollect.store import Change, Operation, Store, claims_text
from recollect.types import UNFILED_SPACE, USER_SPACE, Filter, Note, Space
from recollect.values import value

if TYPE_CHECKING:
    from recollect.write import Limits

BUILT_IN = {USER_SPACE: "user", UNFILED_SPACE: "unfiled"}


@value
class Wish:
    """What the caller asked for: a name, or a project known by its aliases."""

    name: str
    kind: str
    aliases: tuple[tuple[str, str], ...]
    sees_user: bool
    outside: bool = False  # no project at all: then what is unfiled is in sight too


@value
class MergePreview:
    source: str
    target: str
    notes: int
    duplicates: int  # live notes whose text the target has
    sessions: int
    operation: str = ""
    known: int = 0  # notes that the target has under the same uid


def wish(name: str, folder: Path, home: Path) -> Wish:
    """`auto` looks at the folder; every other name is taken as it is."""
    if name != "auto":
        kind = BUILT_IN.get(name, "project")
        return Wish(name, kind, (("name", name.casefold()),), sees_user=kind == "project")
    from recollect.project import find_project

    project = find_project(folder, home)
    if project is None:
        return Wish(USER_SPACE, "user", (("name", USER_SPACE),), sees_user=False, outside=True)
    return Wish(project.name, "project", project.aliases, sees_user=True)


def with_local_store(settings: Settings, folder: Path) -> Settings:
    """The settings with the project's own store, where `recollect init --local` made one and nobody named another."""
    if "store" in settings.origins:
        return settings
    from recollect.project import local_store

    found = local_store(folder, settings.home)
    if found is None:
        return settings
    return replace(settings, store=str(found), origins={**settings.origins, "store": "project"})


def find(store: Store, wanted: Wish) -> Space | None:
    """The space, if it exists; a name also finds a space that was made under other aliases."""
    known = store.spaces()
    by_alias = {alias: space for space in known for alias in space.aliases}
    found = next((by_alias[alias] for alias in wanted.aliases if alias in by_alias), None)
    if found is None and wanted.aliases == (("name", wanted.name.casefold()),):
        found = next((space for space in known if space.name.casefold() == wanted.name.casefold()), None)
    while found is not None and found.merged_into is not None:
        target = found.merged_into
        found = next(space for space in known if space.id == target)
    return found


def find_or_make(store: Store, wanted: Wish, op: Operation) -> Space:
    found = find(store, wanted)
    if found is not None and set(wanted.aliases) <= set(found.aliases):
        return found
    if found is not None and wanted.aliases[0][0] == "name":
        return found
    check_name(wanted.name)
    return store.ensure_space(wanted.name, wanted.kind, wanted.aliases, op)


def check_name(name: str) -> None:
    if not name.strip() or len(name) > 100 or name != name.strip() or any(ord(c) < 32 for c in name) or name == "all":
        raise InvalidInput(f"{name[:40]!r} is no name for a space", hint="use letters, digits, dots and dashes")


def named(store: Store, name: str) -> Space:
    found = find(store, Wish(name, "project", (("name", name.casefold()),), sees_user=False))
    if found is None:
        raise NotFound(f"no space called {name!r}", hint="`recollect spaces` lists them")
    return found


def preview_merge(store: Store, source: Space, target: Space, now_ms: int) -> MergePreview:
    if source.id == target.id:
        raise InvalidInput("a space cannot be merged into itself", hint="name two spaces")
    if source.kind in BUILT_IN:
        raise InvalidInput(f"the space {source.name!r} cannot be merged away", hint="merge project spaces")
    notes, there = _all_notes(store, source.id, now_ms), _all_notes(store, target.id, now_ms)
    uids, taken = {note.uid for note in there}, {note.content_hash for note in there if claims_text(note)}
    known = sum(1 for note in notes if note.uid in uids)
    twins = sum(1 for note in notes if note.uid not in uids and claims_text(note) and note.content_hash in taken)
    sessions = store.sessions([source.id], limit=1_000_000)
    return MergePreview(source.name, target.name, len(notes), twins, len(sessions), known=known)


def merge(store: Store, source: Space, target: Space, op: Operation, limits: "Limits") -> MergePreview:
    """Moves everything; a live note whose text the target already has arrives as superseded by its twin.

    Of a note that both have (the same uid, after an import) the newer one becomes the target's newest version, and the
    source's own stays behind in the closed space, superseded: a space has a uid once.
    """
    from recollect.write import change

    with store.transaction([source.id, target.id]):
        preview = preview_merge(store, source, target, op.at_ms)
        there = {note.uid: note for note in _all_notes(store, target.id, op.at_ms)}
        notes = _all_notes(store, source.id, op.at_ms)
        newer = {note.uid: note for note in _newer(notes, there)}
        store.apply(op, target.id, [change(note, note.rev, limits, rechunk=True) for note in newer.values()])
        twins = {note.content_hash: note.uid for note in {**there, **newer}.values() if claims_text(note)}
        store.apply(op, source.id, list(_leaving(notes, there, twins, target.id, limits)))
        store.move_sessions(op, source.id, target.id, None)
        store.close_space(source.id, target.id, op)
    return replace(preview, operation=op.id)


def _newer(notes: Sequence[Note], there: Mapping[str, Note]) -> Iterator[Note]:
    """The target's notes as they shall be where the source's are newer, unless another live note has that text."""
    from recollect import audit

    held = {note.content_hash: note.uid for note in there.values() if claims_text(note)}
    for note in notes:
        own = there.get(note.uid)
        if own is None or note.updated_ms <= own.updated_ms:
            continue
        if not claims_text(note) or held.get(note.content_hash, note.uid) == note.uid:
            yield replace(own, **audit.fields_of(audit.image(note)))


def _leaving(
    notes: Sequence[Note], there: Mapping[str, Note], twins: Mapping[str, str], target: int, limits: "Limits"
) -> Iterator[Change]:
    from recollect.write import change

    for note in notes:
        twin = twins.get(note.content_hash) if claims_text(note) else None
        if note.uid not in there:
            moved = replace(note, state="superseded", superseded_by=twin) if twin else note
            yield change(moved, note.rev, limits, rechunk=False, to_space=target)
        elif note.state == "live":
            yield change(replace(note, state="superseded", superseded_by=note.uid), note.rev, limits, rechunk=False)


def _all_notes(store: Store, space: int, now_ms: int) -> list[Note]:
    where = Filter((space,), now_ms, states=("live", "superseded", "expired", "evicted", "deleted"))
    return store.list_notes(where, limit=10_000_000)


def home_of(store: Store, folder: str, home: Path, otherwise: Wish, op: Operation) -> Space:
    """Where what was said in a folder belongs: its project; without a folder, `otherwise`; else `unfiled`."""
    if folder:
        from recollect.project import find_project

        project = find_project(Path(folder), home) if Path(folder).is_dir() else None
        if project is not None:
            return find_or_make(store, Wish(project.name, "project", project.aliases, sees_user=True), op)
        return find_or_make(store, UNFILED, op)
    return find_or_make(store, otherwise, op)


UNFILED = Wish(UNFILED_SPACE, "unfiled", (("name", UNFILED_SPACE),), sees_user=False)
