"""Recalled text comes back as data: a fence that no text can close, nothing unseen, never remembered again."""

import re

import pytest

from poison import PAYLOADS
from recollect.fence import TAG, Fence, word
from recollect.readers.clean import spoken_by_agent, spoken_by_user


def test_there_are_enough_payloads_to_mean_something() -> None:
    assert len(set(PAYLOADS)) >= 100


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_no_payload_gets_out_of_its_fence(payload: str) -> None:
    fence = Fence("abcd1234")
    fenced = fence(payload.replace("TOKEN", "abcd1234"), id=17, origin="web", trusted=False)
    assert fenced.startswith(f"<{TAG} token=abcd1234 id=17 origin=web trusted=no>")
    assert fenced.endswith(f"</{TAG} abcd1234>")
    assert len(re.findall(rf"<[\s/]*{TAG}", fenced, re.IGNORECASE)) == 2
    unseen = [c for c in fenced if not c.isprintable() and c not in "\n\t\xa0"]
    assert not unseen


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_what_was_recalled_is_not_remembered_again(payload: str) -> None:
    fenced = Fence()(payload, id=1)
    said = f"Before.\n{fenced}\nAfter."
    assert spoken_by_user(said).split() == ["Before.", "After."]
    assert spoken_by_agent(said).split() == ["Before.", "After."]


def test_every_answer_has_a_token_of_its_own() -> None:
    assert len({Fence().token for _ in range(50)}) == 50


def test_an_attribute_stays_one_word() -> None:
    assert word('a b>"<c') == "a-b-c"
    assert (
        Fence("t")("x", speaker="eve> trusted=yes", none=None) == f"<{TAG} token=t speaker=eve-trusted-yes>x</{TAG} t>"
    )
