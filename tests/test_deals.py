"""Options and deals: what is refused, the order of dealing, seeds, and that chance is even."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest
from oracle import OracleRound
from oracle_texts import OracleRules, deal
from scipy.stats import chi2, chisquare
from sidebyside import ROUND_OPTIONS, dealt, deck_of_deal, run_python

from tricktable_env.cards import Words
from tricktable_env.game import ILLEGAL, NOBODY, PositionError, RulesError
from tricktable_env.registry import make_game
from tricktable_env.tableau import Rules, Tableau
from tricktable_env.tableau.state import CALL_HAND, HAND, OUT, TRUMP, UNDER, UP, slot_of

SANE = 1e-4
"""A test with a fixed seed that is less likely than this, where all is even, has found a fault."""


# Options

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tie": "nobody"}, "tie='nobody' is not one of dealer, caller, draw"),
    ({"tie": None}, "tie=None is not"),
    ({"call_cards": 11}, "call_cards=11 is not a whole number from 0 to 10"),
    ({"call_cards": -1}, "call_cards=-1 is"),
    ({"call_cards": 2.0}, "call_cards=2.0 is"),
    ({"call_cards": 3, "hand": 2}, "call_cards=3 is not a whole number from 0 to 2"),
    ({"trump": "X"}, "trump='X' is not one of call, random, S, H, D, C, none"),
    ({"trump": "SH"}, "trump='SH' is"),
    ({"trump": ""}, "trump='' is"),
    ({"trump": 0}, "trump=0 is"),
    ({"trump": "C", "suits": 3, "hand": 3, "piles": 3}, "trump='C' is no suit of the deck"),
    ({"first_lead": "C"}, "first_lead='C' is not one of caller, dealer"),
    ({"suits": 5}, "suits=5 is not a whole number from 1 to 4"),
    ({"suits": 0}, "suits=0 is"),
    ({"suits": "4"}, "suits='4' is"),
    ({"ranks": 14}, "ranks=14 is not a whole number from 1 to 13"),
    ({"ranks": 0}, "ranks=0 is"),
    ({"ranks": True}, "ranks=True is"),
    ({"hand": 27, "piles": 0}, "hand=27 is not a whole number from 0 to 26"),
    ({"hand": -1}, "hand=-1 is"),
    ({"piles": 14, "hand": 0}, "piles=14 is not a whole number from 0 to 13"),
    ({"piles": -1}, "piles=-1 is"),
    ({"hand": 11}, "hand=11, piles=8 deal 54 cards from a deck of suits=4 x ranks=13 = 52"),
    ({"suits": 2}, "deal 52 cards from a deck of suits=2 x ranks=13 = 26"),
    ({"ranks": 12}, "deal 52 cards from a deck of suits=4 x ranks=12 = 48"),
    ({"hand": 0, "piles": 0}, "hand=0, piles=0 deal 0 cards"),
    ({"rounds_to_win": 0}, "rounds_to_win=0 is not a whole number from 1 to 100"),
    ({"rounds_to_win": 101}, "rounds_to_win=101 is"),
    ({"rounds_to_win": float("nan")}, "rounds_to_win=nan is"),
    ({"reward": "points"}, "reward='points' is not one of win, margin"),
    ({"match_reward": "rounds"}, "match_reward='rounds' is not one of match, round"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=str)
def test_option_without_sense_is_refused_at_construction(
    options: dict[str, Any], message: str
) -> None:
    for make in (Rules, Tableau, lambda **rules: make_game("tableau", **rules)):
        with pytest.raises(RulesError) as caught:
            make(**options)
        assert message in str(caught.value)
        assert isinstance(caught.value, ValueError)


def test_every_option_is_refused_by_some_value() -> None:
    assert {name for options, _ in REFUSED for name in options} == set(Rules.__dataclass_fields__)


def test_unknown_option_and_unknown_game_are_refused() -> None:
    with pytest.raises(RulesError, match=r"'trumps'.*options of tableau are tie, call_cards"):
        make_game("tableau", trumps="call")
    with pytest.raises(RulesError, match="'bridge'"):
        make_game("bridge")


def test_games_are_equal_when_their_rules_are() -> None:
    assert Tableau() == Tableau(call_cards=5) != Tableau(call_cards=4)
    assert hash(Tableau()) == hash(Tableau(call_cards=5))
    assert Rules().call_cards == 5
    game = Tableau(tie="draw", hand=3, piles=2)
    assert pickle.loads(pickle.dumps(game)) == copy.deepcopy(game) == game


# Dealing


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_deck_given_from_outside_deals_in_the_order_of_the_rules(options: dict[str, Any]) -> None:
    rules, game = OracleRules(**options), Tableau(**options)
    deck = rules.deck
    random.Random(8).shuffle(deck)
    state = dealt(game, deck)[0]
    words = deal(rules, deck)
    for seat in (0, 1):
        assert int(state[HAND + seat]) == sum(1 << card for card in words.hands[seat])
        assert int(state[UP + seat]) == sum(1 << top for top, _ in words.piles[seat])
    assert int(state[OUT]) == sum(1 << card for card in words.out)
    if rules.trump == "call":
        round_ = OracleRound(rules, deck)
        assert game.position(state) == round_.position()


def test_default_deck_goes_five_eight_eight_three_two() -> None:
    game = Tableau()
    states = dealt(game, list(range(52)))
    assert game.position(states[0]) == (
        "C - - 0-0 65432...+...QJ765 2D/QS,3D/KS,4D/AS,5D/2H,6D/3H,7D/4H,8D/5H,9D/6H "
        "JT987...AKT98 TD/7H,JD/8H,QD/9H,KD/TH,AD/JH,2C/QH,3C/KH,4C/AH"
    )


def test_cards_seen_at_the_call_never_change_the_deal() -> None:
    deals = set()
    for call_cards in [None, *range(11)]:
        game = Tableau(call_cards=call_cards)
        states = game.new(np.array([4, 5], np.uint64))
        game.deal(states, np.arange(2))
        game.step(states, np.arange(2), np.array([52, 53]))
        deals.add(tuple(game.position(state) for state in states))
    assert len(deals) == 1


@pytest.mark.parametrize(
    ("change", "quoted"),
    [
        (lambda deck: deck[:-1], "lacks AC"),
        (lambda deck: [*deck, 0], "entry 52 is 2S"),
        (lambda deck: [*deck[:-1], 50], "entry 51 is KC"),
        (lambda deck: [52, *deck[1:]], "entry 0 is 52"),
        (lambda deck: [*deck[:-1], -1], "entry 51 is -1"),
        (lambda deck: [*deck[:-1], 51.0], r"entry 51 is 51\.0"),
        (lambda deck: [*deck[:-1], "AC"], "entry 51 is 'AC'"),
        (lambda deck: [*deck[:-1], None], "entry 51 is None"),
        (lambda deck: [False, *deck[1:]], "entry 0 is False"),
        (lambda deck: [], "lacks 2S"),
    ],
)
def test_deck_that_is_not_every_card_once_is_refused(change: Any, quoted: str) -> None:
    game = Tableau()
    states = game.new(np.zeros(1, np.uint64))
    game.deal(states, np.zeros(1, np.int64))
    before = states.copy()
    with pytest.raises(PositionError, match=quoted):
        game.deal_deck(states[0], change(list(range(52))))
    assert (states == before).all()


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, np.uint64])
def test_deck_may_be_an_array(kind: type[np.integer[Any]]) -> None:
    game = Tableau()
    deck = np.random.default_rng(0).permutation(52)
    states = game.new(np.zeros(2, np.uint64))
    game.deal_deck(states[0], deck.tolist())
    game.deal_deck(states[1], deck.astype(kind))
    assert game.position(states[0]) == game.position(states[1])
    assert deal(OracleRules(), deck_of_deal(game, states[0])).out == []


# Seeds


def positions_of(game: Tableau, seeds: list[int], deals: int = 1) -> list[str]:
    """Returns the positions that some seeds deal, at their so-manieth deal."""
    states = game.new(np.array(seeds, np.uint64))
    for _ in range(deals):
        game.deal(states, np.arange(len(seeds)))
    return [game.position(state) for state in states]


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_same_seed_same_game_and_every_seed_another(options: dict[str, Any]) -> None:
    game = Tableau(**options)
    seeds = [0, 1, 2, 3, 2**32, 2**63, 2**64 - 1, 0]
    first = positions_of(game, seeds)
    assert first == positions_of(game, seeds)
    assert first[0] == first[-1]
    assert len(set(first)) == len(seeds) - 1


def test_next_deal_of_a_stream_is_another_and_no_other_seeds_first() -> None:
    game = Tableau()
    dealt_so_far = {
        position for deals in range(1, 9) for position in positions_of(game, list(range(64)), deals)
    }
    assert len(dealt_so_far) == 8 * 64


def test_row_does_not_depend_on_the_batch_it_is_in() -> None:
    game = Tableau(trump="random")
    alone = positions_of(game, [7], deals=3)
    assert positions_of(game, [5, 6, 7, 8], deals=3)[2] == alone[0]
    states = game.new(np.array([9, 7, 1], np.uint64))
    for rows in ([1], [2, 1], [0], [1, 0]):
        game.deal(states, np.array(rows))
    assert game.position(states[1]) == alone[0]


def test_new_rows_are_fresh_and_hold_no_game() -> None:
    game = Tableau()
    states = game.new(np.arange(3, dtype=np.uint64))
    assert (game.players(states, np.arange(3)) == NOBODY).all()
    for action in (0, 52):
        status, _ = game.step(states, np.arange(3), np.full(3, action))
        assert (status == ILLEGAL).all()
    assert not np.shares_memory(states, game.new(np.arange(3, dtype=np.uint64)))


GAME_HASH = """
import hashlib, sys
import numpy as np
from tricktable_env.registry import make_game

digest = hashlib.sha256()
for options in ({}, {"trump": "random", "rounds_to_win": 2}):
    game = make_game("tableau", **options)
    states, rows = game.new(np.arange(8, dtype=np.uint64)), np.arange(8)
    rng = np.random.default_rng(0)
    game.deal(states, rows)
    for ply in range(60):
        players = game.players(states, rows)
        rows, players = rows[players >= 0], players[players >= 0]
        if not len(rows):
            break
        views = game.views(states, rows, players)
        observation, masks = game.encode(views)
        for row in rows[:2]:
            digest.update(game.position(states[row]).encode())
            digest.update(game.information_state(states[row], 0).encode())
        digest.update(observation.tobytes() + game.sample(views[0], rng).tobytes())
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        game.step(states, rows, actions)
        digest.update(states.tobytes())
print(digest.hexdigest(), hash("S"))
"""


def test_same_game_in_every_process_whatever_its_hash_seed() -> None:
    outputs = [run_python(GAME_HASH, PYTHONHASHSEED=seed).stdout.split() for seed in ("1", "2")]
    assert outputs[0][1] != outputs[1][1], "the two differ in how they hash"
    assert outputs[0][0] == outputs[1][0]


# Chance


def many_deals(game: Tableau, deals: int, first_seed: int = 0) -> Words:
    """Returns the first deals of as many seeds in a row."""
    states = game.new(np.arange(first_seed, first_seed + deals, dtype=np.uint64))
    game.deal(states, np.arange(deals))
    return states


def bits(words: np.ndarray) -> np.ndarray:
    """Returns the 52 bits of each word, `[B, 52] bool`."""
    return (words[:, None] >> np.arange(52, dtype=np.uint64) & np.uint64(1)).astype(bool)


def places(states: Words) -> np.ndarray:
    """Returns where each card lies after a deal by default rules, `[B, 52]`, 0 to 34.

    0 caller's hand at the call, 1 its rest, 2 dealer's hand, then the 16 piles' upper cards and
    the 16 cards beneath.
    """
    result = np.full((len(states), 52), -1)
    result[bits(states[:, HAND])] = 1
    result[bits(states[:, CALL_HAND])] = 0
    result[bits(states[:, HAND + 1])] = 2
    unders = np.ascontiguousarray(states[:, UNDER : UNDER + 4]).view(np.uint8)
    unders = unders.reshape(len(states), 2, 16)
    for seat in (0, 1):
        rows, cards = np.nonzero(bits(states[:, UP + seat]))
        slots = np.array(
            [slot_of(states[row], card) for row, card in zip(rows, cards, strict=True)]
        )
        result[rows, cards] = 3 + 8 * seat + slots
        for slot in range(8):
            beneath = unders[:, seat, slot].astype(int) - 1
            result[np.arange(len(states)), beneath] = 19 + 8 * seat + slot
    assert (result >= 0).all()
    return result


def test_every_card_comes_to_every_place_equally_often() -> None:
    deals = 8_000
    found = places(many_deals(Tableau(), deals))
    sizes = np.array([5, 5, 10, *[1] * 32])
    statistic = 0.0
    for card in range(52):
        counts = np.bincount(found[:, card], minlength=35)
        statistic += chisquare(counts, deals * sizes / 52).statistic
    # The 52 x 35 table has its row sums and its column sums fixed, so 51 x 34 degrees of freedom;
    # every card leaves a place to the 51 others, which makes the sum 52/51 of a chi-square.
    assert SANE < chi2.sf(statistic * 51 / 52, 51 * 34) < 1 - SANE


def test_every_pair_of_cards_lies_in_a_pile_equally_often() -> None:
    deals = 60_000
    states = many_deals(Tableau(hand=0, piles=1, trump="none"), deals, first_seed=10_000)
    top = bits(states[:, UP]).argmax(axis=1)
    under = (states[:, UNDER] & np.uint64(255)).astype(int) - 1
    counts = np.bincount(52 * top + under, minlength=52 * 52).reshape(52, 52)
    assert not counts.diagonal().any()
    assert chisquare(counts[~np.eye(52, dtype=bool)]).pvalue > SANE


def test_every_order_of_a_small_deck_is_dealt_equally_often() -> None:
    game = Tableau(suits=1, ranks=5, hand=2, piles=0, call_cards=1)
    stream = game.new(np.zeros(1, np.uint64))
    rows = np.zeros(1, np.int64)
    positions: dict[str, int] = {}
    for _ in range(6_000):  # one deal after another of a single stream
        game.deal(stream, rows)
        text = game.position(stream[0])
        positions[text] = positions.get(text, 0) + 1
    assert len(positions) == 5 * 4 * 3  # seen, to come, dealer's two of the other three
    assert chisquare(list(positions.values())).pvalue > SANE


@pytest.mark.parametrize("suits", [1, 2, 3, 4])
def test_random_trump_is_every_suit_of_the_deck_equally_often(suits: int) -> None:
    game = Tableau(trump="random", suits=suits, hand=2, piles=2)
    counts = np.bincount(many_deals(game, 8_000)[:, TRUMP].astype(int), minlength=suits)
    assert len(counts) == suits
    assert suits == 1 or chisquare(counts).pvalue > SANE


def test_the_chi_square_of_deals_notices_a_naive_shuffle() -> None:
    rng = np.random.default_rng(0)
    counts = np.zeros((5, 5))
    for _ in range(6_000):
        cards = list(range(5))
        for i in range(5):  # swaps with any card instead of with one not yet placed
            j = int(rng.integers(5))
            cards[i], cards[j] = cards[j], cards[i]
        counts[np.arange(5), cards] += 1
    assert chisquare(counts.ravel()).pvalue < SANE
