"""What already happened: files and transcripts, read once, followed, watched."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import spaces as placing
from recollect.errors import InvalidInput
from recollect.memory.keeping import Keeping

if TYPE_CHECKING:
    import threading

    from recollect.background import Background
    from recollect.following import Sources
    from recollect.index import Indexed, Indexer, Progress


class Indexing(Keeping):
    """The verbs that read from the disk."""

    def index(
        self, *paths: str | Path, agents: bool = False, force: bool = False, embed: bool = True, follow: bool = True,
        progress: "Progress | None" = None,
    ) -> "Indexed":  # fmt: skip
        """Makes files and agents' transcripts searchable; what did not change is not read again.

        `agents` finds the history of every installed agent by itself. A transcript belongs to the project of the
        folder that it was made in; what names no folder belongs to this Memory's project, or to `unfiled`. Folders
        and histories are followed: `sync` and long-lived processes keep them in step, unless `follow` is off.
        """
        from recollect.index import roots_of

        if not paths and not agents:
            raise InvalidInput("nothing to index", hint="name files or folders, or ask for the agents' histories")
        if self._wish.name == "all":
            self._writable()  # says why not
        here = [Path(path).absolute() for path in paths]
        place = self._placed(self.settings.space, self._wish)
        done = self._indexer(place).run(roots_of(here, agents, os.environ), force=force, progress=progress)
        if follow:
            from recollect import following

            places = [str(path) for path in here if path.is_dir()] + ([following.AGENTS] if agents else [])
            asked = (self.settings.space, str(self._folder.absolute()))
            following.follow(self._store, (following.Followed(path, *asked) for path in places))
        return replace(done, embedded=self.embed_pending() if embed else 0)

    def sync(
        self, *, force: bool = False, embed: bool = True, progress: "Progress | None" = None
    ) -> "Indexed":  # fmt: skip
        """Reads what changed in the folders and histories that were indexed before on this machine."""
        from recollect.following import AGENTS, followed
        from recollect.index import combined, roots_of

        done = []
        for one in followed(self._store):
            place = self._placed(one.space, placing.wish(one.space, Path(one.folder), self.settings.home))
            if one.path == AGENTS or Path(one.path).is_dir():
                roots = roots_of([Path(one.path)] if one.path else [], one.path == AGENTS, os.environ)
                done.append(self._indexer(place).run(roots, force=force, progress=progress))
        return replace(combined(done), embedded=self.embed_pending() if embed else 0)

    def indexed(self) -> "Sources":
        """Which places are kept in step on this machine, and which files in sight are indexed."""
        from recollect.following import sources

        return sources(self._store, self._visible())

    def _indexer(self, place: Callable[[str], int]) -> "Indexer":
        from recollect.index import Indexer

        return Indexer(self._store, self._limits, self._clock, self.actor, place)

    def watch(
        self, *paths: str | Path, agents: bool = False, poll: bool = False, stop: "threading.Event",
        report: "Callable[[Indexed, bool], None] | None" = None,
    ) -> None:  # fmt: skip
        """Indexes now and whenever something changes under the roots, until `stop` is set."""
        from recollect.index import roots_of
        from recollect.watching import watch

        def sync(changed: Sequence[Path], first: bool = False) -> None:
            done = self.index(*(changed or paths), agents=agents and not changed, follow=not changed)
            if report is not None:
                report(done, first)

        roots = roots_of([Path(path) for path in paths], agents, os.environ)
        sync((), first=True)
        watch(roots, sync, stop, poll=poll)

    def background(self, *, interval_seconds: float = 300.0) -> "Background":
        """Work for a long-lived process, in a thread under the store's lease: sync, embed, clean up.

        The settings `sync_on_start`, `sync_on_search` and `sync_interval_seconds` say when it syncs.
        """
        from recollect.background import Background, Syncing, log

        log.setLevel(self.settings.log_level.upper())
        every = self.settings.sync_interval_seconds
        sync = Syncing(
            lambda beat: self.sync(embed=False, progress=lambda *_: beat()),
            on_start=self.settings.sync_on_start, interval_seconds=every,
        )  # fmt: skip
        embed = lambda beat: self.embed_pending(progress=lambda _: beat())  # noqa: E731
        made = Background(
            self._store, [sync, embed, lambda _: self.upkeep()], min(interval_seconds, every or interval_seconds)
        )

        def asked() -> None:
            sync.ask()
            made.poke()

        self._on_search = asked if self.settings.sync_on_search else None
        return made

    def _placed(self, space: str, wish: placing.Wish) -> Callable[[str], int]:
        """Which space something from a folder belongs to; a space that was chosen by name takes everything."""

        def place(folder: str) -> int:
            op = self._operation("space")
            if space != "auto":
                return placing.find_or_make(self._store, wish, op).id
            otherwise = wish if wish.kind == "project" else placing.UNFILED
            return placing.home_of(self._store, folder, self.settings.home, otherwise, op).id

        return place
