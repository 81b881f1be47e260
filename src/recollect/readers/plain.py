"""Markdown, text and source files: decoded whole, or refused with a reason. Nothing is guessed."""

import codecs
from pathlib import Path

from recollect.readers.contract import Skip, Text
from recollect.readers.paths import MAX_FILE_BYTES, open_safely

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark begins the same way
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Some bytes that are no UTF-8 mean another encoding; many mean that it is no text at all.
_FEW = 0.1
_BINARY = "binary file"
_OTHER_ENCODING = "neither UTF-8 nor UTF-16 with a byte order mark"


class FileReader:
    name = "file"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the beginning of a file looks like text, in whatever encoding."""
        return _why_not_text(head) != _BINARY

    def read(self, path: Path, *, max_bytes: int = MAX_FILE_BYTES, root: Path | None = None) -> Text | Skip:
        """The file's text; a file over `max_bytes` is refused, never cut."""
        with open_safely(path, path.parent if root is None else root) as stream:
            content = stream.read(max_bytes + 1)
        if len(content) > max_bytes:
            return Skip("larger than the cap")
        return decode(content)


def decode(content: bytes) -> Text | Skip:
    encoding = _marked_encoding(content) or "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return Skip(_why_not_text(content) or _OTHER_ENCODING)
    if "\x00" in text:
        return Skip(_BINARY)
    return Text(text, encoding.removesuffix("-sig"))


def _why_not_text(content: bytes) -> str:
    """Nothing for text, else the reason. A head may end in the middle of a character: that makes nothing binary."""
    if _marked_encoding(content):
        return ""
    if b"\x00" in content:
        return _BINARY
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        odd = content.decode("utf-8", "replace").count("\ufffd")
        controls = sum(content.count(byte) for byte in range(1, 9))
        return _BINARY if odd + controls > _FEW * len(content) else _OTHER_ENCODING
    return ""


def _marked_encoding(content: bytes) -> str:
    return next((name for mark, name in _BOMS if content.startswith(mark)), "")
