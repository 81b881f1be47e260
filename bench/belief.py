"""A year of one person's facts that change, told to a memory by an agent: does it know what is true now, and then?

    python bench/belief.py [--out file.json]

Every note comes on its day. When one changes what is known, the agent asks which notes it contradicts, and supersedes
the one that is no longer true; if it is not among the candidates, it looks for it by a search. At the end of the year
each question is asked as of now, and as of the middle of the time that each earlier value was true. The same is done
without upkeep: nothing is superseded. Questions name their subject: what is measured is belief and time, not
paraphrase.

    current_first       of 100 questions, how often the value of now is the first hit
    as_of               of 100 questions about an earlier time, how often the value of then is the first hit
    superseded_leaks    hits of the questions about now, in searches of ten and in contexts, that are no longer true
"""

import argparse
import itertools
import json
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect import Memory, Note, __version__
from recollect.config import load_settings

YEAR = 2026
# subject: questions, then what was said on which day (month, day)
FACTS: dict[str, tuple[tuple[str, ...], tuple[tuple[int, int, str], ...]]] = {
    "job": (("Where do I work?", "Which company do I work for?"), (
        (1, 5, "I work at Northwind as a data engineer."),
        (6, 1, "I left Northwind, now I work at Contoso."),
    )),
    "city": (("Which city do I live in?", "Where do I live?"), (
        (1, 6, "I live in Leipzig, in a small flat near the park."),
        (4, 12, "I moved from Leipzig to Porto."),
        (10, 3, "I moved from Porto to Ghent for good."),
    )),
    "editor": (("Which editor do I use?", "What do I edit code with?"), (
        (1, 7, "I use vim as my editor."),
        (3, 20, "I switched from vim to helix as my editor."),
        (9, 14, "I switched to zed as my editor."),
    )),
    "shell": (("Which shell do I use in the terminal?",), (
        (1, 8, "My terminal shell is zsh."),
        (5, 2, "My terminal shell is fish now."),
    )),
    "laptop": (("What laptop do I have?", "Which laptop do I use?"), (
        (1, 9, "My laptop is a ThinkPad X1."),
        (7, 7, "My laptop is a Framework 13 now, the old one went to my niece."),
    )),
    "phone": (("What is my phone number?",), (
        (1, 10, "My phone number is 555-0143."),
        (8, 21, "My phone number is 555-0178 since the move."),
    )),
    "manager": (("Who is my manager?", "Whom do I report to?"), (
        (1, 11, "My manager is Ingrid."),
        (6, 2, "My manager is Teodor."),
        (11, 10, "My manager is Salome after the reorganisation."),
    )),
    "standup": (("When is the team standup?", "What time do we meet for standup?"), (
        (1, 12, "The team standup is at 9:30."),
        (3, 3, "The team standup is at 10:15."),
    )),
    "deploys": (("On which day do we deploy?", "When do deploys happen?"), (
        (1, 13, "Deploys happen on Thursdays."),
        (5, 19, "Deploys happen on Tuesdays."),
        (9, 30, "Deploys happen on Mondays."),
    )),
    "billing": (("Which database did we choose for billing?",), (
        (1, 14, "We chose MySQL for billing."),
        (4, 22, "We chose PostgreSQL for billing, MySQL is retired."),
    )),
    "queue": (("What does the job queue run on?",), (
        (1, 15, "The job queue runs on Redis."),
        (8, 5, "The job queue runs on NATS."),
    )),
    "ci": (("Which CI do we use for the builds?", "Where do the builds run?"), (
        (1, 16, "We use Jenkins for the builds."),
        (3, 9, "We migrated from Jenkins to Buildkite for the builds."),
    )),
    "region": (("Which cloud region are we in?",), (
        (1, 17, "Our cloud region is eu-west-1."),
        (7, 28, "Our cloud region is eu-central-1."),
    )),
    "limit": (("What is the API rate limit?", "How many requests per minute does the API allow?"), (
        (1, 18, "The API rate limit is 100 requests per minute."),
        (4, 4, "The API rate limit is 250 requests per minute."),
        (10, 20, "The API rate limit is 600 requests per minute."),
    )),
    "tea": (("What is my favourite tea?",), (
        (1, 19, "My favourite tea is oolong."),
        (6, 18, "My favourite tea is genmaicha."),
    )),
    "theme": (("Do I prefer light or dark mode?", "Which mode do I prefer in programs?"), (
        (1, 20, "I prefer dark mode in every program."),
        (8, 30, "I prefer light mode in every program now, my eyes are tired."),
    )),
    "answers": (("How long should answers to me be?",), (
        (1, 21, "I prefer long answers with every detail."),
        (2, 25, "I prefer short answers, two sentences at most."),
    )),
    "diet": (("What do I eat, is there a diet to respect?", "Do I eat meat?"), (
        (1, 22, "I am on a vegetarian diet."),
        (9, 9, "I am on a vegan diet."),
    )),
    "commute": (("How do I get to the office?",), (
        (1, 23, "I ride the tram to the office."),
        (6, 9, "I ride a cargo bike to the office."),
    )),
    "bank": (("Which bank do I have an account with?",), (
        (1, 24, "My bank is Sparkasse."),
        (5, 25, "My bank is Triodos."),
    )),
    "dentist": (("Who is my dentist?",), (
        (1, 25, "My dentist is Dr. Wolff on Bahnhofstrasse."),
        (4, 30, "My dentist is Dr. Nunes, two streets from the river."),
    )),
    "sister": (("Where does my sister Mira live?",), (
        (1, 26, "My sister Mira lives in Oslo."),
        (7, 2, "My sister Mira moved to Tromso."),
    )),
    "ben": (("What is Ben's role?", "What does Ben do in the team?"), (
        (1, 27, "Ben's role is tester in the payments team."),
        (8, 12, "Ben's role is product owner of the payments team."),
    )),
    "ana": (("Where does Ana work?",), (
        (1, 28, "Ana works at the city library."),
        (5, 30, "Ana joined the university archive."),
        (11, 2, "Ana left the university archive for a publishing house."),
    )),
    "pet": (("What is the name of my cat?",), (
        (1, 29, "My cat's name is Pixel."),
        (10, 11, "My new cat's name is Basil, after we lost Pixel."),
    )),
    "rent": (("How much rent do I pay each month?",), (
        (1, 30, "The rent is 820 euros each month."),
        (4, 15, "The rent is 1050 euros each month in the new flat."),
        (10, 5, "The rent is 990 euros each month in Ghent."),
    )),
    "language": (("Which language am I learning?",), (
        (1, 31, "I am learning Danish in the evenings."),
        (4, 18, "I am learning Portuguese in the evenings."),
        (10, 7, "I am learning Dutch in the evenings."),
    )),
    "passwords": (("Which password manager do I use?",), (
        (2, 1, "I use KeePass for passwords."),
        (7, 15, "I switched to Bitwarden for passwords."),
    )),
    "notes": (("Which app do I take meeting notes in?",), (
        (2, 2, "I take meeting notes in Notion."),
        (6, 25, "I take meeting notes in Obsidian."),
    )),
    "oncall": (("Who is on call for the weekend?",), (
        (2, 3, "Weekend on-call duty belongs to Farid."),
        (9, 4, "Weekend on-call duty belongs to Lucia."),
    )),
}  # fmt: skip
# What is remembered beside them and stays true.
OTHERS: tuple[tuple[int, int, str], ...] = (
    (1, 5, "Northwind ships spare parts for bicycles to eleven countries."),
    (1, 9, "The old ThinkPad of the office printer room has no battery."),
    (1, 14, "MySQL dumps of the shop are kept for ninety days."),
    (1, 19, "Ingrid drinks black coffee and never tea."),
    (1, 22, "Teodor is allergic to nuts."),
    (2, 4, "The Leipzig office closes at six."),
    (2, 8, "Farid lives in Hanover with his brother."),
    (2, 12, "The billing export runs every night at two."),
    (2, 17, "Ben works from home on Wednesdays."),
    (2, 22, "Helix nebula pictures hang in the meeting room."),
    (3, 1, "Mira studied marine biology."),
    (3, 6, "Redis keys of the cache expire after an hour."),
    (3, 14, "The tram to the airport runs every twelve minutes."),
    (3, 23, "Lucia uses vim with forty plugins."),
    (4, 2, "The vet said that cats need a check every year."),
    (4, 9, "Porto has a bridge with two levels."),
    (4, 20, "Salome prefers dark chocolate."),
    (5, 5, "Buildkite agents are restarted on Sundays."),
    (5, 11, "Ana likes long walks by the river."),
    (5, 28, "The university library is closed in August."),
    (6, 6, "Contoso pays for one conference a year."),
    (6, 15, "The second standing desk is reserved for guests."),
    (6, 29, "Obsidian is also a stone that breaks like glass."),
    (7, 11, "Customers in Japan see prices without tax."),
    (7, 19, "The rate of returns fell to two percent."),
    (8, 8, "The archive room needs a new lamp."),
    (8, 18, "Deploy scripts write their log to the shared drive."),
    (9, 1, "The dentist of the Bens is on the third floor."),
    (9, 12, "Zed Shaw gave a talk about testing."),
    (9, 21, "Light bulbs in the hall are replaced by LEDs."),
    (10, 1, "Ghent has canals and a castle."),
    (10, 15, "The queue at the canteen is shortest at noon."),
    (11, 4, "A publishing house asked for the brand fonts."),
    (11, 20, "The phone of the front desk rings too quietly."),
)  # fmt: skip


def at(month: int, day: int, hour: int = 9) -> int:
    return round(datetime(YEAR, month, day, hour, tzinfo=UTC).timestamp() * 1000)


class Agent:
    """Tells the year, and keeps the memory true if it may."""

    def __init__(self, memory: Memory, clock: list[int], upkeep: bool) -> None:
        self.memory = memory
        self._clock = clock
        self._upkeep = upkeep
        self.notes: dict[str, list[Note]] = {subject: [] for subject in FACTS}
        self.offered = self.searched = self.missed = self.wrong = 0

    def live(self) -> None:
        said = [(at(*when[:2]), when[2], subject) for subject, (_, told) in FACTS.items() for when in told]
        said += [(at(month, day, 15), text, "") for month, day, text in OTHERS]
        for when, text, subject in sorted(said):
            self._clock[0] = when
            note = self.memory.add(text)
            if subject:
                if self.notes[subject] and self._upkeep:
                    self._change(self.notes[subject][-1], note, text)
                self.notes[subject].append(note)
            elif self._upkeep:
                self.wrong += len(self.memory.beliefs.contradictions(note.id))
        self._clock[0] = at(12, 31)

    def _change(self, old: Note, new: Note, text: str) -> None:
        """An agent knows that something changed; which note that makes untrue, the memory has to say."""
        offered = [one.older.id for one in self.memory.beliefs.contradictions(new.id)]
        self.wrong += sum(1 for id in offered if id != old.id)
        if old.id in offered:
            self.offered += 1
        elif str(old.id) in [hit.id for hit in self.memory.search(text, limit=5)]:
            self.searched += 1
        else:
            self.missed += 1
            return
        self.memory.beliefs.supersede(old.id, new.id)

    @property
    def changes(self) -> int:
        return sum(len(found) - 1 for found in self.notes.values())


def measure(agent: Agent) -> dict[str, Any]:
    current = [_asked_now(agent, subject, question) for subject in FACTS for question in FACTS[subject][0]]
    then = [one for subject in FACTS for one in _asked_then(agent, subject)]
    return {
        "current_first": _percent([first for first, _ in current]), "as_of": _percent(then),
        "superseded_leaks": sum(leaks for _, leaks in current), "questions_now": len(current),
        "questions_then": len(then),
    }  # fmt: skip


def _percent(right: list[bool]) -> float:
    return round(100 * sum(right) / len(right), 1)


def _asked_now(agent: Agent, subject: str, question: str) -> tuple[bool, int]:
    current = str(agent.notes[subject][-1].id)
    outdated = {str(note.id) for notes in agent.notes.values() for note in notes[:-1]}
    hits = [hit.id for hit in agent.memory.search(question, limit=10)]
    told = [item.id for item in agent.memory.context(question, budget_tokens=1000).items]
    return hits[:1] == [current], sum(1 for id in (*hits, *told) if id in outdated)


def _asked_then(agent: Agent, subject: str) -> list[bool]:
    """Each earlier value, as of the middle of the time that it was true."""
    notes, found = agent.notes[subject], []
    for old, new in itertools.pairwise(notes):
        middle = (old.created_ms + new.created_ms) // 2
        for question in FACTS[subject][0]:
            hits = [hit.id for hit in agent.memory.search(question, limit=10, as_of_ms=middle)]
            found.append(hits[:1] == [str(old.id)])
    return found


def year(upkeep: bool) -> dict[str, Any]:
    clock = [at(1, 1)]
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(home=Path(folder))
        place = Path(folder) / "memory.db"
        with Memory(place, space="user", settings=settings, clock=lambda: clock[0]) as memory:
            agent = Agent(memory, clock, upkeep)
            agent.live()
            memory.embed_pending()
            numbers = measure(agent)
            assert memory.verify().ok
    if upkeep:
        numbers["changes"] = {
            "all": agent.changes, "offered": agent.offered, "found_by_search": agent.searched, "missed": agent.missed,
            "wrong_candidates": agent.wrong,
        }  # fmt: skip
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    result = year(upkeep=True)
    result["without_upkeep"] = year(upkeep=False)
    result |= {
        "subjects": len(FACTS), "notes": len(OTHERS) + sum(len(told) for _, told in FACTS.values()),
        "date": datetime.now(UTC).date().isoformat(), "version": __version__, "python": platform.python_version(),
    }  # fmt: skip
    text = json.dumps(result, indent=2)
    print(text)
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
