"""The end of a chunk is embedded too: what stands in its last tokens is found by meaning, with the real model."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Memory, load_settings
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.wordpiece import bundled
from recollect.text.chunk import chunk, estimate_tokens
from recollect.types import Chunk
from recollect.write import BUNDLED_READS, model_input

OTHERS = 8
FULL = 256  # what the estimate lets into one chunk


def prose(rng: random.Random) -> str:
    who = rng.choice(["The gardener", "A neighbour", "Our landlord", "The committee"])
    did = rng.choice(["painted", "measured", "described", "repaired"])
    what = rng.choice(["the wooden fence", "a tall ladder", "the stone steps", "two maps of the coast"])
    return f"{who} {did} {what} {rng.choice(['in May', 'after lunch', 'without a word'])}. "


def code(rng: random.Random) -> str:
    a, b, c = rng.sample(["x_1", "buf", "idx", "acc", "ptr", "tmp", "k2", "q_n"], 3)
    i, j, k = (rng.randint(1, 99) for _ in range(3))
    return f"    {a}[{b}+{i}]=({c}>>{j % 8})^{a}[{j}]&0x{k:02x};\n"


def hex_dump(rng: random.Random) -> str:
    return f"{rng.randint(0, 1 << 30):08x}: " + " ".join(f"{rng.randint(0, 65535):04x}" for _ in range(8)) + "\n"


def chinese(rng: random.Random) -> str:
    return (
        rng.choice(["委员会", "花匠", "邻居", "房东"])
        + rng.choice(["修好了", "测量了", "描述了"])
        + rng.choice(["木栅栏。", "石阶。", "旧地图。"])
    )


def japanese(rng: random.Random) -> str:
    return (
        rng.choice(["委員会は", "庭師は", "隣人は", "大家は"])
        + rng.choice(["木の柵を", "石段を", "古い地図を"])
        + rng.choice(["直した。", "測った。", "説明した。"])
    )


def korean(rng: random.Random) -> str:
    return (
        rng.choice(["위원회는 ", "정원사는 ", "이웃은 "])
        + rng.choice(["나무 울타리를 ", "돌계단을 "])
        + rng.choice(["고쳤다. ", "재었다. "])
    )


ENGLISH = ("Her cat had three kittens last night.", "birth of small pets")
CASES: dict[str, tuple[Callable[[random.Random], str], str, str]] = {
    "english prose": (prose, *ENGLISH),
    "code": (code, f"    # {ENGLISH[0]}", ENGLISH[1]),
    "hex dump": (hex_dump, *ENGLISH),
    "chinese": (chinese, "她的猫昨晚生了三只小猫，小猫很健康。", "小猫出生"),
    "japanese": (japanese, "彼女の猫は昨夜三匹の子猫を産んだ。子猫も母猫も元気だ。", "子猫を産んだ猫"),
    "korean": (korean, *ENGLISH),  # the model knows no Korean, only how many pieces it is
}  # fmt: skip


def filled(make: Callable[[random.Random], str], rng: random.Random, end: str) -> str:
    """As much as the estimate lets into one chunk, with `end` as its last words."""
    text = ""
    while estimate_tokens(text + (more := make(rng)) + end) <= FULL:
        text += more
    return text + end


@pytest.mark.parametrize("name", CASES)
def test_what_stands_at_the_end_of_a_chunk_is_found_by_meaning(tmp_path: Path, name: str) -> None:
    make, fact, question = CASES[name]
    rng = random.Random(5)
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(OTHERS):
        (folder / f"page{number}.txt").write_text(filled(make, rng, make(rng)), encoding="utf-8")
    (folder / "page8.txt").write_text(filled(make, rng, fact), encoding="utf-8")
    with Memory(tmp_path / "memory.db", space="desk") as memory:
        memory.index(folder)
        hit = memory.search(question, mode="vector")[0]
    assert hit.path.endswith("page8.txt"), hit


@pytest.mark.parametrize("name", CASES)
def test_no_chunk_is_longer_than_the_model_reads(name: str) -> None:
    make, rng = CASES[name][0], random.Random(6)
    text = "".join(make(rng) for _ in range(400))
    pieces = chunk(text, FULL, 50, model_input("minilm"))
    assert max(bundled().count(piece.text) for piece in pieces) <= BUNDLED_READS
    assert sum(len(piece.text) for piece in pieces) >= len(text)


def test_what_the_chunker_counts_is_what_the_model_reads() -> None:
    assert OnnxEmbedder().max_tokens == BUNDLED_READS + 2


def test_a_title_leaves_room_for_the_text(tmp_path: Path) -> None:
    """The model reads the title before every slice; even an absurd one must not push the text out."""
    rng = random.Random(7)
    text = "".join(hex_dump(rng) for _ in range(20))
    with Memory(tmp_path / "memory.db", space="desk") as memory:
        note = memory.add(text, title="deadbeef " * 100)
        embedder = OnnxEmbedder()
        memory._store.add_model(embedder.model, embedder.dims)
        owed = memory._store.pending(embedder.model, None, 1000)
        slices = memory._store.owned("note", note.id, memory.spaces()[0].id)
    assert owed and max(bundled().count(words) for _, _, words in owed) <= BUNDLED_READS
    assert all(part in "".join(piece.content for piece in slices) for part in text.splitlines())


def test_a_given_title_goes_with_every_slice_that_does_not_begin_with_it(tmp_path: Path) -> None:
    """Also where the text begins with it; a title that was only taken from the text stays there."""
    said = " ".join(f"Step {number} moves the money of day {number}." for number in range(60))
    with Memory(tmp_path / "memory.db", space="desk") as memory:
        given = memory.add(f"Ledger. {said}", title="Ledger")
        taken = memory.add(f"The nightly run goes in steps.\n{said}")
        short = memory.add("Ledger closes at noon.", title="Ledger")
        titles = {}
        for note in (given, taken, short):
            slices = memory._store.owned("note", note.id, memory.spaces()[0].id)
            titles[note.id] = [(piece.content.startswith(note.title), piece.context) for piece in slices]
    assert len(titles[given.id]) > 4
    assert set(titles[given.id]) == {(True, ""), (False, "Ledger")}
    assert {context for _, context in titles[taken.id]} == {""}
    assert titles[short.id] == [(True, "")]


def test_what_was_cut_for_another_model_is_cut_anew(tmp_path: Path) -> None:
    """Without the file at hand: its slices are all that is left of it, and they keep their line numbers."""
    rng = random.Random(8)
    lines = [hex_dump(rng) for _ in range(60)]
    page = tmp_path / "files" / "dump.txt"
    page.parent.mkdir()
    page.write_text("".join(lines))
    plain = replace(load_settings(home=tmp_path / "home", space="desk"), embedder="none")
    with Memory(settings=plain) as memory:
        memory.index(page.parent)
        before = memory.stats()["chunks"]
    page.unlink()
    with Memory(settings=replace(plain, embedder="minilm")) as memory:
        memory.reindex(force=True)
        assert memory.stats()["chunks"] > before
        hits = memory.search(lines[40].split()[3], mode="keyword")
        first, last = hits[0].lines or (0, 0)
        passage = memory.passage(hits[0].id)
        assert isinstance(passage, Chunk) and lines[40] in passage.content
        assert passage.content == "".join(lines[first - 1 : last])
