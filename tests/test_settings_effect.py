"""Every setting takes effect: what changes in behaviour when it changes."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import apsw
import pytest

from recollect import InvalidInput, Memory, StoreBusy, load_settings
from recollect.config import DOCS

TESTED: set[str] = set()
# Settings whose effect has a suite of its own, and which.
ELSEWHERE = {
    "tool_learning": "test_tools.py", "max_notes": "test_cleanup.py", "max_bytes": "test_cleanup.py",
    "evicted_grace_days": "test_cleanup.py", "auto_backups": "test_cleanup.py", "audit_key_file": "test_verify.py",
    "forgetting": "test_tiers.py", "scratchpad_tokens": "test_scratchpad.py",
    "scratchpad_minutes": "test_scratchpad.py",
}  # fmt: skip
Test = TypeVar("Test", bound=Callable[..., None])


def effect(*names: str) -> Callable[[Test], Test]:
    """Marks which settings a test is about."""
    TESTED.update(names)
    return lambda test: test


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def opened(home: Path, **options: Any) -> Memory:
    return Memory(folder=home.parent, settings=replace(load_settings(home=home, space="desk"), **options))


@effect("store")
def test_store_says_where_notes_are_kept(home: Path, tmp_path: Path) -> None:
    opened(home, store=str(tmp_path / "elsewhere.db")).add("x")
    assert (tmp_path / "elsewhere.db").exists()


@effect("space")
def test_space_says_where_notes_go(home: Path) -> None:
    assert opened(home, space="kitchen").add("x").space == "kitchen"


@effect("embedder")
def test_embedder_says_what_makes_vectors(home: Path) -> None:
    with opened(home, embedder="hashing") as memory:
        memory.add("words")
        memory.search("words")
        assert memory.stats()["model"].startswith("fnv1a")


@effect("search_limit", "search_min_score", "search_fusion", "weight_vector", "weight_keyword")
def test_search_settings_are_the_defaults_of_a_search(home: Path) -> None:
    with opened(home, embedder="hashing") as memory:
        memory.add_many([f"zeppelin number {n} over lake {n}" for n in range(30)])
        memory.embed_pending()
        scores = [hit.score for hit in memory.search("zeppelin lake 7")]
    assert len(opened(home, embedder="hashing", search_limit=3).search("zeppelin lake 7")) == 3
    assert len(opened(home, embedder="hashing", search_min_score=scores[0]).search("zeppelin lake 7")) < len(scores)
    rrf = opened(home, embedder="hashing", search_fusion="rrf").search("zeppelin lake 7")
    assert [hit.score for hit in rrf] != scores
    keyword, vector = (
        opened(home, embedder="hashing", search_fusion="weighted", weight_vector=v, weight_keyword=1 - v)
        for v in (0.0, 1.0)
    )
    assert keyword.search("zeppelin lake 7")[0].score != vector.search("zeppelin lake 7")[0].score


@effect("kinds")
def test_kinds_adds_to_the_vocabulary(home: Path) -> None:
    with pytest.raises(InvalidInput):
        opened(home).add("x", kind="recipe")
    assert opened(home, kinds=("recipe",)).add("x", kind="recipe").kind == "recipe"


@effect("busy_timeout_seconds")
def test_busy_timeout_bounds_the_wait_for_another_writer(home: Path) -> None:
    memory = opened(home, busy_timeout_seconds=0.3)
    memory.add("x")
    holder = apsw.Connection(str(memory.settings.store))
    holder.execute("begin immediate")
    started = time.monotonic()
    with pytest.raises(StoreBusy):
        memory.add("y")
    assert time.monotonic() - started < 5
    holder.execute("rollback")
    assert memory.add("y").created


@effect("durability")
def test_durability_sets_how_commits_reach_the_disk(home: Path) -> None:
    for durability, level in (("full", 2), ("normal", 1)):
        memory = opened(home, durability=durability)
        assert memory._store._connection().pragma("synchronous") == level  # type: ignore[attr-defined]


@effect("max_note_bytes", "max_tags")
def test_limits_refuse_what_is_too_much(home: Path) -> None:
    with pytest.raises(InvalidInput, match="100"):
        opened(home, max_note_bytes=100).add("x" * 101)
    with pytest.raises(InvalidInput, match="2"):
        opened(home, max_tags=2).add("x", tags=["a", "b", "c"])


@effect("chunk_tokens", "chunk_overlap")
def test_chunks_are_as_large_as_the_settings_say(home: Path) -> None:
    text = "\n".join(f"line {n} of a long text about nothing in particular" for n in range(100))
    counts = []
    for number, (tokens, overlap) in enumerate(((256, 0), (128, 0), (128, 60))):
        with opened(home, space=f"s{number}", chunk_tokens=tokens, chunk_overlap=overlap) as memory:
            memory.add(text)
            counts.append(memory.stats()["chunks"])
    assert counts[0] < counts[1] < counts[2]


@effect("redact")
def test_redact_can_be_switched_off(home: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    assert token not in opened(home).add(f"token {token}").content
    assert token in opened(home, redact=False).add(f"token {token}").content


@effect("daily_log")
def test_daily_log_writes_a_file(home: Path) -> None:
    opened(home, daily_log=True).add("x")
    assert list(home.rglob("*.md"))


@effect("cache_entries")
def test_the_cache_is_bounded_and_can_be_switched_off(home: Path) -> None:
    for entries in (5, 0):
        with opened(home, space=f"s{entries}", embedder="hashing", cache_entries=entries) as memory:
            memory.add_many([f"note {entries} {n}" for n in range(20)])
            memory.embed_pending()
            kept = memory._store._rows("select count(*) from embedding_cache")[0][0]  # type: ignore[attr-defined]
            assert kept == 5  # nothing is added with 0, and what is there stays


@effect("search_deadline_ms")
def test_a_deadline_of_almost_nothing_leaves_vectors_owed(home: Path) -> None:
    with opened(home, search_deadline_ms=1) as memory:
        memory.add_many([f"zeppelin {n} " + "over the lake " * 20 for n in range(40)])
        assert 0 < memory.search("zeppelin").pending < 40


@effect("history_days")
def test_history_is_kept_as_long_as_the_setting_says(home: Path) -> None:
    """Beyond the newest twenty versions, which are always kept. Time passes in steps: a jump would not be believed."""
    for days, kept in ((400, 25), (30, 20)):
        clock = [1_700_000_000_000]
        settings = replace(load_settings(home=home, space=f"s{days}"), history_days=days)
        with Memory(home / f"{days}.db", settings=settings, clock=lambda now=clock: now[0]) as memory:  # type: ignore[misc]
            note = memory.add("version 0")
            for number in range(25):
                memory.update(note, content=f"version {number + 1}")
            for number in range(40):
                clock[0] += 2 * 86_400_000
                memory.add(f"day {number}")
            memory.cleanup()
            assert len(memory.history(note)) == kept


class Service(BaseHTTPRequestHandler):
    seen: ClassVar[list[tuple[str, str, str]]] = []
    seconds: ClassVar[float] = 0.0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, self.headers.get("Authorization", ""), body["model"]))
        time.sleep(self.seconds)
        rows = [{"index": n, "embedding": [1.0, float(len(text))]} for n, text in enumerate(body["input"])]
        answer = json.dumps({"data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    Service.seen, Service.seconds = [], 0.0
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@effect("embed_base_url", "embed_model", "embed_api_key_env", "embed_timeout_seconds")
def test_a_service_is_asked_as_the_settings_say(home: Path, service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "abc")
    options = {"embedder": "openai", "embed_base_url": service, "embed_model": "tiny", "embed_api_key_env": "MY_KEY"}
    with opened(home, **options) as memory:
        memory.add("words")
        assert memory.search("words").mode == "hybrid"
    assert Service.seen[0] == ("/v1/embeddings", "Bearer abc", "tiny")
    Service.seconds = 1.0
    with opened(home, **options, embed_timeout_seconds=0.1) as memory:
        answer = memory.search("other words")
        assert answer.mode == "keyword" and answer.notices


@effect("embed_threads")
def test_the_model_computes_with_as_many_threads_as_the_settings_say(home: Path) -> None:
    vectors = []
    for threads in (1, 2):
        with opened(home, space=f"s{threads}", embed_threads=threads, cache_entries=0) as memory:
            memory.add("the zeppelin landed")
            memory.embed_pending()
            embedder: Any = memory._search().embedding.open()
            assert embedder._load().session.get_session_options().intra_op_num_threads == threads
            vectors.append(embedder.embed(["the zeppelin landed"]).tobytes())
    assert vectors[0] == vectors[1]


@effect("log_level")
def test_log_level_decides_what_background_work_tells(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    for level, told in (("info", True), ("error", False)):
        caplog.clear()
        memory = opened(home, embedder="none", log_level=level)
        memory.add("x")
        worker = memory.background().start()
        while worker.rounds == 0:
            time.sleep(0.01)
        worker.stop()
        assert ("Memory index ready" in caplog.text) is told


SYNCED: dict[str, dict[str, Any]] = {
    "sync_on_start": {"sync_on_start": True}, "sync_on_search": {"sync_on_search": True},
    "sync_interval_seconds": {"sync_interval_seconds": 1}, "nothing": {},
}  # fmt: skip


@effect("sync_on_start", "sync_on_search", "sync_interval_seconds")
@pytest.mark.parametrize("name", SYNCED)
def test_what_was_indexed_is_kept_up_to_date_as_the_settings_say(home: Path, tmp_path: Path, name: str) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    never: dict[str, Any] = {"sync_on_start": False, "sync_on_search": False, "sync_interval_seconds": 0}
    with opened(home, embedder="none", **{**never, **SYNCED[name]}) as memory:
        memory.index(pages)
        (pages / "new.md").write_text("the zeppelin arrives\n")
        worker = memory.background(interval_seconds=0.6).start()
        until = time.monotonic() + (2.5 if name == "nothing" else 20)
        while not (known := memory.stats()["chunks"]) and time.monotonic() < until:
            if name == "sync_on_search":
                memory.search("zeppelin")
            time.sleep(0.05)
        worker.stop()
    assert known == (name != "nothing")


def test_no_setting_is_left_out() -> None:
    assert set(DOCS) - TESTED == set(ELSEWHERE)
    assert {field.name for field in fields(load_settings())} >= TESTED
    for name, suite in ELSEWHERE.items():
        assert name in Path(__file__).with_name(suite).read_text(encoding="utf-8"), f"{suite} does not mention {name}"
