"""However a file grows, every complete message is told exactly once, in order, and the same as in one reading."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st

from readers_corpus import LINE_FORMATS, TALK, as_lines, claude, generic, put, transcript
from recollect.readers import (
    FileReader,
    Found,
    Head,
    Item,
    Mark,
    Rewind,
    Said,
    Skip,
    Text,
    TranscriptReader,
    jsonl,
    lines,
    reader_for,
    walk,
)

# The folder of real transcripts, if there is one to test with; without it these tests have nothing to run over.
REAL = Path(os.environ.get("RECOLLECT_TRANSCRIPTS", "")) if os.environ.get("RECOLLECT_TRANSCRIPTS") else None
MODIFIED_NS = 1_772_359_200_000_000_000


def place(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))


def content_of(items: list[Item]) -> list[Item]:
    return [item for item in items if not isinstance(item, Head | Mark)]


def told_by_session(items: list[Item]) -> list[tuple[str, Item]]:
    """What was told, each with the session it belongs to."""
    key = ""
    found: list[tuple[str, Item]] = []
    for item in items:
        if isinstance(item, Head):
            key = item.key
        elif isinstance(item, Said | Rewind):
            found.append((key, item))
    return found


def last_heads(items: list[Item]) -> dict[str, Head]:
    return {item.key: item for item in items if isinstance(item, Head)}


def grow(reader: TranscriptReader, path: Path, whole: bytes, cuts: list[int]) -> list[Item]:
    """Read the file at each of its sizes, every time from the last mark on."""
    items: list[Item] = []
    mark = Mark(0, 0)
    for size in [*sorted(cuts), len(whole)]:
        place(path, whole[:size])
        read = list(reader.read(path, mark.offset, json.loads(json.dumps(mark.state))))
        assert isinstance(read[-1], Mark)
        assert mark.offset <= read[-1].offset <= size
        mark = read[-1]
        items.extend(read)
    return items


def check_growth(reader: TranscriptReader, path: Path, whole: bytes, cuts: list[int]) -> None:
    place(path, whole)
    once = list(reader.read(path))
    grown = grow(reader, path, whole, cuts)
    assert content_of(grown) == content_of(once)
    assert told_by_session(grown) == told_by_session(once)
    assert last_heads(grown) == last_heads(once)


words = st.text(min_size=1, max_size=40).map(lambda text: f"x {text} x").filter(lambda text: "<" not in text)
messages = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), words), min_size=1, max_size=6)
noise = st.sampled_from(
    [
        b"\n", b"  \r\n", b"{broken\n", b"[1, 2]\n", b'"}"\n', b"}\n", b"{}\n", b'{"type": "never-seen"}\n',
        b"12345\n", b"\x00\x00\x00", b"\xff\xfe{}\n", b'{"a": {"b": "\xc3"}}\n', b"{}{}\n", b'{}{"c": {"d": 1}\n',
        b'{} "tail"\n',
    ]
)  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, bytes, list[int]]:
    """A format, a file of it with noise between its lines, perhaps without its last newline, and where it is cut."""
    name = draw(st.sampled_from(sorted(LINE_FORMATS)))
    make = LINE_FORMATS[name][0]
    pieces = [as_lines([record]) for record in make(draw(messages))]
    mixed = []
    for piece in pieces:
        mixed.append(piece)
        mixed.extend(draw(st.lists(noise, max_size=2)))
    whole = b"".join(mixed)
    if draw(st.booleans()):
        whole = whole.rstrip(b"\n")
    return name, whole, draw(st.lists(st.integers(0, len(whole)), max_size=8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("growing")


@how(max_examples=250)
@given(history=histories())
def test_a_file_read_while_it_grows_gives_what_one_reading_gives(
    folder: Path, history: tuple[str, bytes, list[int]]
) -> None:
    name, whole, cuts = history
    path = put(folder, LINE_FORMATS[name][1], whole)
    reader = next(each for each in lines_readers() if each.name == name)
    check_growth(reader, path, whole, cuts)


def lines_readers() -> Iterator[TranscriptReader]:
    from recollect.readers import transcript_readers

    return (reader for reader in transcript_readers() if reader.appends)


def test_every_single_cut_of_a_small_file_is_survived(tmp_path: Path) -> None:
    whole = as_lines(generic([("user", "trees: 漢🌳"), ("assistant", "yes")]))
    path = put(tmp_path, "a.jsonl", whole)
    reader = transcript(path)
    for cut in range(len(whole)):
        check_growth(reader, path, whole, [cut])


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_reading_on_from_any_mark_gives_the_rest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MARK_EVERY_LINES", 1)
    make, where = LINE_FORMATS[name]
    path = put(tmp_path, where, as_lines(make(TALK * 3)) + b"{broken\n" + as_lines(make(TALK))[:-1])
    reader = transcript(path)
    once = list(reader.read(path))
    marks = [(index, item) for index, item in enumerate(once) if isinstance(item, Mark)]
    assert len(marks) > 12
    for index, mark in marks:
        rest = list(reader.read(path, mark.offset, mark.state))
        assert content_of(rest) == content_of(once[index:])
        assert (
            told_by_session(rest)
            == told_by_session([*once[:index], *once[index:]])[len(told_by_session(once[:index])) :]
        )


# --- torn, over-long, glued


def test_a_torn_last_line_waits_for_its_end(tmp_path: Path) -> None:
    whole = as_lines(generic(TALK))
    path = tmp_path / "a.jsonl"
    last_start = whole.rstrip(b"\n").rindex(b"\n") + 1
    place(path, whole[:-5])
    items = list(transcript(path).read(path))
    assert len([item for item in items if isinstance(item, Said)]) == 3
    assert isinstance(items[-1], Mark)
    assert (items[-1].offset, items[-1].line) == (last_start, 3)


def test_a_torn_character_waits_for_its_end(tmp_path: Path) -> None:
    whole = as_lines(generic([("user", "one"), ("user", "🌳")]))
    path = tmp_path / "a.jsonl"
    tree = whole.index("🌳".encode())
    for cut in range(tree + 1, tree + 4):
        items = grow(chosen_after(path, whole), path, whole, [cut])
        assert [item.text for item in items if isinstance(item, Said)] == ["one", "🌳"]
        assert not [item for item in items if isinstance(item, Skip)]


def chosen_after(path: Path, whole: bytes) -> TranscriptReader:
    place(path, whole)
    return transcript(path)


def test_a_last_record_without_a_newline_is_told_once_and_only_once(tmp_path: Path) -> None:
    whole = as_lines(generic(TALK))
    path = tmp_path / "a.jsonl"
    items = grow(chosen_after(path, whole), path, whole, [len(whole) - 1, len(whole) - 1])
    assert [(item.text, item.line) for item in items if isinstance(item, Said)] == [
        (text, number) for number, (_, text) in enumerate(TALK, 1)
    ]


def test_a_line_that_is_too_long_is_passed_over_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    whole = as_lines(generic([("user", "before"), ("user", "long " * 5000), ("user", "after")]))
    path = tmp_path / "a.jsonl"
    place(path, whole)
    items = list(transcript(path).read(path))
    assert [item.text for item in items if isinstance(item, Said)] == ["before", "after"]
    assert [item for item in items if isinstance(item, Skip)] == [Skip("line longer than 32 MB", 2)]
    assert isinstance(items[-1], Mark)
    assert (items[-1].offset, items[-1].line) == (len(whole), 3)
    place(path, whole[:12_000])
    torn = list(transcript(path).read(path))
    assert [item.text for item in torn if isinstance(item, Said)] == ["before"]
    assert isinstance(torn[-1], Mark)
    assert torn[-1].line == 1


def test_a_packed_file_that_unpacks_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_UNPACKED_BYTES", 10_000)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(as_lines(generic(TALK * 1000))))
    items = list(transcript(path).read(path))
    assert items[-2] == Skip("unpacks to more than the cap")
    assert len(items) < 200


def test_a_torn_number_or_word_is_not_taken_for_a_line(tmp_path: Path) -> None:
    whole = as_lines(generic(TALK)) + b"12345\n"
    path = tmp_path / "a.jsonl"
    place(path, whole)
    check_growth(transcript(path), path, whole, [len(whole) - 3])


# Values where nobody expects them.
ODD: list[Any] = [None, True, -1, 1e300, "", "x", "\ud800", [], [None], [[]], ["x"], {}, {"type": {}}, {"text": 5}]


def spoiled(value: Any) -> Iterator[Any]:
    """Each variant of a JSON value in which one part, however deep, is something odd."""
    yield from ODD
    if isinstance(value, dict):
        for name, part in value.items():
            yield {key: other for key, other in value.items() if key != name}
            yield from (value | {name: odd} for odd in spoiled(part))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from ([*value[:index], odd, *value[index + 1 :]] for odd in spoiled(part))


@pytest.mark.parametrize("name", LINE_FORMATS)
def test_no_record_however_odd_stops_a_reading(name: str, tmp_path: Path) -> None:
    make, where = LINE_FORMATS[name]
    records = make(TALK[:2])
    content = as_lines(records) + b"".join(
        json.dumps(odd).encode() + b"\n" for record in records for odd in spoiled(record)
    )
    path = put(tmp_path, where, content)
    items = list(transcript(path).read(path))
    assert content.count(b"\n") > 80
    assert items[-1] == Mark(len(content), content.count(b"\n"), items[-1].state if isinstance(items[-1], Mark) else {})
    for item in items:
        if isinstance(item, Said):
            assert item.text.strip()
            assert item.record
            item.text.encode("utf-8")
        if isinstance(item, Head):
            assert item.key
            json.dumps([item.key, item.cwd, item.title, item.parent]).encode("utf-8")


def test_two_records_on_one_line_are_both_told(tmp_path: Path) -> None:
    first, second, third = as_lines(generic(TALK[:3])).splitlines(keepends=True)
    path = tmp_path / "a.jsonl"
    place(path, first.rstrip() + second + third)
    said = [item for item in transcript(path).read(path) if isinstance(item, Said)]
    assert [(item.text, item.line) for item in said] == [(TALK[0][1], 1), (TALK[1][1], 1), (TALK[2][1], 2)]
    assert len({item.record for item in said}) == 3


def test_records_without_ids_are_named_by_where_they_start(tmp_path: Path) -> None:
    whole = as_lines(generic(TALK))
    path = tmp_path / "a.jsonl"
    place(path, whole)
    starts = [0, *(index + 1 for index, byte in enumerate(whole[:-1]) if byte == 10)]
    records = [item.record for item in transcript(path).read(path) if isinstance(item, Said)]
    assert records == [f"@{at}" for at in starts]


def test_a_deeply_nested_line_is_malformed_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    place(path, as_lines(generic(TALK)) + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n")
    items = list(transcript(path).read(path))
    assert Counter(type(item) for item in items)[Said] == 4
    assert [item for item in items if isinstance(item, Skip)] == [Skip("malformed line", 5)]


def test_marks_come_along_the_way_so_that_work_can_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    place(path, as_lines(claude([("user", f"message {index}") for index in range(1000)])))
    offsets = [item.offset for item in transcript(path).read(path) if isinstance(item, Mark)]
    assert len(offsets) >= 5
    assert offsets == sorted(offsets)
    assert offsets[-1] == path.stat().st_size


# --- the same over real transcripts, where there are some


def real_files() -> list[Path]:
    return [found.path for found in walk(REAL) if isinstance(found, Found)] if REAL else []


if REAL:

    @pytest.mark.parametrize("source", real_files(), ids=lambda path: path.name)
    def test_a_real_file_is_read_to_its_end_or_refused_with_a_reason(source: Path) -> None:
        reader = reader_for(source)
        if isinstance(reader, FileReader):
            assert isinstance(reader.read(source), Text)
        elif not isinstance(reader, Skip):
            items = list(reader.read(source))
            assert items == list(reader.read(source))
            assert isinstance(items[-1], Mark)

    @pytest.mark.parametrize(
        "source", [path for path in real_files() if path.suffix == ".jsonl"], ids=lambda path: path.name
    )
    def test_a_real_transcript_may_grow_as_it_likes(source: Path, tmp_path: Path) -> None:
        whole = source.read_bytes()
        step = max(len(whole) // 23, 1)
        path = tmp_path / source.name
        path.write_bytes(whole)
        check_growth(transcript(source), path, whole, [*range(step, len(whole), step)])

    @pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli", "cursor", "openclaw", "pi", "jsonl"])
    def test_every_named_format_has_turns_among_the_real_files(agent: str) -> None:
        turns = 0
        for path in real_files():
            reader = reader_for(path)
            if not isinstance(reader, Skip | FileReader) and reader.name == agent:
                turns += sum(isinstance(item, Said) for item in reader.read(path))
        assert turns
