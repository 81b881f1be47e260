"""What every part of the contract starts from: a fresh store, and one or two spaces in it."""

import pytest

from recollect.testing.room import MakeStore, Room


class Rules:
    @pytest.fixture
    def make_store(self) -> MakeStore:
        raise NotImplementedError("give the subclass a `make_store` fixture that yields a callable")

    @pytest.fixture
    def room(self, make_store: MakeStore) -> Room:
        return Room(make_store())

    @pytest.fixture
    def rooms(self, make_store: MakeStore) -> tuple[Room, Room]:
        store = make_store()
        return Room(store, "here"), Room(store, "there")
