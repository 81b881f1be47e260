"""Faults made on purpose: workers that are killed, disks that lose power or fail, and the model that judges the rest.

RECOLLECT_FAULTS chooses the size of every suite: `quick`, which `make test` runs, or `full`, which `make soak` runs.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """How often each thing is done to a store; a kill counts where it met its victim at work."""

    writer_kills: int  # of each verb
    maker_kills: int
    cleanup_kills: int
    belief_kills: int  # of each verb
    maturing_kills: int  # of each verb
    index_kills: int
    upgrade_kills: int
    power_cuts: int
    power_scripts: int  # that the cuts are shared among
    damaged: int  # stores of each of four kinds, and logs
    rescued: int
    crowd_seconds: int
    failing_modes: int  # of four, for each n-th operation
    failing_lives: int  # how often the script says everything
    interrupts: int
    cut_files: int
    scratched: int
    histories: int  # times the number of examples

    timeout: int = 300


_SIZES = {
    "quick": Sizes(
        writer_kills=34, maker_kills=36, cleanup_kills=100, belief_kills=10, maturing_kills=50, index_kills=100,
        upgrade_kills=100, power_cuts=200, power_scripts=1, damaged=50, rescued=10, crowd_seconds=30, failing_modes=2,
        failing_lives=1, interrupts=4, cut_files=40, scratched=60, histories=1,
    ),
    "full": Sizes(
        writer_kills=1000, maker_kills=1000, cleanup_kills=1000, belief_kills=1000, maturing_kills=1000,
        index_kills=1000, upgrade_kills=1000, power_cuts=5000, power_scripts=25, damaged=500, rescued=100,
        crowd_seconds=1800, failing_modes=4, failing_lives=3, interrupts=40, cut_files=400, scratched=600, histories=10,
        timeout=10_800,
    ),
}  # fmt: skip

# Read at import: the tests clear the settings of the person who runs them.
SIZES = _SIZES[os.environ.get("RECOLLECT_FAULTS", "quick")]
