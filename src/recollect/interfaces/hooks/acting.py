"""What a hook does: recall at the start and at a prompt, capture and a summary at the end.

A capture reads what is new in the host's transcript; a host that writes none tells its prompts and answers in the
events themselves. Too much at once goes to the spool, as does everything while the store is busy.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.config import load_settings
from recollect.errors import NotFound, RecollectError
from recollect.files import make_private_folder, write_private
from recollect.interfaces.hooks import spool, status
from recollect.interfaces.hooks.adapters import LEARNED, Happening, shaped, takes_context
from recollect.interfaces.hooks.learning import asked_last, forget_request, learn, remember_request, to_learn
from recollect.memory import Memory
from recollect.types import Session, Turn

START_TOKENS = 1500
PROMPT_TOKENS = 600
BUSY_SECONDS = 1.0
EMBED_MS = 300
MOST_NEW_BYTES = 20_000_000  # half a second of reading
SHORTEST_PROMPT = 12
REPEATED = 200  # recalled ids kept for each session, so that a note is told once
_TRANSCRIPTS = {".jsonl", ".ndjson", ".json", ".zst", ".gz", ".db", ".sqlite", ".vscdb"}


def act(event: Happening) -> str:
    """Does what the event asks for; returns what the host reads."""
    if event.event == "session-start":
        return shaped(event, _at_start(event))
    if event.event == "prompt":
        return shaped(event, _at_prompt(event))
    if event.event == "tool-selection":
        return _at_selection(event)
    if event.event in LEARNED:
        lesson = to_learn(event)
        if lesson is not None:
            _captured_or_spooled(lesson)
        return shaped(event, "")
    _captured_or_spooled(event)
    if event.event == "session-end":
        forget_request(event)
    return shaped(event, "")


# -- recall ------------------------------------------------------------------------------------------------------------


def _at_start(event: Happening) -> str:
    with contextlib.suppress(NotFound), _memory(event, create=False) as memory:
        spool.drain(_capture_if_small)
        current = _session(memory, event)
        _summarise_the_last(memory, current)
        if event.source == "resume":  # the host shows the model what was said, with what we told it then
            return ""
        found = memory.context(budget_tokens=START_TOKENS, except_session=current.uid if current else "")
        _remember_told(event, [item.id for item in found.items], fresh=True)
        status.note(event.agent, event=event.event)
        return found.text
    return ""


def _at_prompt(event: Happening) -> str:
    prompt = asked_in(event.prompt)
    if len(prompt) >= SHORTEST_PROMPT:  # "yes, go on" asks for what was asked before
        remember_request(event, prompt)
    if not event.transcript and event.prompt:
        _captured_or_spooled(event)
    if len(prompt) < SHORTEST_PROMPT or not takes_context(event):
        return ""
    with contextlib.suppress(NotFound), _memory(event, create=False) as memory:
        current = _session(memory, event)
        options: dict[str, Any] = {"sections": ["relevant"], "except_session": current.uid if current else ""}
        found = memory.context(prompt, budget_tokens=PROMPT_TOKENS, told=_told(event), **options)
        if not found.items:
            return ""
        _remember_told(event, [item.id for item in found.items])
        return found.text
    return ""


def _at_selection(event: Happening) -> str:
    """The tools that fit what was asked, for a host that asks which to offer; nothing while usage does not know."""
    from recollect.interfaces.hooks.narrowing import allowed, answer

    request = asked_last(event)
    if not request:
        return ""
    with contextlib.suppress(NotFound), _memory(event, create=False) as memory:
        return answer(allowed(memory, event, request))
    return ""


def asked_in(prompt: str) -> str:
    """The words of a prompt; commands of the host and what we said ourselves are none."""
    from recollect.readers.clean import spoken_by_user

    words = spoken_by_user(prompt[:20_000])
    return "" if words.startswith(("/", "!")) else words


# -- capture -----------------------------------------------------------------------------------------------------------


def _captured_or_spooled(event: Happening) -> None:
    try:
        spool.drain(_capture_if_small)
        _capture_if_small(event)
    except (RecollectError, OSError) as trouble:
        spool.put(event)
        status.note(event.agent, error=str(trouble))


def _capture_if_small(event: Happening) -> None:
    if _new_bytes(event) > MOST_NEW_BYTES:
        spool.put(event, large=True)
    else:
        capture(event)


def capture(event: Happening) -> None:
    """Stores what is new; for the end of a session also its summary."""
    with _memory(event, create=True) as memory:
        if event.key and memory.was_forgotten(event.key, agent=event.agent):
            status.note(event.agent, event=event.event)  # what was forgotten is not brought back
            return
        if event.event in LEARNED:
            learn(memory, event)
        elif event.event == "tool":
            _store_call(memory, event)
        elif event.transcript:
            _read_transcript(memory, event)
        else:
            _store_said(memory, event)
        if event.event in ("session-end", "pre-compact"):
            found = _session(memory, event)
            if found is not None:
                _summarise(memory, found)


def _read_transcript(memory: Memory, event: Happening) -> None:
    path = Path(event.transcript).expanduser()
    if not is_transcript(path):
        status.note(event.agent, event=event.event, error=f"no transcript at {path}")
        return
    memory.index(path, embed=False)
    status.note(event.agent, event=event.event, captured=str(path), size=path.stat().st_size)


def is_transcript(path: Path) -> bool:
    """A file in a form that an agent writes; whatever else a path may name is not ours to read."""
    from recollect.readers import FileReader, Skip, reader_for

    if path.suffix not in _TRANSCRIPTS or not path.is_file():
        return False
    return not isinstance(reader_for(path), Skip | FileReader)


def _store_said(memory: Memory, event: Happening) -> None:
    """For hosts without a transcript: the prompt and the answer as the events have them."""
    prompt, said = asked_in(event.prompt), event.said.strip()
    turns = [
        Turn(speaker, text, record=_record(event, speaker, text))
        for speaker, text in (("user", prompt if event.event == "prompt" else ""), ("assistant", said))
        if text
    ]
    if turns and event.key:
        memory.add_turns(memory.start_session(event.key, agent=event.agent), turns)
        status.note(event.agent, event=event.event, captured=event.key)


def _store_call(memory: Memory, event: Happening) -> None:
    try:
        arguments, result = json.loads(event.arguments or "{}"), json.loads(event.result or "null")
    except ValueError:
        return
    given = arguments if isinstance(arguments, dict) else {"input": arguments}
    found = _session(memory, event)
    kept = memory.capture_call(event.tool, given, result, agent=event.agent, session=found.uid if found else None)
    if kept is not None:
        status.note(event.agent, event=event.event, captured=event.key or event.tool)


def _record(event: Happening, speaker: str, text: str) -> str:
    return f"{speaker}-{event.turn}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _new_bytes(event: Happening) -> int:
    try:
        size = os.stat(Path(event.transcript).expanduser()).st_size if event.transcript else 0  # noqa: PTH116
    except OSError:
        return 0
    return size - status.known_size(event.agent, event.transcript) if size > MOST_NEW_BYTES else 0


# -- sessions ----------------------------------------------------------------------------------------------------------


def _session(memory: Memory, event: Happening) -> Session | None:
    """The session that the host speaks of, if anything of it was captured."""
    if not event.key:
        return None
    return next((found for found in memory.sessions(limit=30) if found.key == event.key), None)


def _summarise_the_last(memory: Memory, current: Session | None) -> None:
    """Hosts may end without a word, so a session that has no summary yet gets one when the next begins."""
    for found in memory.sessions(limit=2):
        if (current is None or found.uid != current.uid) and not found.summary and found.turns:
            _summarise(memory, found)


def _summarise(memory: Memory, session: Session) -> None:
    from recollect.summary import summarise

    summary = summarise(memory.turns(session))
    if summary:
        memory.end_session(session, summary=summary)


def _memory(event: Happening, *, create: bool) -> Memory:
    settings = load_settings()
    busy = min(settings.busy_timeout_seconds, BUSY_SECONDS)
    settings = replace(
        settings, busy_timeout_seconds=busy, search_deadline_ms=min(settings.search_deadline_ms, EMBED_MS)
    )
    return Memory(settings=settings, folder=event.folder, actor=event.agent, create=create)


# -- what this session was told already --------------------------------------------------------------------------------


def _told_file(event: Happening) -> Path:
    return status.folder() / "told" / f"{hashlib.sha256(f'{event.agent} {event.key}'.encode()).hexdigest()[:24]}.json"


def _told(event: Happening) -> list[str]:
    try:
        found = json.loads(_told_file(event).read_bytes())
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _remember_told(event: Happening, ids: list[str], *, fresh: bool = False) -> None:
    if event.key and (ids or fresh):
        known = [] if fresh else _told(event)
        with contextlib.suppress(RecollectError):
            make_private_folder(status.folder() / "told")
            write_private(_told_file(event), json.dumps([*known, *ids][-REPEATED:]))
