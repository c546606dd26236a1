"""The picture of the table: it shows what the seat that looks can see, all of it and no more."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from oracle import OracleRound
from oracle_texts import CALLER, read_card
from sidebyside import ROUND_OPTIONS, SideBySide, dealt

from tricktable_env.cards import Words
from tricktable_env.game import outcome_of
from tricktable_env.render import picture
from tricktable_env.tableau import Tableau

WIDTH = 79
RANK, SUIT = "[23456789TJQKA]", "[SHDC]"
ROW = np.zeros(1, np.int64)


def cards_in(text: str) -> set[int]:
    """Returns the cards that a text names, each like `KS` or in a hand like `S AK2`."""
    found = {read_card(name) for name in re.findall(rf"\b{RANK}{SUIT}\b", text)}
    for suit, ranks in re.findall(rf"\b({SUIT}) ({RANK}+)(?= |$)", text, re.MULTILINE):
        found |= {read_card(rank + suit) for rank in ranks}
    return found


def cards_to_show(round_: OracleRound, seat: int | None) -> set[int]:
    """Returns the cards that a picture has to show: what can be seen, and the trick."""
    plays = [event["action"] for event in round_.history if event["source"]]
    last = plays[:-1] if round_.lead is not None else plays
    trick = {*last[-2:]} if len(last) > 1 else set()
    if round_.lead is not None:
        trick.add(round_.lead)
    if round_.phase == "call" and seat is not None:
        return set(round_.seen) if seat == CALLER else set()
    tops = {pile[0] for side in round_.piles for pile in side if pile}
    if seat is None:
        unders = {pile[1] for side in round_.piles for pile in side if len(pile) == 2}
        return trick | tops | unders | round_.hands[0] | round_.hands[1]
    return trick | tops | round_.hands[seat]


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_picture_shows_what_the_seat_sees_and_no_other_card(options: dict[str, Any]) -> None:
    table = SideBySide(options, rounds=2, seed=8)
    while True:
        for state, round_ in zip(table.states, table.rounds, strict=True):
            for seat in (None, 0, 1):
                drawn = picture(table.game, state, seat)
                assert cards_in(drawn) == cards_to_show(round_, seat)
                assert drawn.count("(you)") == (seat is not None)
        if not table.live:
            return
        table.step_at_random()


@pytest.mark.parametrize(
    "options", [*ROUND_OPTIONS, {"rounds_to_win": 100}, {"rounds_to_win": 2, "trump": "H"}], ids=str
)
def test_picture_is_narrow_plain_text(options: dict[str, Any]) -> None:
    game = Tableau(**options)
    states = game.new(np.array([3], np.uint64))
    game.deal(states, ROW)
    rng = np.random.default_rng(3)
    for _ in range(60):
        for seat in (None, 0, 1):
            lines = picture(game, states[0], seat).split("\n")
            assert len(lines) > 5
            assert max(map(len, lines)) <= WIDTH
            assert all(line == line.rstrip() for line in lines)
            assert all(" " <= letter <= "~" for line in lines for letter in line)
        players = game.players(states, ROW)
        if players[0] < 0:
            return
        mask = game.masks(game.views(states, ROW, players))[0]
        game.step(states, ROW, np.array([rng.choice(np.flatnonzero(mask))]))


def widest_deal(game: Tableau) -> Words:
    """Returns a round in which the caller's hand takes the most room before the call."""
    deck = [card for rank in range(12, -1, -1) for card in range(rank, 52, 13)]
    return dealt(game, deck)


def test_picture_of_the_longest_hand_is_narrow() -> None:
    game = Tableau(hand=26, piles=0)
    lines = picture(game, widest_deal(game)[0]).split("\n")
    assert max(map(len, lines)) <= WIDTH


def test_picture_before_the_call_has_nothing_that_is_not_dealt_yet() -> None:
    table = SideBySide({}, seed=2)
    state, round_ = table.states[0], table.rounds[0]
    callers, dealers = picture(table.game, state, 0), picture(table.game, state, 1)
    assert cards_in(callers) == set(round_.seen)
    assert cards_in(dealers) == set()
    assert "5 to come" in callers
    for drawn in (callers, dealers):
        assert "trump not called yet" in drawn
        assert drawn.count("8 piles, not dealt yet") == 2


def test_picture_has_the_looking_seat_below_and_the_score() -> None:
    table = SideBySide({}, seed=2)
    table.play_to(30)
    for seat, name in enumerate(("caller", "dealer")):
        drawn = picture(table.game, table.states[0], seat)
        last = [line for line in drawn.splitlines() if line][-1]
        assert last.startswith(name)
        assert last.endswith("(you)")
        caller, dealer = table.rounds[0].tricks
        assert f"caller {caller}, dealer {dealer}" in drawn
        others_hand = len(table.rounds[0].hands[1 - seat])
        assert f"{others_hand} cards" in drawn or others_hand == 0


def test_picture_of_a_match_says_how_it_stands() -> None:
    game = Tableau(suits=1, ranks=2, hand=1, piles=0, trump="none", rounds_to_win=5)
    states = game.new(np.array([1], np.uint64))
    game.deal(states, ROW)
    wins = [0, 0]
    for _ in range(3):
        for _ in range(2):
            players = game.players(states, ROW)
            mask = game.masks(game.views(states, ROW, players))[0]
            game.step(states, ROW, np.array([mask.argmax()]))
        outcome = outcome_of(game, states[0])
        caller_was = 1 - [game.seat_of(states[0], player) for player in (0, 1)].index(0)
        wins[caller_was if outcome["winner"] == "caller" else 1 - caller_was] += 1
    caller = [game.seat_of(states[0], player) for player in (0, 1)].index(0)
    assert f"caller {wins[caller]}, dealer {wins[1 - caller]} of 5" in picture(game, states[0])
