"""One JSON request to an embedding service, with patience where patience helps.

Overload, server errors and broken connections are tried again, three times in all; anything that another try cannot
change stops at once. No redirect is followed, no answer is read beyond a bound, addresses where clouds keep their
credentials are refused, and the key appears in no error.
"""

import http.client
import ipaddress
import json
import random
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from recollect.errors import ConfigInvalid, EmbedderUnavailable

TRIES = 3
MAX_ANSWER_BYTES = 64 << 20
MAX_WAIT_SECONDS = 20.0
_FIRST_WAIT_SECONDS = 0.5
_METADATA_V6 = ipaddress.ip_address("fd00:ec2::254")
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_TOO_LONG = re.compile(
    r"too (?:long|large|many)|maximum (?:context|input|allowed|batch|number)|context (?:length|window|size)"
    r"|input length|max(?:imum)?[ _](?:\w+[ _])?tokens|batch size|exceed",
    re.IGNORECASE,
)


class TooLong(Exception):
    """The service says that the input is too long or the batch too large."""


class _TryAgain(Exception):
    def __init__(self, what: str, wait_seconds: float | None = None) -> None:
        super().__init__(what)
        self.wait_seconds = wait_seconds


@dataclass(frozen=True, slots=True)
class Service:
    """Where a service is and how to talk to it."""

    base: SplitResult
    api_key: str = field(repr=False)
    timeout_seconds: float
    sleep: Callable[[float], None] = time.sleep

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The decoded answer. Raises TooLong, or EmbedderUnavailable when it gives up."""
        raw = json.dumps(body).encode("ascii")
        turn = 0
        while True:
            try:
                return self._post_once(path, raw)
            except _TryAgain as trouble:
                turn += 1
                if turn == TRIES:
                    raise EmbedderUnavailable(
                        f"the embedding service at {self.base.netloc} does not answer properly: {trouble}",
                        hint="try again later; keyword search works meanwhile",
                    ) from trouble
                self.sleep(_wait_seconds(turn, trouble.wait_seconds))

    def _post_once(self, path: str, raw: bytes) -> Any:
        deadline = time.monotonic() + self.timeout_seconds
        connection = _connection(self.base, self.timeout_seconds)
        try:
            connection.connect()
            _check_peer(connection.sock)
            connection.request("POST", _target(self.base, path), raw, self._headers())
            answer = connection.getresponse()
            text = _read(connection, answer, deadline)
        except (ConnectionRefusedError, socket.gaierror) as trouble:
            raise EmbedderUnavailable(
                f"the embedding service at {self.base.netloc} cannot be reached: {trouble.strerror}",
                hint="check that it runs and that the base URL is right",
            ) from trouble
        except TimeoutError as trouble:
            raise _TryAgain(f"no answer within {self.timeout_seconds:g} seconds") from trouble
        except (OSError, http.client.HTTPException) as trouble:
            raise _TryAgain(f"the connection broke ({type(trouble).__name__})") from trouble
        finally:
            connection.close()
        return self._judge(answer, text)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        return headers

    def _judge(self, answer: http.client.HTTPResponse, text: bytes) -> Any:
        status = answer.status
        if status == 200:
            try:
                return json.loads(text)
            except (ValueError, RecursionError) as trouble:
                raise _TryAgain("the answer is not JSON") from trouble
        words = self._words(text)
        if status == 413 or (status in (400, 422) and _TOO_LONG.search(words)):
            raise TooLong(words)
        if status in _TRANSIENT and "insufficient_quota" not in words:
            raise _TryAgain(f"status {status}", _retry_after(answer))
        raise self._refusal(status, words)

    def _refusal(self, status: int, words: str) -> EmbedderUnavailable:
        where = f"the embedding service at {self.base.netloc}"
        if 300 <= status < 400:
            return EmbedderUnavailable(
                f"{where} redirects to another address", hint="set the base URL to where the service really is"
            )
        if status in (401, 403):  # its words may repeat part of the key
            return EmbedderUnavailable(f"{where} refuses the key (status {status})", hint="check the API key")
        hint = "check the model's name and the base URL" if status == 404 else "see the service's message"
        return EmbedderUnavailable(f"{where} refuses the request (status {status}): {words}", hint=hint)

    def _words(self, text: bytes) -> str:
        """The start of an error body, on one line, without the key."""
        words = text[:4000].decode("utf-8", "replace")
        if self.api_key:
            words = words.replace(self.api_key, "[key]")
        return "".join(char if char.isprintable() else " " for char in words)[:500]


def parse_base_url(url: str) -> SplitResult:
    """A base URL that may be called; raises ConfigInvalid."""
    hint = "give something like https://host/v1 or http://127.0.0.1:11434"
    try:
        base = urlsplit(url.strip())
        port = base.port
    except ValueError as trouble:
        raise ConfigInvalid("the embedding base URL is not a URL", hint=hint) from trouble
    if base.scheme not in ("http", "https") or not base.hostname or port == 0:
        raise ConfigInvalid("the embedding base URL must be http or https with a host", hint=hint)
    if base.username is not None or base.password is not None:
        raise ConfigInvalid("the embedding base URL holds a user name", hint="give the key as the API key instead")
    if not url.isascii() or any(ord(char) <= 32 for char in url.strip()):
        raise ConfigInvalid("the embedding base URL holds characters that no address has", hint=hint)
    try:
        literal = ipaddress.ip_address(base.hostname)
    except ValueError:
        return base  # a name: where it leads is checked when connected
    if _forbidden(literal):
        raise ConfigInvalid("the embedding base URL is a link-local or metadata address", hint=hint)
    return base


def check_key(key: str) -> str:
    """The key, fit for a header; the standard library's own complaint would show it."""
    key = key.strip()
    if not key.isascii() or any(ord(char) <= 32 or ord(char) == 127 for char in key):
        raise EmbedderUnavailable("the API key holds characters that no key has", hint="set it again, without quotes")
    return key


def _forbidden(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    return address.is_link_local or address == _METADATA_V6


def _check_peer(connected: socket.socket) -> None:
    """Refuses by the address really reached, so no name and no odd spelling gets around it."""
    host = str(connected.getpeername()[0]).partition("%")[0]
    if _forbidden(ipaddress.ip_address(host)):
        raise EmbedderUnavailable(
            "the embedding base URL leads to a link-local or metadata address", hint="set another base URL"
        )


def _connection(base: SplitResult, timeout_seconds: float) -> http.client.HTTPConnection:
    assert base.hostname is not None  # parse_base_url saw to it
    kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
    return kind(base.hostname, base.port, timeout=timeout_seconds)


def _target(base: SplitResult, path: str) -> str:
    return base.path.rstrip("/") + path + (f"?{base.query}" if base.query else "")


def _read(connection: http.client.HTTPConnection, answer: http.client.HTTPResponse, deadline: float) -> bytes:
    """The body, within the bound and the deadline; a server that drips must not hold us longer than one that hangs."""
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        part = answer.read1(1 << 16)
        if not part:
            break
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise EmbedderUnavailable(
                f"the embedding service sent more than {MAX_ANSWER_BYTES >> 20} MB", hint="check the base URL"
            )
        parts.append(part)
    if answer.length:  # read1 ends quietly where the connection was cut
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(parts)


def _wait_seconds(turn: int, asked: float | None) -> float:
    if asked is not None:
        return min(max(asked, 0.0), MAX_WAIT_SECONDS)
    return _FIRST_WAIT_SECONDS * (1 << (turn - 1)) * random.uniform(0.5, 1.5)


def _retry_after(answer: http.client.HTTPResponse) -> float | None:
    """Seconds to wait as the service asks: a number, or a date on the service's own clock."""
    asked = (answer.getheader("Retry-After") or "").strip()
    if not asked:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", asked, re.ASCII):
        return float(asked)
    try:
        until = parsedate_to_datetime(asked)
        told = answer.getheader("Date")
        now = parsedate_to_datetime(told) if told else datetime.now(UTC)
        return (until - now).total_seconds()
    except (ValueError, TypeError):
        return None
