"""What a reader cannot see, made visible; what a store cannot hold, refused.

`visible` is for terminals and for the fences around recalled text: after it no character moves the cursor, reorders or
hides other characters. Newline and tab stay, as does everything that shows itself.
"""

import re

from recollect.errors import InvalidInput

# Controls (with ESC, so ANSI sequences lose their power), soft hyphen, Arabic letter mark, zero-width and bidi
# characters, line and paragraph separators, invisible operators, Hangul fillers, BOM, interlinear marks, tags and
# lone surrogates. The zero-width joiner stays between emoji, where it is part of what one sees.
_UNSEEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![\u2600-\u27bf\U0001f000-\U0001faff\ufe0f])\u200d|\u200d(?![\u2600-\u27bf\u2190-\u21ff\U0001f000-\U0001faff])"
)


def visible(text: str) -> str:
    """`text` with control, zero-width, bidi, escape and tag characters written as escapes such as `\\u202e`."""
    return text if text.isascii() and text.isprintable() else re.sub(_UNSEEN, _escape, text)


def check(text: str, what: str) -> None:
    """Refuse text that cannot be stored faithfully: NUL characters and lone surrogates."""
    if "\x00" in text:
        raise InvalidInput(
            f"{what} contains a NUL character", hint="Remove the NUL bytes; they often mean binary data."
        )
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} is not valid Unicode text (a lone surrogate at character {error.start})",
            hint="Decode the input as UTF-8, with errors='replace' if it is damaged.",
        ) from None


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
