"""The keyword lane: exactly the chunks that have a term, with the numbers that ranking needs."""

from recollect.testing.contract.rules import Rules
from recollect.testing.room import Room, change, chunk, insert, note, operation
from recollect.types import ChunkDraft


class KeywordRules(Rules):
    def test_any_of_the_terms_matches(self, room: Room) -> None:
        """The match set of several terms is the union of theirs; no other text is in it."""
        room.add("red apple")
        room.add("green pear")
        room.add("red wine")
        room.add("redness")
        assert room.find("red") == {"red apple", "red wine"}
        assert room.find("apple", "pear") == {"red apple", "green pear"}
        assert room.find("nothing") == set()
        assert room.find() == set()

    def test_terms_are_data_whatever_they_look_like(self, room: Room) -> None:
        """Words of the query language are words; letters of every script match as they are."""
        texts = ["and", "or", "not", "near", "a1b2", "日本語", "straße", "\ue000x", "i", "𝒳", "null"]
        for text in texts:
            room.add(text, [ChunkDraft(text, terms=text)])
        for text in texts:
            assert {found.terms for found in room.chunks(text)} == {text}

    def test_frequencies_totals_and_lengths(self, room: Room) -> None:
        """How many chunks there are, how long they are and how many have each term."""
        room.add("apple apple pear")
        room.add("apple")
        lane = room.store.keyword(["apple", "pear", "plum"], room.see(), 10)
        assert lane.frequencies == {"apple": 2, "pear": 1, "plum": 0}
        assert (lane.total, lane.average_terms) == (2, 2.0)
        assert {found.terms for found in lane.chunks} == {"apple apple pear", "apple"}

    def test_an_empty_space_has_an_empty_lane(self, room: Room) -> None:
        """Nothing is divided by nothing."""
        lane = room.store.keyword(["apple"], room.see(), 10)
        assert (lane.chunks, lane.total, lane.average_terms, lane.frequencies) == ((), 0, 0.0, {"apple": 0})

    def test_numbers_follow_updates_and_deletions(self, room: Room) -> None:
        """Totals and frequencies are those of the chunks that are there now."""
        made = room.add("apple")
        room.add("apple pear plum")
        made = room.change(made, content="cherry cherry")
        lane = room.store.keyword(["apple", "cherry"], room.see(), 10)
        assert (lane.frequencies, lane.total, lane.average_terms) == ({"apple": 1, "cherry": 1}, 2, 2.5)
        room.change(made, verb="delete", state="deleted")
        lane = room.store.keyword(["apple", "cherry"], room.see(), 10)
        assert (lane.frequencies, lane.total, lane.average_terms) == ({"apple": 1, "cherry": 0}, 1, 3.0)

    def test_context_is_matched_but_not_counted(self, room: Room) -> None:
        """A neighbour's words find a chunk; they do not make the word more frequent."""
        room.add("yes", context="shall we buy apples")
        room.add("apples")
        lane = room.store.keyword(["apples"], room.see(), 10)
        assert {found.content for found in lane.chunks} == {"yes", "apples"}
        assert lane.frequencies == {"apples": 1}
        assert lane.chunks[0].content == "apples"

    def test_the_best_come_first_and_the_limit_keeps_them(self, room: Room) -> None:
        """A rare word outranks a common one, and a shorter list is the head of a longer one."""
        for n in range(20):
            room.add(f"common word number {n} and some more of it")
        room.add("rare common pair")
        lane = room.store.keyword(["common", "rare"], room.see(), 30)
        assert lane.chunks[0].content == "rare common pair"
        assert len(lane.chunks) == 21
        for limit in (1, 5, 20):
            assert room.store.keyword(["common", "rare"], room.see(), limit).chunks == lane.chunks[:limit]

    def test_filters_apply_before_the_limit(self, room: Room) -> None:
        """A match that the filter hides takes no place in the answer."""
        wanted = room.add("apple", kind="task")
        for n in range(30):
            room.add(f"apple apple {n}", kind="fact")
        lane = room.store.keyword(["apple"], room.see(kinds=("task",)), 1)
        assert [found.owner_id for found in lane.chunks] == [wanted.id]

    def test_few_that_pass_are_found_among_many_that_match_better(self, room: Room) -> None:
        """However many come before them."""
        for n in range(60):
            room.add(f"apple {n}")
        wanted = [room.add(f"apple and much else that is of no use here {n}", kind="task").content for n in range(3)]
        for limit in (2, 3, 10):
            found = [chunk.content for chunk in room.store.keyword(["apple"], room.see(kinds=("task",)), limit).chunks]
            assert len(found) == min(limit, 3) and set(found) <= set(wanted)

    def test_a_chunk_says_where_it_came_from(self, room: Room) -> None:
        """Everything that an answer shows of a chunk is with it."""
        made = room.add("whole", [chunk("part one", "title"), chunk("part two", "title")], origin="web")
        one, two = sorted(room.chunks("part"), key=lambda found: found.idx)
        assert (one.owner, one.owner_id, one.idx, two.idx, one.space) == ("note", made.id, 0, 1, "home")
        assert (one.content, one.context, one.terms, one.context_terms) == ("part one", "title", "part one", "title")
        assert (one.trusted, one.created_ms) == (False, made.created_ms)
        assert room.store.chunks([two.id, 10**9, one.id], room.see()) == [two, one]

    def test_rebuilding_chunks_replaces_them(self, room: Room) -> None:
        """A new cut of the same text takes the place of the old one and keeps its scope."""
        made = room.add("apple pear")
        room.store.rebuild_chunks(operation("rechunk"), room.id, "note", made.id, [chunk("apple"), chunk("pear")])
        assert sorted(found.content for found in room.chunks("apple", "pear")) == ["apple", "pear"]
        hidden = room.change(made, state="superseded", keep_chunks=True)
        room.store.rebuild_chunks(operation("rechunk"), room.id, "note", hidden.id, [chunk("plum")])
        assert room.find("plum") == set()
        assert room.find("plum", states=("superseded",)) == {"plum"}

    def test_a_kept_chunk_follows_the_state(self, room: Room) -> None:
        """Superseding without new chunks hides the old ones, and the way back shows them."""
        made = room.add("apple")
        made = room.change(made, state="superseded", keep_chunks=True)
        assert room.find("apple") == set()
        assert room.store.keyword(["apple"], room.see(), 5).frequencies == {"apple": 0}
        room.apply(change(made, state="live", keep_chunks=True))
        assert room.find("apple") == {"apple"}

    def test_a_word_stays_true_when_the_long_list_of_another_goes(self, room: Room) -> None:
        """The words of an index lie beside each other; what happens to one is nothing to the next."""
        texts = ["know 0", *(f"long {number} {'long ' * 60}" for number in range(900)), "know 1"]
        made = [room.get(done.uid) for done in room.apply(*(insert(note(text)) for text in texts))]
        room.apply(*(change(one, state="deleted") for one in made[1:-1]), verb="delete")
        assert room.store.keyword(["know"], room.see(), 10).frequencies == {"know": 2}
        room.change(made[-1], verb="delete", state="deleted")
        assert room.find("know") == {"know 0"}
        assert [finding for finding in room.store.check() if not finding.ok] == []
