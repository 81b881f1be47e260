"""Embedding services, against a real local server that misbehaves in every way we know."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from recollect.embed import EmbedOptions, open_embedder, transport
from recollect.embed.http import OllamaEmbedder, OpenAIEmbedder
from recollect.errors import ConfigInvalid, EmbedderUnavailable

KEY = "sk-very-secret-1234567890"
DIMS = 8


def vector_of(text: str) -> list[float]:
    """A vector that tells which text it belongs to."""
    return [float(len(text)), 1.0, *[float(ord(char)) for char in text[:6].ljust(6)]]


def rows_of(texts: list[str]) -> dict[str, Any]:
    return {"data": [{"index": number, "embedding": vector_of(text)} for number, text in enumerate(texts)]}


class Handler(BaseHTTPRequestHandler):
    server: "Service"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({"path": self.path, "body": body, "key": self.headers.get("Authorization")})
        steps = self.server.steps
        step = steps.pop(0) if len(steps) > 1 else steps[0]
        step(self, body)

    def do_GET(self) -> None:
        self.server.asked.append({"path": self.path, "body": None, "key": self.headers.get("Authorization")})

    def reply(self, status: int, body: bytes | dict[str, Any], **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: Any) -> None:
        pass


Step = Callable[[Handler, dict[str, Any]], None]


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.waits: list[float] = []
        self.steps: list[Step] = [well]

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that hang up are the point of some tests

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def openai(self, **options: Any) -> OpenAIEmbedder:
        given: dict[str, Any] = {"base_url": self.url + "/v1", "api_key": KEY, "model": "test", "dims": DIMS} | options
        return OpenAIEmbedder(EmbedOptions(**given), sleep=self.waits.append)

    def ollama(self, **options: Any) -> OllamaEmbedder:
        given: dict[str, Any] = {"base_url": self.url, "model": "test", "dims": DIMS} | options
        return OllamaEmbedder(EmbedOptions(**given), sleep=self.waits.append)


@pytest.fixture
def service() -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def well(handler: Handler, body: dict[str, Any]) -> None:
    if handler.path.endswith("/api/embed"):
        handler.reply(200, {"embeddings": [vector_of(text) for text in body["input"]]})
    else:
        handler.reply(200, rows_of(body["input"]))


def status(code: int, message: str = "", **headers: str) -> Step:
    return lambda handler, _: handler.reply(code, {"error": {"message": message}}, **headers)


def answer(body: bytes | dict[str, Any]) -> Step:
    return lambda handler, _: handler.reply(200, body)


def expected(texts: list[str]) -> Any:
    rows = np.array([vector_of(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def trouble_of(embedder: OpenAIEmbedder, texts: list[str] | None = None) -> EmbedderUnavailable:
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed(texts or ["hello"])
    assert caught.value.hint
    chain: BaseException | None = caught.value
    while chain is not None:
        assert KEY not in repr(chain) and KEY not in str(chain)
        chain = chain.__cause__ or chain.__context__
    return caught.value


def test_texts_come_back_as_unit_vectors_in_order(service: Service) -> None:
    texts = ["one", "three", "seven seven"]
    vectors = service.openai().embed(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(texts), rtol=1e-6)
    assert service.asked == [
        {"path": "/v1/embeddings", "body": {"model": "test", "input": texts}, "key": f"Bearer {KEY}"}
    ]


def test_ollama_is_told_not_to_cut_texts_in_silence(service: Service) -> None:
    np.testing.assert_allclose(service.ollama().embed(["one", "two!"]), expected(["one", "two!"]), rtol=1e-6)
    assert service.asked[0]["path"] == "/api/embed"
    assert service.asked[0]["body"] == {"model": "test", "input": ["one", "two!"], "truncate": False}
    assert service.asked[0]["key"] is None


def test_texts_are_sent_in_batches_of_a_hundred(service: Service) -> None:
    texts = [f"text {number}" for number in range(230)]
    np.testing.assert_allclose(service.openai().embed(texts), expected(texts), rtol=1e-6)
    assert [len(asked["body"]["input"]) for asked in service.asked] == [100, 100, 30]


def test_no_texts_ask_nothing(service: Service) -> None:
    assert service.openai().embed([]).shape == (0, DIMS)
    assert service.asked == []


def test_empty_and_broken_texts_are_sent_as_something_a_service_accepts(service: Service) -> None:
    service.openai().embed(["", " \n", "half \ud83d pair"])
    assert service.asked[0]["body"]["input"] == [".", ".", "half ? pair"]


def test_rows_are_put_in_order_by_their_index(service: Service) -> None:
    def shuffled(handler: Handler, body: dict[str, Any]) -> None:
        handler.reply(200, {"data": rows_of(body["input"])["data"][::-1]})

    service.steps = [shuffled]
    texts = ["a", "bb", "ccc", "dddd"]
    np.testing.assert_allclose(service.openai().embed(texts), expected(texts), rtol=1e-6)


@pytest.mark.parametrize("indexes", [[0, 0], [0, 2], [0], [0, 1, 1], ["0", "1"]])
def test_rows_that_do_not_match_the_texts_are_refused(service: Service, indexes: list[Any]) -> None:
    service.steps = [answer({"data": [{"index": index, "embedding": [1.0] * DIMS} for index in indexes]})]
    assert "text by text" in trouble_of(service.openai(), ["one", "two"]).message


def test_retry_after_in_seconds_is_waited_for(service: Service) -> None:
    service.steps = [status(429, "slow down", Retry_After="3"), well]
    service.openai().embed(["hello"])
    assert service.waits == [3.0]
    assert len(service.asked) == 2


def test_retry_after_as_a_date_is_waited_for(service: Service) -> None:
    service.steps = [status(503, Retry_After=formatdate(time.time() + 7, usegmt=True)), well]
    service.openai().embed(["hello"])
    assert 4 <= service.waits[0] <= 8


@pytest.mark.parametrize("asked", ["86400", formatdate(time.time() + 86400, usegmt=True)])
def test_an_absurd_retry_after_is_capped(service: Service, asked: str) -> None:
    service.steps = [status(429, Retry_After=asked), well]
    service.openai().embed(["hello"])
    assert service.waits == [transport.MAX_WAIT_SECONDS]


@pytest.mark.parametrize("asked", ["soon", "-5", "nan", "1e9", "٣", formatdate(0)])
def test_a_senseless_retry_after_does_no_harm(service: Service, asked: str) -> None:
    service.steps = [status(429, Retry_After=asked.encode().decode("latin-1")), well]
    service.openai().embed(["hello"])
    assert 0 <= service.waits[0] <= 1


def test_two_server_errors_and_then_an_answer_is_an_answer(service: Service) -> None:
    service.steps = [status(500), status(502), well]
    np.testing.assert_allclose(service.openai().embed(["hello"]), expected(["hello"]), rtol=1e-6)
    assert len(service.waits) == 2
    assert 0.2 <= service.waits[0] <= 0.8 and 0.4 <= service.waits[1] <= 1.6


def test_three_server_errors_are_enough(service: Service) -> None:
    service.steps = [status(500)]
    assert "500" in trouble_of(service.openai()).message
    assert len(service.asked) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 422])
def test_a_refusal_stops_at_once(service: Service, code: int) -> None:
    service.steps = [status(code, f"your key {KEY} or your request is wrong")]
    assert str(code) in trouble_of(service.openai()).message
    assert len(service.asked) == 1
    assert service.waits == []


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_is_not_shown_even_in_part(service: Service, code: int) -> None:
    service.steps = [status(code, f"Incorrect API key provided: {KEY[:12]}****")]
    assert KEY[:12] not in trouble_of(service.openai()).message


def test_a_spent_quota_is_not_tried_again(service: Service) -> None:
    service.steps = [status(429, "insufficient_quota")]
    trouble_of(service.openai())
    assert len(service.asked) == 1


def at_most(limit: int, code: int, message: str) -> Step:
    def step(handler: Handler, body: dict[str, Any]) -> None:
        if sum(map(len, body["input"])) > limit:
            handler.reply(code, {"error": message})
        else:
            well(handler, body)

    return step


@pytest.mark.parametrize(
    ("code", "message"),
    [(413, ""), (400, "This model's maximum context length is 8192 tokens"), (422, "batch size 4 > maximum allowed 2")],
)
def test_a_batch_that_is_too_large_is_halved(service: Service, code: int, message: str) -> None:
    service.steps = [at_most(25, code, message)]
    texts = [f"number {number:03}" for number in range(9)]
    np.testing.assert_allclose(service.openai().embed(texts), expected(texts), rtol=1e-6)
    assert [len(asked["body"]["input"]) for asked in service.asked] == [9, 4, 2, 2, 5, 2, 3, 1, 2]


def test_a_single_text_that_is_too_long_is_cut_in_half_until_it_fits(service: Service) -> None:
    service.steps = [at_most(300, 400, "the input length exceeds the context length")]
    vectors = service.ollama().embed(["x" * 1000, "short"])
    np.testing.assert_allclose(vectors, expected(["x" * 250, "short"]), rtol=1e-6)


def test_cutting_comes_to_an_end(service: Service) -> None:
    service.steps = [status(413)]
    assert "too long" in trouble_of(service.openai(), ["x" * 100_000]).message
    assert len(service.asked) <= 10
    service.asked.clear()
    trouble_of(service.openai(), ["ab"])
    assert len(service.asked) == 2


def test_vectors_of_another_length_are_refused(service: Service) -> None:
    service.steps = [answer({"data": [{"index": 0, "embedding": [1.0] * (DIMS + 1)}]})]
    assert f"{DIMS + 1} dimensions instead of {DIMS}" in trouble_of(service.openai()).message


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "null", '"x"', "[1]", "1e400", "1" + "0" * 400, "{}"])
def test_numbers_that_are_no_numbers_are_refused(service: Service, bad: str) -> None:
    numbers = ",".join([bad, *["1.0"] * (DIMS - 1)])
    service.steps = [answer(f'{{"data":[{{"index":0,"embedding":[{numbers}]}}]}}'.encode())]
    assert "numbers" in trouble_of(service.openai()).message


def test_a_vector_of_zeros_is_refused(service: Service) -> None:
    service.steps = [answer({"data": [{"index": 0, "embedding": [0.0] * DIMS}]})]
    trouble_of(service.openai())


@pytest.mark.parametrize("body", [b"<html>sign in</html>", b"", b"[" * 200_000, b"\xff\xfe\x00"])
def test_an_answer_that_is_not_json_is_refused(service: Service, body: bytes) -> None:
    service.steps = [answer(body)]
    assert "not JSON" in trouble_of(service.openai()).message


@pytest.mark.parametrize("body", [b"[]", b"null", b"3", b'"x"', b"{}", b'{"data": 3}', b'{"data": [1]}'])
def test_json_of_another_shape_is_refused(service: Service, body: bytes) -> None:
    service.steps = [answer(body)]
    trouble_of(service.openai())
    with pytest.raises(EmbedderUnavailable):
        service.ollama().embed(["hello"])


def half(handler: Handler, body: dict[str, Any]) -> None:
    raw = json.dumps(rows_of(body["input"])).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(raw)))
    handler.end_headers()
    handler.wfile.write(raw[: len(raw) // 2])


def hang_up(handler: Handler, _: dict[str, Any]) -> None:
    handler.connection.close()


@pytest.mark.parametrize("step", [half, hang_up])
def test_a_broken_connection_is_tried_again(service: Service, step: Step) -> None:
    service.steps = [step, well]
    np.testing.assert_allclose(service.openai().embed(["hello"]), expected(["hello"]), rtol=1e-6)
    service.steps = [step]
    assert "connection broke" in trouble_of(service.openai()).message


def test_a_silent_service_is_given_up_on(service: Service) -> None:
    done = threading.Event()

    def say_nothing(*_: Any) -> None:
        done.wait(5)

    service.steps = [say_nothing]
    started = time.monotonic()
    assert "0.1 seconds" in trouble_of(service.openai(timeout_seconds=0.1)).message
    assert time.monotonic() - started < 3
    done.set()


def test_a_dripping_service_is_given_up_on(service: Service) -> None:
    done = threading.Event()

    def drip(handler: Handler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not done.wait(0.02):
            handler.wfile.write(b" ")

    service.steps = [drip]
    started = time.monotonic()
    trouble_of(service.openai(timeout_seconds=0.2))
    assert time.monotonic() - started < 3
    done.set()


def test_a_redirect_is_not_followed(service: Service) -> None:
    service.steps = [status(307, Location=service.url + "/elsewhere")]
    assert "redirects" in trouble_of(service.openai()).message
    assert len(service.asked) == 1


@pytest.mark.parametrize("announced", [True, False])
def test_a_giant_answer_is_cut_off(service: Service, monkeypatch: pytest.MonkeyPatch, announced: bool) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER_BYTES", 1 << 20)
    sent = 0

    def giant(handler: Handler, _: dict[str, Any]) -> None:
        nonlocal sent
        handler.send_response(200)
        if announced:
            handler.send_header("Content-Length", str(1 << 40))
        handler.end_headers()
        for _turn in range(2000):
            handler.wfile.write(b" " * (1 << 16))
            sent += 1 << 16

    service.steps = [giant]
    assert "more than 1 MB" in trouble_of(service.openai()).message
    assert sent < 50 << 20
    assert len(service.asked) == 1


def test_a_service_that_is_not_there_is_reported_at_once(service: Service) -> None:
    embedder = service.openai(base_url="http://127.0.0.1:1/v1")
    assert "cannot be reached" in trouble_of(embedder).message
    assert service.waits == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://host/v1", "host:8080", "http://", "https:///v1", "http://user:pw@host/v1",
        "http://169.254.169.254/latest", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[::ffff:169.254.1.1]/",
        "http://host:99999/", "http://host:0/", "http://ho st/", "http://h\u00f6st/", "http://[::1/",
    ],
)  # fmt: skip
def test_a_base_url_that_may_not_be_called_is_refused_on_opening(url: str) -> None:
    for name in ("openai", "ollama"):
        with pytest.raises(ConfigInvalid) as caught:
            open_embedder(name, options=EmbedOptions(base_url=url, api_key=KEY))
        assert caught.value.hint


def test_an_address_is_refused_by_where_it_leads(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_forbidden", lambda address: str(address) == "127.0.0.1")
    embedder = service.openai(base_url=f"http://localhost:{service.server_port}/v1")
    assert "metadata address" in trouble_of(embedder).message
    assert service.asked == []


def test_a_query_in_the_base_url_is_kept(service: Service) -> None:
    service.openai(base_url=service.url + "/deployments/x/?api-version=1").embed(["hello"])
    assert service.asked[0]["path"] == "/deployments/x/embeddings?api-version=1"


def test_openai_without_a_key_says_which_variable_to_set() -> None:
    with pytest.raises(EmbedderUnavailable) as caught:
        open_embedder("openai", options=EmbedOptions())
    assert "OPENAI_API_KEY" in caught.value.hint


def test_a_service_of_ones_own_needs_no_key(service: Service) -> None:
    service.openai(api_key="").embed(["hello"])
    assert service.asked[0]["key"] is None


@pytest.mark.parametrize("key", ["sk-a\r\nX-Evil: 1", "sk-a b", "sk-\u00fc"])
def test_a_key_that_is_no_key_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(EmbedderUnavailable) as caught:
        open_embedder("openai", options=EmbedOptions(api_key=key))
    assert key not in str(caught.value) and "sk-" not in str(caught.value)


def test_the_key_is_not_in_the_options_as_shown() -> None:
    assert KEY not in repr(EmbedOptions(api_key=KEY))


def test_the_usual_models_are_known_without_asking() -> None:
    openai = open_embedder("openai", options=EmbedOptions(api_key=KEY))
    ollama = open_embedder("ollama", options=EmbedOptions())
    assert openai is not None and ollama is not None
    assert (openai.model, openai.dims) == ("openai/text-embedding-3-small", 1536)
    assert (ollama.model, ollama.dims) == ("ollama/nomic-embed-text", 768)


def test_the_length_of_an_unknown_models_vectors_is_asked_once(service: Service) -> None:
    embedder = service.openai(dims=0)
    assert (embedder.dims, embedder.dims) == (DIMS, DIMS)
    assert len(service.asked) == 1


def test_shortened_vectors_are_asked_for_and_have_their_own_identity(service: Service) -> None:
    embedder = service.openai(model="text-embedding-3-large")
    embedder.embed(["hello"])
    assert service.asked[0]["body"]["dimensions"] == DIMS
    assert embedder.model == f"openai/text-embedding-3-large/{DIMS}"
