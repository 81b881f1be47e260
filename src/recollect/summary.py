"""A session in a few lines, without a model: what was asked, decided and changed, which files, what is open. Pure.

Sentences are taken as they were said, by the person and the assistant only; nothing is made up, and what a tool or a
web page put into the conversation does not count.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from recollect.text.classify import kind_of, title_of
from recollect.text.tokens import terms
from recollect.types import TRUSTED_ORIGINS, Session, Turn

LONGEST_SENTENCE = 240
MOST_TEXT = 200_000  # characters of a session that are looked at, half from each end

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKS = re.compile(r"^[\s>#*+\-\d.)\[\]x]*")
_PATH = re.compile(r"(?<![\w:/@.])(?:\.{0,2}/)?(?:[\w.-]{1,60}/){1,12}[\w.-]{1,80}|\b[\w-]{1,60}\.(?:py|ts|tsx|js|jsx|go|rs|java|kt|rb|c|h|cpp|cs|sql|md|toml|yaml|yml|json|sh|html|css)\b")  # noqa: E501  # fmt: skip
_OPEN = re.compile(r"\b(?:to-?do|fixme|next steps?|still (?:need|fail|open|missing)|remaining|not yet|left to do|open question|follow-?up)\b", re.IGNORECASE)  # noqa: E501  # fmt: skip
_DONE = {"bugfix", "feature", "refactor", "change"}
_DID = re.compile(r"\b(?:fixed|added|created|refactored|restructured|changed|updated|modified|removed|renamed|moved|implemented|replaced|wrote|merged)\b", re.IGNORECASE)  # noqa: E501  # fmt: skip


def line_of(session: Session, first: Sequence[Turn]) -> str:
    """What a list of sessions says of one: a line of its summary, else its title, else the first words in it."""
    if session.summary or session.title:
        return title_of(session.summary, 120) or session.title
    said = sorted(first, key=lambda turn: turn.origin != "user")
    return title_of(said[0].text, 120) if said else ""


def summarise(turns: Sequence[Turn]) -> str:
    """One line for each thing that there is something to say about; "" for a session in which nothing was said."""
    spoken = [turn for turn in _ends(turns) if turn.origin in TRUSTED_ORIGINS and turn.text.strip()]
    person = [turn for turn in spoken if turn.origin == "user"]
    agent = [turn for turn in spoken if turn.origin != "user"]
    if not person and not agent:
        return ""
    asked = _distinct(_first_sentence(turn.text) for turn in ([person[0], *person[-2:]] if person else []))
    said = [sentence for turn in spoken for sentence in sentences(turn.text)]
    decided = [sentence for sentence in said if kind_of(terms(sentence)) == "decision" and not sentence.endswith("?")]
    changed = [sentence for turn in agent for sentence in sentences(turn.text) if _DID.search(sentence)]
    opened = [sentence for sentence in said if _OPEN.search(sentence)]
    opened += [sentence for sentence in sentences(agent[-1].text) if sentence.endswith("?")] if agent else []
    parts = [
        ("Asked", asked[:3]), ("Decided", _distinct(decided)[-4:]), ("Changed", _distinct(changed)[-4:]),
        ("Files", files_in(spoken)), ("Open", _distinct(opened)[-3:]),
    ]  # fmt: skip
    return "\n".join(f"{name}: {(', ' if name == 'Files' else ' | ').join(found)}" for name, found in parts if found)


def sentences(text: str) -> list[str]:
    """Sentences and list items without their marks; code is left out."""
    plain = _CODE_BLOCK.sub("\n", text)
    found = (_MARKS.sub("", part, count=1).strip().strip("*_`") for part in _SENTENCE.split(plain))
    return [sentence[:LONGEST_SENTENCE] for sentence in found if len(sentence) >= 12 and " " in sentence]


def files_in(turns: Iterable[Turn], most: int = 10) -> list[str]:
    """The paths that were named most often."""
    counted: Counter[str] = Counter()
    for turn in turns:
        counted.update({match[0].strip(".") for match in _PATH.finditer(turn.text) if "." in match[0]})
    return [path for path, _ in counted.most_common(most)]


def _ends(turns: Sequence[Turn]) -> list[Turn]:
    """The turns, without the middle of a very long session."""
    room = MOST_TEXT // 2
    first: list[Turn] = []
    for turn in turns:
        room -= len(turn.text)
        if room < 0:
            break
        first.append(turn)
    room = MOST_TEXT // 2
    last: list[Turn] = []
    for turn in reversed(turns[len(first) :]):
        room -= len(turn.text)
        if room < 0:
            break
        last.append(turn)
    return [*first, *reversed(last)]


def _first_sentence(text: str) -> str:
    found = sentences(text)
    return found[0] if found else " ".join(text.split())[:LONGEST_SENTENCE]


def _distinct(found: Iterable[str]) -> list[str]:
    return [sentence for sentence in dict.fromkeys(found) if sentence]
