"""Values are frozen dataclasses in everything but the cost of their definition."""

import contextlib
import gc
from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import audit
from recollect.types import ORIGINS, STATES, TIERS, Added, Link, Note
from recollect.values import MANY, making_many, widened


def test_a_value_cannot_be_changed() -> None:
    link = Link("x")
    with pytest.raises(FrozenInstanceError):
        link.to = "y"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        link.other = "y"  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        del link.to
    assert link == Link("x", "related")


def test_values_are_equal_by_content_and_type_and_can_be_keys() -> None:
    assert Link("x") == Link("x") and Link("x") != Link("y") and Link("x") != object()
    assert len({Link("x"), Link("x"), Link("y")}) == 2
    assert repr(Link("x")) == "Link(to='x', kind='related')"


def test_a_value_works_with_the_tools_for_dataclasses() -> None:
    note = Note("u", "user", "text", "fact", "text", "h", 1, 1)
    assert replace(note, content="other").content == "other" and note.content == "text"
    assert asdict(Link("x")) == {"to": "x", "kind": "related"}
    assert {field.name for field in fields(Added)} > {field.name for field in fields(Note)}


TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
TIMES = st.none() | st.integers(0, 10**14)


@given(
    note=st.builds(
        Note, uid=TEXT, space=TEXT, content=TEXT, kind=TEXT, title=TEXT, content_hash=st.just("0" * 64),
        created_ms=st.integers(0, 10**14), updated_ms=st.integers(0, 10**14), state=st.sampled_from(STATES),
        tier=st.sampled_from(TIERS), context=TEXT, source=TEXT, origin=st.sampled_from(ORIGINS),
        session=st.none() | TEXT, tags=st.lists(TEXT, max_size=3).map(tuple), importance=st.integers(1, 10),
        confidence=st.floats(0, 1) | st.integers(0, 1), pinned=st.booleans(),
        metadata=st.dictionaries(TEXT, TEXT | st.integers() | st.floats(allow_nan=False), max_size=3),
        expires_ms=TIMES, valid_from_ms=TIMES, valid_to_ms=TIMES, superseded_by=st.none() | TEXT,
        links=st.lists(st.builds(Link, TEXT, TEXT), max_size=2).map(tuple),
    )
)  # fmt: skip
def test_the_image_that_is_written_in_one_step_is_the_canonical_one(note: Note) -> None:
    assert audit.encoded(note) == audit.encode(audit.image(note))


def test_a_widened_value_has_the_fields_of_both() -> None:
    note = Note("u", "here", "text", "fact", "title", "h", 1, 2)
    added = widened(note, Added, id=7, created=True, duplicate=False, notice="", operation="op")
    assert added == Added(**{**vars(note), "id": 7}, created=True, duplicate=False, notice="", operation="op")


def test_the_collector_rests_while_many_values_are_made_and_works_again_after_a_failure() -> None:
    with contextlib.suppress(ValueError), making_many(MANY):
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()
    with making_many(MANY - 1):
        assert gc.isenabled()
