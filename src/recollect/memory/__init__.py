"""Memory, the one object: opens a store, wires the pipelines, delegates.

Every interface ends here and adds no behaviour of its own. A Memory may be shared between threads; it holds one store
and one place to write (`space`), sees that space and the user's, and never more unless asked.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import spaces as placing
from recollect.memory.changing import Changing
from recollect.memory.conversing import Conversing
from recollect.memory.indexing import Indexing
from recollect.memory.opened import Reference
from recollect.memory.remembering import Remembering
from recollect.types import Space

if TYPE_CHECKING:
    from recollect.beliefs import Beliefs
    from recollect.tools import ToolMemory

__all__ = ["Memory", "Reference"]


class Memory(Remembering, Changing, Conversing, Indexing):
    """`Memory("memory.db")` and you are working.

    `store` is a path or a postgresql:// address; without it the settings decide. `space` is "auto" (the project of
    the current folder, else the user space), a name, or "all" (reading only).
    """

    @property
    def tools(self) -> "ToolMemory":
        """Which tool fits a request, by what tools say of themselves and by what worked before."""
        if self._tools is None:
            from recollect.tools import ToolMemory

            self._tools = ToolMemory(
                self._store, self.settings, self._search().embedding, self._clock, self._visible_and_merged,
                lambda: self._writable().id,
            )  # fmt: skip
        return self._tools

    @property
    def beliefs(self) -> "Beliefs":
        """How sure notes are, which one took another's place, and which say the same or the opposite."""
        from recollect.beliefs import Beliefs

        return Beliefs(
            self._store, self._limits, self._note, self._operation, self._filter, lambda: self._search().embedding
        )

    def _visible_and_merged(self) -> tuple[int, ...]:
        seen = self._visible()
        return (*seen, *(space.id for space in self._store.spaces() if space.merged_into in seen))

    @property
    def folder(self) -> Path:
        """The folder that this Memory works in: its project decides the space."""
        return self._folder

    @property
    def space(self) -> str:
        """The name of the space that this Memory writes to."""
        return self._space().name

    def spaces(self) -> Sequence[Space]:
        return self._store.spaces()

    def rename_space(self, name: str, to: str) -> Space:
        placing.check_name(to)
        return self._store.rename_space(placing.named(self._store, name).id, to, self._operation("rename"))

    def merge_spaces(self, source: str, target: str, *, dry_run: bool = False) -> placing.MergePreview:
        """Moves everything of one space into another; `undo` takes it back."""
        one, other = placing.named(self._store, source), placing.named(self._store, target)
        if dry_run:
            return placing.preview_merge(self._store, one, other, self._clock())
        op = self._operation("merge")
        self._copy_before("merge", placing.preview_merge(self._store, one, other, op.at_ms).notes, op)
        return placing.merge(self._store, one, other, op, self._limits)
