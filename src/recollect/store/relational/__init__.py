"""The part of the Store contract that is the same SQL on every engine.

An engine inherits `RelationalStore` and brings what differs: connections and transactions, the keyword and vector
lanes, its schema, backup and checks. Statements are written with `?`; an engine translates if it must. Values are
always bound; what is formatted into SQL here is only placeholders and column names of our own.
"""

from recollect.store.relational.files import FileTables
from recollect.store.relational.keeping import Keeping
from recollect.store.relational.numbers import Numbers
from recollect.store.relational.pairs import PairTables
from recollect.store.relational.reading import NoteReading
from recollect.store.relational.sessions import SessionTables
from recollect.store.relational.spaces import SpaceTables

__all__ = ["RelationalStore"]


class RelationalStore(SpaceTables, NoteReading, SessionTables, FileTables, Numbers, PairTables, Keeping):
    """Everything of the contract that needs no dialect."""
