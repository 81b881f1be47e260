"""Values are frozen dataclasses in everything but the cost of their definition."""

from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest

from recollect.types import Added, Link, Note


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
