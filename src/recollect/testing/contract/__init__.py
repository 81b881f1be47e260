"""The Store contract as tests: subclass `StoreContract`, give it a `make_store` fixture, and run pytest."""

from recollect.testing.contract.atomic import AtomicRules
from recollect.testing.contract.erasing import EraseRules
from recollect.testing.contract.files import FileRules
from recollect.testing.contract.isolation import IsolationRules
from recollect.testing.contract.keeping import KeepingRules
from recollect.testing.contract.keywords import KeywordRules
from recollect.testing.contract.moving import MoveRules
from recollect.testing.contract.pairs import PairRules
from recollect.testing.contract.reading import ReadingRules
from recollect.testing.contract.sessions import SessionRules
from recollect.testing.contract.spaces import SpaceRules
from recollect.testing.contract.tiers import TierRules
from recollect.testing.contract.time import TimeRules
from recollect.testing.contract.upkeep import UpkeepRules
from recollect.testing.contract.vectors import VectorRules
from recollect.testing.contract.writing import WriteRules

__all__ = ["StoreContract"]


class StoreContract(
    WriteRules, AtomicRules, ReadingRules, MoveRules, SpaceRules, SessionRules, KeywordRules, VectorRules, EraseRules,
    UpkeepRules, KeepingRules, IsolationRules, PairRules, FileRules, TierRules, TimeRules,
):  # fmt: skip
    """Everything that a store engine promises."""
