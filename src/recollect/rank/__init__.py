"""Ranking: candidates of both lanes in, an ordered answer with reasons out. Pure; no database, no clock, no numpy.

Invariants: a score depends on the query, the candidate and what surrounds it, never on the limit; it is above 0 for
anything that matched and below 1; the same input gives the same order; a lane that is missing leaves the other.
"""

from recollect.rank.asking import Asking, Window, participants, trust_of, window_of, without_names
from recollect.rank.boosts import OFF, Boosts, diversify
from recollect.rank.fusion import FUSIONS, Lanes, fuse_rrf, fuse_weighted
from recollect.rank.keyword import Matches, Statistics, bm25, idf, matches, needles, telling
from recollect.rank.order import Candidate, Ranked, rank

__all__ = [
    "FUSIONS", "OFF", "Asking", "Boosts", "Candidate", "Lanes", "Matches", "Ranked", "Statistics", "Window",
    "bm25", "diversify", "fuse_rrf", "fuse_weighted", "idf", "matches", "needles", "participants", "rank", "telling",
    "trust_of", "window_of", "without_names",
]  # fmt: skip
