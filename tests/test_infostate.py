"""What a seat knows: the text of it replays, and nothing that it can't see is in anything shown."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import OracleRound
from oracle_texts import CALLER, card_text, read_action, read_card, read_position
from sidebyside import ROUND_OPTIONS, SideBySide, dealt, round_options

from tricktable_env.cards import Words
from tricktable_env.render import picture
from tricktable_env.tableau import Tableau

ROW = np.zeros(1, np.int64)


# The text


class Reader:
    """Plays an information state's text on from its start, knowing nothing but the text.

    Args:
        text: the information state.
        seat: whose it is.
        lead: who leads after the call.
    """

    def __init__(self, text: str, seat: int, lead: str) -> None:
        parts = text.split(" | ")
        self.seat = seat
        self.voids: list[set[int]] = [set(), set()]
        self.called: int | None = None
        start = read_position(parts.pop(0))
        self.seen_at_call = start.hands[CALLER][0] if start.trump == "-" else None
        if start.trump == "-" and parts:
            self.called = read_action(parts.pop(0))
            start = read_position(parts.pop(0))
            assert start.trump == "SHDC"[self.called - 52]
            assert start.seat == ("caller", "dealer").index(lead)
        self.start = start
        self.trump, self.lead, self.turn = start.trump, start.lead, start.seat
        self.score = list(start.score)
        self.hands = [parts_[0] if len(parts_) == 1 else None for parts_ in start.hands]
        self.tables = [[list(pile) for pile in table] for table in start.tables]
        self.plays: list[tuple[int, int, str]] = []
        plays = [part.split(" ") for part in parts]
        for i, trick in enumerate(plays):
            full = 1 if i == 0 and start.lead is not None else 2
            assert len(trick) == full or (i == len(plays) - 1 and len(trick) == 1)
            for play in trick:
                self.play(play)

    def play(self, text: str) -> None:
        """Plays `AS`, `AS/` or `AS/2H`."""
        name, slash, uncovered = text.partition("/")
        card, seat = read_card(name), self.turn
        self.plays.append((seat, card, text[2:]))
        if slash:
            self.take_from_table(seat, card, uncovered)
        elif seat == self.seat:
            hand = list(self.hands[seat])  # type: ignore[arg-type]
            hand.remove(card)
            self.hands[seat] = tuple(hand)
        else:
            assert isinstance(self.hands[seat], int)
            self.hands[seat] -= 1  # type: ignore[operator]
        if self.lead is None:
            self.lead, self.turn = card, 1 - seat
            return
        suit, led = card // 13, self.lead // 13
        if suit != led:
            self.voids[seat].add(led)
        beats = card > self.lead if suit == led else "SHDCN-".index(self.trump) == suit
        self.turn = seat if beats else 1 - seat
        self.score[self.turn] += 1
        self.lead = None

    def take_from_table(self, seat: int, card: int, uncovered: str) -> None:
        """Takes a face-up card, and turns over what the text says lay beneath."""
        pile = next(pile for pile in self.tables[seat] if pile[0] == card)
        assert pile[1:] == ([None] if uncovered else [])
        if uncovered:
            pile[:] = [read_card(uncovered)]
        else:
            self.tables[seat].remove(pile)

    def position(self) -> str:
        """Writes the position that the seat sees now."""
        tables = tuple(tuple(tuple(pile) for pile in table) for table in self.tables)
        hands = self.start.hands if None in self.hands else tuple((hand,) for hand in self.hands)
        score = (self.score[0], self.score[1])
        return type(self.start)(self.turn, self.trump, self.lead, score, hands, tables).text


def assert_text_says_all(table: SideBySide, row: int) -> None:
    """Reads both seats' information states of a row and compares with what the oracle saw."""
    state, round_ = table.states[row], table.rounds[row]
    for seat in (0, 1):
        text = table.game.information_state(state, seat)
        reader = Reader(text, seat, table.rules.first_lead)
        assert reader.position() == round_.position(seat)
        assert reader.voids == round_.shown_void
        events = [event for event in round_.history if event["action"] < 52]
        assert [play[:2] for play in reader.plays] == [(e["seat"], e["action"]) for e in events]
        for (_, _, shown), event in zip(reader.plays, events, strict=True):
            uncovered = event["uncovered"]
            under = "" if uncovered is None else card_text(uncovered)
            assert shown == ("/" + under if event["source"] == "table" else "")
        calls = [event["action"] for event in round_.history if event["action"] >= 52]
        assert reader.called == (calls[0] if calls else None)
        if seat == CALLER and (calls or round_.phase == "call"):
            assert sorted(reader.seen_at_call) == sorted(round_.seen)  # type: ignore[arg-type]
        view = table.game.views(table.states, np.array([row]), np.array([seat]))
        assert table.game.information_state(view[0], seat) == text
        for looks in (None, seat):
            assert table.game.position(view[0], looks) == round_.position(seat)


@settings(max_examples=25)
@given(options=round_options(), seed=st.integers(0, 2**32))
def test_information_state_replayed_by_hand_gives_what_the_seat_sees(
    options: dict[str, Any], seed: int
) -> None:
    table = SideBySide(options, seed=seed)
    assert_text_says_all(table, 0)
    while table.live:
        table.step_at_random()
        assert_text_says_all(table, 0)


@settings(max_examples=10)
@given(options=round_options(), seed=st.integers(0, 2**32), plies=st.integers(0, 53))
def test_information_state_of_a_game_from_a_position_starts_there(
    options: dict[str, Any], seed: int, plies: int
) -> None:
    first = SideBySide(options, seed=seed)
    first.play_to(plies)
    if first.live:
        table = SideBySide.from_positions([first.rounds[0].position()], options, seed)
        for _ in range(12):
            assert_text_says_all(table, 0)
            if not table.live:
                return
            table.step_at_random()


def test_information_state_reads_as_the_contract_shows() -> None:
    game = Tableau(suits=2, ranks=4, hand=2, piles=1)
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], "C - - 0-0 A...+Q... KS/JS .AJ.. KH/QH")
    for text in ("trump H", "KS", "AH", "KH"):
        game.step(states, ROW, np.array([game.read_action(text)]))
    assert game.information_state(states[0], 0) == (
        "C - - 0-0 A...+?1 ?/? ?2 ?/? | trump H | C H - 0-0 AQ... KS/? ?2 KH/? | KS/JS AH | KH/QH"
    )
    assert game.information_state(states[0], 1) == (
        "C - - 0-0 ?1+?1 ?/? ?2 ?/? | trump H | C H - 0-0 ?2 KS/? .AJ.. KH/? | KS/JS AH | KH/QH"
    )


# Nothing that a seat can't see


def everything_shown(game: Tableau, state: Words, seat: int) -> tuple[bytes, ...]:
    """Returns all that a seat is ever shown of a state, as bytes."""
    states, players = state[None].copy(), np.array([seat])
    view = game.views(states, ROW, players)
    observation, mask = game.observe(states, ROW, players)
    texts = (game.position(state, seat), game.information_state(state, seat))
    arrays = (view, observation, mask, game.masks(view), game.histories(states, ROW, players))
    drawn = picture(game, state, seat)
    return *(array.tobytes() for array in arrays), *(t.encode() for t in (*texts, drawn))


def hidden_cards(round_: OracleRound, seat: int) -> set[int]:
    """Returns the cards that a seat has not seen of a round."""
    if round_.phase == "call":
        return set(round_.rules.deck) - (set(round_.seen) if seat == CALLER else set())
    unders = {pile[1] for piles in round_.piles for pile in piles if len(pile) == 2}
    return round_.hands[1 - seat] | unders | set(round_.out)


def replayed(game: Tableau, deck: list[int], round_: OracleRound) -> Words | None:
    """Plays a round's history on another deck; None where it would not have been legal."""
    trump = round_.trump if round_.rules.trump == "random" else None
    states = dealt(game, deck, trump)
    other = OracleRound(round_.rules, deck, trump)
    for event in round_.history:
        if event["action"] not in other.legal():
            return None
        other.play(event["action"])
        game.step(states, ROW, np.array([event["action"]]))
    return states[0]


def compare_permuted(options: dict[str, Any], seed: int, rng: random.Random) -> tuple[int, int]:
    """Plays a round at random, and at every turn shows each seat its like with hidden cards moved.

    Returns:
        How many views were compared, and in how many of them a card did lie elsewhere.
    """
    compared = changed = 0
    table = SideBySide(options, seed=seed)
    deck = table.decks[0]
    first, second, third = table.rules.batches
    start = 2 * first + 4 * table.rules.piles
    late = [*range(start, start + second)]
    late += range(start + 2 * second, start + 2 * second + third)
    callers = [*range(first), *late]  # where the caller's hand lies in the deck
    while True:
        round_, state = table.rounds[0], table.states[0]
        for seat in (0, 1):
            hidden = hidden_cards(round_, seat)
            places = [i for i, card in enumerate(deck) if card in hidden]
            other_deck = shuffled_at(deck, places, rng)
            if seat != CALLER:  # nor does the dealer see in what order the caller got its hand
                other_deck = shuffled_at(other_deck, callers, rng)
            other = replayed(table.game, other_deck, round_)
            if other is not None:
                compared += 1
                changed += table.game.position(other) != table.game.position(state)
                shown = everything_shown(table.game, state, seat)
                assert everything_shown(table.game, other, seat) == shown
        if not table.live:
            return compared, changed
        table.step_at_random()


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_permuting_what_a_seat_cannot_see_changes_nothing_it_is_shown(
    options: dict[str, Any],
) -> None:
    rng = random.Random(1)
    assert sum(compare_permuted(options, seed, rng)[1] for seed in range(3)) > 3


@pytest.mark.long
@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_permuting_hidden_cards_changes_nothing_in_12500_views(options: dict[str, Any]) -> None:
    rng, seed, total, moved = random.Random(2), 0, 0, 0
    while total < 12_500:
        compared, changed = compare_permuted(options, seed, rng)
        total, moved, seed = total + compared, moved + changed, seed + 1
    assert moved > total // 100  # few where all cards are in the hands: at the call alone


def shuffled_at(deck: list[int], places: list[int], rng: random.Random) -> list[int]:
    """Returns a deck in which the cards at some places have changed places."""
    result = list(deck)
    order = list(places)
    rng.shuffle(order)
    for place, other in zip(places, order, strict=True):
        result[place] = deck[other]
    return result


def test_view_shows_what_a_seat_sees() -> None:
    # The opposite of the above: whatever a seat does see changes its view when it changes.
    table = SideBySide({}, rounds=40, seed=2)
    for plies in (0, 1, 2, 10):
        table.play_to(plies)
        for seat in (0, 1):
            views = {view.tobytes() for view in table.views(seat)}
            texts = {table.game.information_state(state, seat) for state in table.states}
            assert len(views) == len(texts)
            assert len(texts) == (40 if plies or seat == CALLER else 1)
