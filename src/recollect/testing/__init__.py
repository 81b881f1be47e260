"""What authors of engines and users of the library test with: the executable form of the Store contract.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def make_store(self, tmp_path): ...

`make_store()` gives a fresh, empty store; `make_store(store)` another object on the same place. Needs pytest and numpy.
"""

import pytest

pytest.register_assert_rewrite("recollect.testing.contract")

from recollect.testing.contract import StoreContract  # noqa: E402 - after the rewrite is registered
from recollect.testing.room import MakeStore, Room  # noqa: E402

__all__ = ["MakeStore", "Room", "StoreContract"]
