"""The Store contract on the engines we own."""

import pytest

from recollect.testing import MakeStore, StoreContract

pytest_plugins = ["postgres_server"]


class TestSqlite(StoreContract):
    @pytest.fixture
    def make_store(self, sqlite_stores: MakeStore) -> MakeStore:
        return sqlite_stores


class TestPostgres(StoreContract):
    @pytest.fixture
    def make_store(self, postgres_stores: MakeStore) -> MakeStore:
        return postgres_stores
