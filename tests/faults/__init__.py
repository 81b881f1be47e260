"""Faults made on purpose: workers that are killed, disks that lose power or fail, and the model that judges the rest.

RECOLLECT_FAULT_SCALE multiplies the number of rounds, cuts and runs; 1 is what the test command does.
"""

import os

# Read at import: the tests clear the settings of the person who runs them.
SCALE = max(1, int(os.environ.get("RECOLLECT_FAULT_SCALE", "1")))
