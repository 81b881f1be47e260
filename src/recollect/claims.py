"""What a note claims: of whom, in which respect, and which value; and which notes claim another value of the same.

Pure and without a model: a sentence is read by the shape of its words. The result is a list of candidates, each with a
score and its reasons, for a person or an agent to decide. Nothing here decides.

    "Ana works at Acme"        (ana, work, acme)
    "Ana left Acme for Globex" (ana, work, globex; was acme)
    "I switched to helix"      (self, use, helix; changed)
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from recollect.text.tokens import query_terms
from recollect.types import USER_SPACE, Note
from recollect.values import value

SELF = "§self"
SENTENCES = 6
LONGEST = 300
MOST_WORDS_OF_A_VALUE = 10
LEAST_SCORE = 0.5
UNTRUSTED = 0.2
MOST_OF_A_SUBJECT = 200  # the newest so many are compared with each other

# family: patterns over a sentence without its negation. Whom it is about stands before, `v` is the value, `o` what it
# was before.
_VERBS: tuple[tuple[str, str], ...] = (
    ("work", r"\b(?:left|quit)\s+(?P<o>.+?)\s+(?:for|to join|and joined|and now works (?:at|for))\s+(?P<v>.+)"),
    ("work", r"\b(?:works?|working|is employed|am employed|employed)\s+(?:now\s+)?(?:at|for|by)\s+(?P<v>.+)"),
    ("work", r"\b(?:joined|joins|starte?d?s? (?:working |work |a (?:new )?job |a (?:new )?position )?at|"
             r"(?:got|took|has|have|accepted) a (?:new )?(?:job|position|role) (?:at|with))\s+(?P<v>.+)"),
    ("work", r"\b(?:changed|switched|moved) (?:jobs?|employers?)(?: from (?P<o>.+?))? to\s+(?P<v>.+)"),
    ("home", r"\b(?:moved|relocated)\s+(?:house\s+)?(?:away\s+)?from\s+(?P<o>.+?)\s+to\s+(?P<v>.+)"),
    ("home", r"\b(?:lives?|living|resides?|is based|am based|are based|settled)\s+(?:now\s+)?in\s+(?P<v>.+)"),
    ("home use", r"\b(?:moved|moving|relocated|relocating)\s+(?:over\s+)?(?:house\s+)?to\s+(?P<v>.+)"),
    ("use", r"\b(?:switched|changed|migrated|moved)\s+(?:over\s+)?from\s+(?P<o>.+?)\s+to\s+(?P<v>.+)"),
    ("use", r"\b(?:switched|migrated|changed|converted|upgraded)\s+(?:over\s+|back\s+)?to\s+(?:using\s+)?(?P<v>.+)"),
    ("use", r"\b(?:replaced|swapped|dropped|ditched)\s+(?P<o>.+?)\s+(?:with|by|for|in favou?r of)\s+(?P<v>.+)"),
    ("use", r"\b(?:chose|chooses|picked|selected|adopted|adopts|went with|decided on|settled on|"
            r"decided to (?:use|adopt|go with))\s+(?P<v>.+)"),
    ("use", r"\b(?:uses?|using)\s+(?P<v>.+)"),
    ("prefer", r"\b(?:prefers?|preferred|favou?rs?)\s+(?P<v>.+)"),
    ("prefer", r"\b(?:likes?|loves?|enjoys?)\s+(?P<v>.+)"),
    ("dislike", r"\b(?:dislikes?|hates?|can't stand|avoids?)\s+(?P<v>.+)"),
    ("reports", r"\breports?\s+(?:now\s+)?to\s+(?P<v>.+)"),
    ("partner", r"\b(?:is|am|got)\s+(?:married|engaged)\s+to\s+(?P<v>.+)"),
    ("partner", r"\b(?:is|am)\s+(?:dating|seeing)\s+(?P<v>.+)"),
    ("drive", r"\b(?:drives?|rides?|commutes? (?:by|with))\s+(?P<v>.+)"),
    ("study", r"\b(?:studies|is studying|am studying|studied)\s+(?P<v>.+)"),
    ("bank", r"\b(?:banks?)\s+(?:with|at)\s+(?P<v>.+)"),
)  # fmt: skip
_ENDED = re.compile(r"\b(?:left|quit)\s+(?P<v>.+)", re.IGNORECASE)
_IS = re.compile(r"^(?P<s>.+?)(?:\s+(?:is|are|was|=|became|becomes|is now|changed to|moved to)\s+|:\s+)(?P<v>.+)", re.I)
_PATTERNS = tuple(
    (tuple(families.split()), re.compile(verb, re.IGNORECASE)) for families, verb in _VERBS
)
SINGLE = frozenset({"work", "home", "reports", "partner"})  # one has one of these at a time
_CHANGED = re.compile(
    r"\b(?:now|switched|moved|migrated|changed|relocated|replaced|swapped|dropped|ditched|instead|no longer|joined|"
    r"left|quit|new|anymore|any more|these days|from now on|as of|stopped|started)\b", re.IGNORECASE,
)  # fmt: skip
_NOT = re.compile(
    r"\b(?:no longer|not anymore|any ?more|doesn't|does not|don't|do not|isn't|is not|aren't|stopped|has stopped|"
    r"gave up(?: on)?|never)\b\s*", re.IGNORECASE,
)  # fmt: skip
_GONE = re.compile(r"\b(?:no longer|any ?more|stopped|gave up)\b", re.IGNORECASE)
_CUT = re.compile(
    r"[,;(\[—–]|\s+-\s+|(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)\.\s|"
    r"\s(?:because|since|after|before|but|while|until|when|where|which|who|so that|as of|"
    r"instead|these days|any ?more|again|now|today|starting|from now on|full[- ]time|part[- ]time|"
    r"(?:in|since|from) (?:(?:19|20)\d\d|january|february|march|april|may|june|july|august|september|october|november|"
    r"december)|(?:last|this|next) (?:week|month|year|spring|summer|autumn|fall|winter))\b", re.IGNORECASE,
)  # fmt: skip
_OVER = re.compile(r"\s(?:over|instead of|rather than|to(?= \w+$))\s", re.IGNORECASE)
_FOR = re.compile(r"\s(?:for|as|to)\s", re.IGNORECASE)
_WHOSE = re.compile(r"['’]s\b")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)\s+|\n+")
_CLAUSE = re.compile(r"[,;]|\s+(?:and|but|so)\s+", re.IGNORECASE)
_LEFT = re.compile(r"\b(?:left|quit|stopped using|dropped)\s+([^,;]+?)(?:\s+and\b|[,;]|$)", re.IGNORECASE)
_WITH = re.compile(r"\s(?:with|in|on|at|during)\s", re.IGNORECASE)
_ADVERBS = re.compile(
    r"\b(?:now|currently|still|recently|just|also|finally|today|has|have|had|is|are|am|was|will|already|mostly|usually|"
    r"generally|always|often|since|last|this|next|week|month|year|the|a|an|that|as of|then|and|so|in|on|by|new|"
    r"he|she|they|it|says?|said|told us|mentioned)\b", re.IGNORECASE,
)  # fmt: skip
_I = re.compile(r"\b(?:i|i'm|i've|im|me|my|mine|we|we're|we've|us|our|ours|the user|user|user's)\b", re.IGNORECASE)
_ATTRIBUTES = frozenset(query_terms(
    "name address phone number email deadline manager boss lead owner port version url host password colour color size "
    "day date time budget price cost plan limit timeout favourite favorite title role job status stack language "
    "database framework editor theme birthday age weight height team city country office doctor dentist bank car diet "
    "partner wife husband roommate landlord rent salary pet hobby instrument provider region branch standard format"
))  # fmt: skip
_NUMBER = re.compile(r"\d")
_NAME = re.compile(r"^(?:[A-Z][\w'&.-]*)(?:\s+(?:of|the|de|[A-Z0-9][\w'&.-]*))*$")
_STOPPED = frozenset({"i", "the", "my", "is", "a", "an", "at", "in", "as", "of", "to"})  # a word alone is its own term
_DAYS = frozenset(query_terms("monday tuesday wednesday thursday friday saturday sunday"))


@value
class Claim:
    """What one sentence says. `said` is the value in its own words, `before` what it replaced, `topic` what for."""

    subject: frozenset[str]
    families: tuple[str, ...]
    value: frozenset[str]
    said: str
    before: frozenset[str] = frozenset()
    topic: frozenset[str] = frozenset()
    changed: bool = False
    denied: bool = False
    words: tuple[str, ...] = ()


@value
class Judged:
    """How far two claims speak of the same and differ; `subject` and values in words, for whoever decides."""

    score: float
    subject: str
    older: str
    newer: str
    reasons: tuple[str, ...]


@lru_cache(maxsize=16_384)
def claims(text: str) -> tuple[Claim, ...]:
    """Every claim of the first sentences of a text; a sentence that fits no shape is kept by its words alone."""
    found = []
    for sentence in _SENTENCE.split(text.strip())[:SENTENCES]:
        plain = " ".join(sentence[:LONGEST].split()).rstrip(".! ")
        if plain and not plain.endswith("?"):
            found.append(_claim(plain))
    return tuple(found)


def _claim(sentence: str) -> Claim:
    changed = _CHANGED.search(sentence) is not None
    denied = _NOT.search(sentence) is not None
    positive = " ".join(_NOT.sub("", sentence).split()) if denied else sentence
    words = tuple(sentence.split())
    for families, pattern in _PATTERNS:
        if match := pattern.search(positive):
            whom, groups = positive[: match.start()], match.groupdict()
            return _made(whom, families, groups["v"], groups.get("o") or "", changed, denied, words)
    if match := _ENDED.search(positive):
        return _made(positive[: match.start()], ("work", "use"), match["v"], "", True, True, words)
    if match := _IS.match(positive):
        return _made(match["s"], ("is",), match["v"], "", changed, denied, words)
    return Claim(frozenset(), (), frozenset(), "", changed=changed, denied=denied, words=words)


def _made(
    whom: str, families: tuple[str, ...], what: str, before: str, changed: bool, denied: bool, words: tuple[str, ...]
) -> Claim:
    said = _CUT.split(f"{what} ", maxsplit=1)[0].strip()
    other = topic = ""
    if families != ("is",):
        said, other = _parted(_OVER, said)
        said, topic = _parted(_FOR, said)
    if "prefer" in families:
        said, _ = _parted(_WITH, said)
    if not before and (left := _LEFT.search(whom)):
        before = left[1]
    return Claim(
        subject_of(whom), families, _terms(said), said, before=_terms(before or other), topic=_terms(topic),
        changed=changed, denied=denied, words=words,
    )  # fmt: skip


def _parted(at: re.Pattern[str], text: str) -> tuple[str, str]:
    match = at.search(text)
    return (text, "") if match is None else (text[: match.start()].strip(), text[match.end() :].strip())


@lru_cache(maxsize=8192)
def _terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(text)) if text.strip() else frozenset()


def subject_of(words: str) -> frozenset[str]:
    """Whom a sentence is about, as terms; whoever writes of themselves, or of nobody by name, is one and the same."""
    last = _CLAUSE.split(words)[-1]
    bare = _WHOSE.sub(" ", last if last.strip() else words)
    own = _I.search(bare) is not None
    rest = _ADVERBS.sub(" ", _I.sub(" ", bare))
    found = _terms(rest) if re.search(r"\w", rest) else frozenset()
    return found if found and not own else found | {SELF}


# -- two claims --------------------------------------------------------------------------------------------------------


def judge(older: Claim, newer: Claim) -> Judged | None:
    """Whether the newer claim gives another value to what the older one speaks of; None if they do not meet."""
    families = set(older.families) & set(newer.families)
    if {"prefer", "dislike"} == set(older.families) | set(newer.families):
        return _taste(older, newer)
    if not families or not _same_subject(older, newer) or not older.value or not newer.value:
        return None
    if newer.denied or older.denied:
        return _denied(older, newer)
    if _long(older) or _long(newer) or older.value <= newer.value or newer.value <= older.value:
        return None
    score, reasons = _respect(older, newer, families)
    if score and newer.before and newer.before & older.value:
        score, reasons = 0.95, [*reasons, f"the newer one names what it replaced: {older.said}"]
    elif score and newer.changed:
        score, reasons = score + 0.05, [*reasons, "the newer one speaks of a change"]
    return _told(min(score, 1.0), older, newer, reasons) if score else None


def _long(claim: Claim) -> bool:
    return len(claim.said.split()) > MOST_WORDS_OF_A_VALUE


def _same_subject(older: Claim, newer: Claim) -> bool:
    """Equal, or one the longer name of the other: Ana and Ana Lopez, the password and our wifi password."""
    one, other = older.subject - {SELF}, newer.subject - {SELF}
    if older.subject == newer.subject:
        return True
    return len(one & other) >= (2 if "is" in older.families else 1) and (one <= other or other <= one)


def _told(score: float, older: Claim, newer: Claim, reasons: Iterable[str]) -> Judged:
    if older.subject != newer.subject:
        score -= 0.1
    about = " ".join(sorted(term.replace(SELF, "self") for term in older.subject & newer.subject))
    return Judged(round(score, 3), about, older.said, newer.said, (f"same subject: {about}", *reasons))


def _denied(older: Claim, newer: Claim) -> Judged | None:
    """One says that something is so, the other that it is not."""
    if older.denied == newer.denied or not (older.value <= newer.value or newer.value <= older.value):
        return None
    gone = any(_GONE.search(" ".join(claim.words)) or "left" in claim.words for claim in (older, newer))
    return _told(0.85 if gone else 0.75, older, newer, ["one says that it is so, the other that it is not"])


def _taste(older: Claim, newer: Claim) -> Judged | None:
    same = older.value == newer.value and _same_subject(older, newer)
    return _told(0.8, older, newer, ["liked in one, disliked in the other"]) if same and older.value else None


def _respect(older: Claim, newer: Claim, families: set[str]) -> tuple[float, list[str]]:
    """In which respect the two speak of the same, and how sure that is."""
    if families & SINGLE:
        name = sorted(families & SINGLE)[0]
        return 0.85, [f"one has one of these at a time: {name}"]
    if "is" in families:
        return _attribute(older, newer)
    topics = older.topic & newer.topic
    if topics:
        return 0.85, [f"for the same: {' '.join(sorted(topics))}"]
    if older.topic and newer.topic:
        return 0.0, []
    shared = _terms(older.said.split()[-1]) & _terms(newer.said.split()[-1])
    if shared:
        return 0.7, [f"values of one kind: both speak of {' '.join(sorted(shared))}"]
    if newer.before and newer.before & older.value:
        return 0.9, []
    if newer.changed and "use" in families:
        return 0.55, ["same verb"]
    return 0.4, ["same verb"]


def _attribute(older: Claim, newer: Claim) -> tuple[float, list[str]]:
    named = older.subject & _ATTRIBUTES
    if named:
        return 0.85, [f"the same attribute: {' '.join(sorted(named))}"]
    shape = _shape(older.said)
    if shape and shape == _shape(newer.said):
        return 0.75, [f"both values are {shape}"]
    return (0.55 if len(older.subject) > 1 else 0.3), ["the same is said to be two things"]


def _shape(said: str) -> str:
    found = _terms(said)
    if _NUMBER.search(said):
        return "numbers"
    if found & _DAYS:
        return "days"
    return "names" if _NAME.match(said) else ""


def differ(older: Claim, newer: Claim) -> Judged | None:
    """Two sentences that are the same but for one place: "the server listens on 8080" and "… on 9090"."""
    one, other = _settled(older.words), _settled(newer.words)
    low_one, low_other = [word.casefold() for word in one], [word.casefold() for word in other]
    head = _common(low_one, low_other)
    tail = _common(low_one[head:][::-1], low_other[head:][::-1])
    middle_one, middle_other = one[head : len(one) - tail], other[head : len(other) - tail]
    longest = max(len(one), len(other))
    shared = (head + tail) / longest if longest else 0.0
    if not middle_one or not middle_other or max(len(middle_one), len(middle_other)) > 4 or shared < 0.5:
        return None
    around = _terms(" ".join((*one[:head], *one[len(one) - tail :])))
    left, right = " ".join(middle_one).strip(".,;:!"), " ".join(middle_other).strip(".,;:!")
    if len(around) < (2 if shared < 0.75 else 1) or not _terms(left) or not _terms(right):
        return None
    if _terms(left) == _terms(right):
        return None
    shape = _shape(left)
    score = 0.3 + 0.4 * shared + (0.15 if shape and shape == _shape(right) else 0.0)
    if _terms(left) & _terms(right):  # more likely the same in other words
        score -= 0.15
    reasons = (f"the same words but for one place: {left} / {right}",)
    return Judged(round(min(score, 0.9), 3), " ".join(sorted(around)), left, right, reasons)


def _settled(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without a last "now", which says that something changed and not what."""
    return words[:-1] if words and words[-1].casefold().strip(".,!") in ("now", "today", "again", "instead") else words


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


# -- many notes --------------------------------------------------------------------------------------------------------


@value
class Contradiction:
    """Two notes that give different values to the same: `newer` may supersede `older`, if somebody says so."""

    older: Note
    newer: Note
    score: float
    subject: str
    was: str
    now: str
    reasons: tuple[str, ...]


def true_from(note: Note) -> int:
    return note.created_ms if note.valid_from_ms is None else note.valid_from_ms


def contradictions(
    notes: Iterable[Note], least: float = LEAST_SCORE, only: str | None = None
) -> list[Contradiction]:
    """Candidates, the surest first. Events do not contradict each other: both happened. Of each older note only the
    surest newer one is named, and of equals the newest. `only` is the uid of a note that must be one of the two."""
    ordered = sorted((note for note in notes if note.kind != "event"), key=lambda note: (true_from(note), note.id))
    best: dict[int, tuple[Judged, int]] = {}
    for old, new in _pairs(ordered):
        if only is not None and only not in (ordered[old].uid, ordered[new].uid):
            continue
        found = _trusting(between(ordered[old].content, ordered[new].content), ordered[old], ordered[new])
        if found is not None and found.score >= least:
            known = best.get(old)
            if known is None or (found.score, new) > (known[0].score, known[1]):
                best[old] = (found, new)
    made = [
        Contradiction(ordered[old], ordered[new], one.score, one.subject, one.older, one.newer, one.reasons)
        for old, (one, new) in best.items()
    ]
    return sorted(made, key=lambda one: (-one.score, -true_from(one.newer), one.older.id))


def _trusting(found: Judged | None, older: Note, newer: Note) -> Judged | None:
    """What a page or a tool says weighs less against what a person or an agent said, and it is told."""
    if found is None or newer.trusted or not older.trusted:
        return found
    reasons = (*found.reasons, f"the newer one is not trusted: it comes from {newer.origin}")
    return replace(found, score=round(max(0.0, found.score - UNTRUSTED), 3), reasons=reasons)


def between(older: str, newer: str) -> Judged | None:
    """The strongest difference between two texts."""
    found = [
        judged for one in claims(older) for other in claims(newer) if (judged := _compared(one, other)) is not None
    ]
    return max(found, key=lambda judged: judged.score, default=None)


def frame(older: str, newer: str) -> str:
    """The words of the older text that say what both are about, and that the newer one lacks: who asks where somebody
    works shall find "left Acme for Globex". Nothing where it is not clear what the value is."""
    found = between(older, newer)
    if found is None:
        return ""
    known = _terms(found.older) | _terms(newer)
    words = (word.strip(".,;:!?()\"'") for word in older.split()[:40])
    return " ".join(dict.fromkeys(word for word in words if word and not _terms(word) <= known | _STOPPED))


def _compared(older: Claim, newer: Claim) -> Judged | None:
    """Where a verb is known, its rule decides; else, and for a bare "is", so does the likeness of the words."""
    judged = judge(older, newer)
    if set(older.families) & set(newer.families) - {"is"}:
        return judged
    other = differ(older, newer)
    return max((one for one in (judged, other) if one is not None), key=lambda one: one.score, default=None)


def _pairs(notes: Sequence[Note]) -> Iterator[tuple[int, int]]:
    """Places (older, newer) of notes that speak of the same, each pair once: of one space, or one of the user's own."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, note in enumerate(notes):
        for key in {key for claim in claims(note.content) for key in _keys(claim)}:
            groups[key].append(at)
    seen: set[tuple[int, int]] = set()
    for group in groups.values():
        newest = group[-MOST_OF_A_SUBJECT:]
        for place, new in enumerate(newest):
            for old in newest[:place]:
                spaces = {notes[old].space, notes[new].space}
                if (old, new) not in seen and (len(spaces) == 1 or USER_SPACE in spaces):
                    seen.add((old, new))
                    yield old, new


def _keys(claim: Claim) -> Iterator[tuple[str, ...]]:
    """What another claim must share to be looked at: whom it is about and how, or how its sentence begins and ends."""
    for family in claim.families:
        for term in claim.subject:
            yield ("taste" if family in ("prefer", "dislike") else family, term)
    words = query_terms(" ".join(claim.words))
    if len(words) == 2:
        yield from (("short", word) for word in words)
    if len(words) >= 3 and len(claim.words) <= 40:
        yield ("begins", *words[:2])
        yield ("ends", *words[-2:])
        yield ("around", words[0], words[-1])
