"""Samples of what a seat has not seen: each agrees with all it has, and all are equally likely."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from honors_oracle import OracleGame, World
from honors_play import OPTIONS, ROW, SideBySide, game_options, name_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from tricktable_env.cards import Words, cards_of
from tricktable_env.game import ILLEGAL
from tricktable_env.honors import batch
from tricktable_env.honors.infostate import at_start
from tricktable_env.honors.state import HAND, RNG, STOCK, STOCK_SIZE, byte_of

SANE = 1e-4
"""A test with a fixed seed that is less likely than this, where all is even, has found a fault."""


# -- every sample agrees ---------------------------------------------------------------------
def assert_sample_agrees(table: SideBySide, seat: int, rng: np.random.Generator) -> bool:
    """Samples from what a seat has seen of the first game; returns whether it differs from it.

    The sample is word for word the state to which its own start leads by the same actions, each of
    them legal, and its seat sees in it what it saw, byte for byte.
    """
    game = table.game
    view = table.views(seat)[0]
    before = view.copy()
    sample = game.sample(view, rng)
    assert (view == before).all(), "sampling leaves the view as it was"
    assert game.views(sample[None], ROW, np.array([seat])).tobytes() == view.tobytes()
    assert game.information_state(sample, seat) == game.information_state(table.states[0], seat)
    position, actions = game.record(sample)
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], position)
    for action in actions:
        status, _ = game.step(states, ROW, np.array([action]))
        assert status[0] != ILLEGAL
    states[0, RNG] = sample[RNG]
    assert (states[0] == sample).all()
    return game.position(sample) != game.position(table.states[0])


@settings(max_examples=25)
@given(options=game_options(), seed=st.integers(0, 2**32))
@example(options={}, seed=0)
@example(options={"num_players": 3, "stock": "redeal", "announce": True}, seed=0)
def test_every_sample_agrees_with_all_that_the_seat_has_seen(
    options: dict[str, Any], seed: int
) -> None:
    table = SideBySide(options, seed=seed)
    rng = np.random.default_rng(seed)
    while True:
        for seat in table.seats:
            assert_sample_agrees(table, seat, rng)
        if not table.live:
            return
        table.step_at_random()


@settings(max_examples=10)
@given(options=game_options(), seed=st.integers(0, 2**32), plies=st.integers(0, 60))
def test_sample_of_a_game_from_a_position_agrees(
    options: dict[str, Any], seed: int, plies: int
) -> None:
    first = SideBySide(options, seed=seed)
    first.play_to(plies)
    if not first.live:
        return
    table = SideBySide.from_positions([first.games[0].position()], options, seed)
    rng = np.random.default_rng(seed)
    while table.live:
        for seat in table.seats:
            assert_sample_agrees(table, seat, rng)
        table.step_at_random()


def test_samples_of_a_full_deck_nearly_always_differ() -> None:
    for players in (2, 4, 7):
        table = SideBySide({"num_players": players}, seed=1)
        rng = np.random.default_rng(1)
        for _ in range(20):
            different = [assert_sample_agrees(table, seat, rng) for seat in table.seats]
            assert all(different)
            table.step_at_random()


@pytest.mark.long
@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_many_samples_agree_with_all_that_the_seat_has_seen(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        table = SideBySide(options, seed=seed)
        while table.live:
            for seat in table.seats:
                for _ in range(3):
                    assert_sample_agrees(table, seat, rng)
            table.step_at_random()


def test_sample_is_drawn_from_the_generator_alone() -> None:
    table = SideBySide({}, seed=3)
    table.play_to(15)
    view = table.views(1)[0]
    samples = [table.game.sample(view, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert (samples[0] == samples[1]).all()
    assert (samples[0] != samples[2]).any()
    rng = np.random.default_rng(0)
    again = [table.game.sample(view, rng) for _ in range(2)]
    assert (again[0] == samples[0]).all()
    assert (again[1] != again[0]).any(), "the generator moves on"
    assert len({int(sample[RNG]) for sample in [*samples, *again]}) == 3, "a stream of its own"


# -- all samples are equally likely ----------------------------------------------------------
@dataclass(frozen=True)
class Situation:
    """What a seat has seen of a small game after some plies of random play."""

    seat: int
    plies: int
    options: dict[str, Any]
    seed: int
    position: bool = False  # started anew from the position at half of these plies

    @cached_property
    def table(self) -> SideBySide:
        """The game at that ply."""
        table = SideBySide(self.options, seed=self.seed)
        if self.position:
            table.play_to(self.plies // 2)
            text = table.games[0].position()
            table = SideBySide.from_positions([text], self.options, self.seed)
            table.play_to(self.plies - self.plies // 2)
        else:
            table.play_to(self.plies)
        return table

    @cached_property
    def worlds(self) -> list[World]:
        """All that the seat has to think possible, all of it equally likely."""
        return list(self.table.games[0].worlds(self.seat))


TEN: dict[str, Any] = {"suits": 2, "ranks": 5, "hand": 2}
TWELVE: dict[str, Any] = {"suits": 3, "ranks": 4, "hand": 2}
WIDE: dict[str, Any] = {"suits": 4, "ranks": 3, "hand": 3}
THREE: dict[str, Any] = {"num_players": 3, "suits": 3, "ranks": 4, "hand": 2}
THREE_WIDE: dict[str, Any] = {**THREE, "suits": 4, "ranks": 3, "trump": "H"}
FOUR: dict[str, Any] = {"num_players": 4, "suits": 4, "ranks": 3, "hand": 2}
REDEAL: dict[str, Any] = {**TWELVE, "stock": "redeal", "announce": True}
NO_STOCK: dict[str, Any] = {**THREE, "hand": 3, "announce": True, "stock": "none"}
SITUATIONS = [
    Situation(0, 0, {**TEN, "hand": 3}, 0),
    Situation(1, 4, TEN, 7),
    Situation(0, 3, TEN, 8),
    Situation(0, 3, TWELVE, 0),
    Situation(0, 4, TWELVE, 0),
    Situation(0, 12, TWELVE, 2),
    Situation(0, 7, TWELVE, 3),
    Situation(0, 12, TWELVE, 45),
    Situation(0, 7, WIDE, 0),
    Situation(0, 4, WIDE, 6),
    Situation(0, 12, WIDE, 10),
    Situation(0, 9, WIDE, 25),
    Situation(1, 12, WIDE, 54),
    Situation(1, 6, {**TWELVE, "hand": 3, "trump": "S"}, 2),
    Situation(1, 12, {**TWELVE, "hand": 3, "trump": "S"}, 324),
    Situation(0, 3, THREE, 0),
    Situation(1, 6, THREE, 1),
    Situation(2, 7, THREE, 1),
    Situation(0, 5, THREE, 3),
    Situation(0, 11, THREE, 54),
    Situation(0, 6, THREE_WIDE, 0),
    Situation(2, 6, THREE_WIDE, 1),
    Situation(0, 11, THREE_WIDE, 2),
    Situation(0, 9, THREE_WIDE, 6),
    Situation(0, 4, FOUR, 0),
    Situation(2, 5, FOUR, 0),
    Situation(2, 7, FOUR, 3),
    Situation(1, 10, FOUR, 1),
    Situation(0, 5, {**FOUR, "trump": "random"}, 0),
    Situation(2, 9, {**FOUR, "trump": "random"}, 2),
    Situation(1, 9, REDEAL, 0),
    Situation(0, 6, REDEAL, 1),
    Situation(1, 11, REDEAL, 2),
    Situation(0, 5, NO_STOCK, 0),
    Situation(2, 8, NO_STOCK, 3),
    Situation(0, 8, NO_STOCK, 71),
    Situation(0, 7, TWELVE, 3, position=True),
    Situation(0, 10, WIDE, 6, position=True),
    Situation(1, 9, THREE_WIDE, 5, position=True),
    Situation(2, 7, THREE, 1, position=True),
]


def samples_of(situation: Situation) -> Words:
    """Draws enough samples to tell a slight unevenness."""
    view = situation.table.views(situation.seat)
    count = 2_000 + 12 * len(situation.worlds)
    words = np.random.default_rng(17).integers(2**64, size=count, dtype=np.uint64)
    out = np.empty((count, view.shape[1]), np.uint64)
    batch.sample_rows(np.repeat(view, count, axis=0), words, out)
    return out


def world_of(sample: Words, players: int) -> World:
    """Returns a sample in the shape of the oracle's worlds."""
    start = at_start(sample)
    hands = tuple(frozenset(cards_of(int(start[HAND + seat]))) for seat in range(players))
    return hands, tuple(byte_of(start, STOCK, i) - 1 for i in range(int(start[STOCK_SIZE])))


def likelihood(worlds: list[World], counted: Counter[World]) -> float:
    """Returns the chi-square test's p-value; 0 where a world was sampled that is not possible."""
    assert len(set(worlds)) == len(worlds) > 1
    if not set(counted) <= set(worlds):
        return 0.0
    return float(chisquare([counted[world] for world in worlds]).pvalue)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_all_deals_that_agree_are_sampled_equally_often(situation: Situation) -> None:
    rows = samples_of(situation)
    rows[:, RNG] = 0
    found, counts = np.unique(rows, axis=0, return_counts=True)
    counted: Counter[World] = Counter()
    for row, count in zip(found, counts, strict=True):
        counted[world_of(row, situation.table.game.num_players)] += int(count)
    assert len(found) == len(counted), "samples differ in nothing but what was not seen"
    assert likelihood(situation.worlds, counted) > SANE


# -- the test is able to fail: what other resamplers do is caught ------------------------------
def without(situation: Situation, forget: Callable[[OracleGame], None]) -> list[World]:
    """Worlds that agree with what a seat has seen, less what it forgets."""
    game = SideBySide(situation.options, seed=situation.seed)
    game.play_to(situation.plies)
    forget(game.games[0])
    return list(game.games[0].worlds(situation.seat))


def drawn_evenly(worlds: list[World], among: list[World]) -> float:
    """How likely it is that worlds drawn evenly from some are evenly drawn from others."""
    rng = random.Random(1)
    counted = Counter(rng.choices(worlds, k=2_000 + 12 * len(among)))
    return likelihood(among, counted)


def hand_of(situation: Situation, world: World) -> frozenset[int]:
    """The hand that the player after the seat holds now in a world."""
    game = situation.table.games[0]
    other = (situation.seat + 1) % game.rules.num_players
    hand, stock = set(world[0][other]), iter(world[1])
    for kind, who, value in game.log:
        if kind == "draw":
            card = next(stock)
            hand |= {card} if who == other else set()
        elif kind == "play" and who == other:
            hand.discard(value)
    return frozenset(hand)


def narrowed(situation: Situation) -> bool:
    return len(without(situation, lambda game: game.shown.clear())) > len(situation.worlds)


def drew_since(situation: Situation) -> bool:
    """Whether another has drawn a card after failing to follow."""
    game = situation.table.games[0]
    return any(
        who != situation.seat and any(kind == "draw" and d == who for kind, d, _ in game.log[at:])
        for who, _, at in game.shown
    )


def lacking_ever_since(situation: Situation) -> list[World]:
    """Worlds in which a suit not followed is missing from the hand for good: what is wrong."""
    game = situation.table.games[0]
    other = (situation.seat + 1) % game.rules.num_players
    suits = {suit for who, suit, _ in game.shown if who == other}
    return [
        world
        for world in situation.worlds
        if not any(card // 13 in suits for card in hand_of(situation, world))
    ]


def hand_by_hand(situation: Situation) -> list[World]:
    """Worlds as drawn by who takes each possible hand for equally likely: what is wrong too."""
    by_hand: dict[frozenset[int], list[World]] = defaultdict(list)
    for world in situation.worlds:
        by_hand[hand_of(situation, world)].append(world)
    most = max(map(len, by_hand.values()))
    return [world for worlds in by_hand.values() for world in worlds * round(most / len(worlds))]


VOIDS = [situation for situation in SITUATIONS if not situation.position and narrowed(situation)]


@pytest.mark.parametrize("situation", VOIDS, ids=str)
def test_sampler_that_forgets_suits_not_followed_is_caught(situation: Situation) -> None:
    worlds = without(situation, lambda game: game.shown.clear())
    assert drawn_evenly(worlds, situation.worlds) < SANE


def test_sampler_that_takes_a_suit_for_missing_for_good_is_caught() -> None:
    caught = 0
    for situation in SITUATIONS:
        wrong = lacking_ever_since(situation)
        if drew_since(situation) and 0 < len(wrong) < len(situation.worlds):
            assert drawn_evenly(wrong, situation.worlds) < SANE
            caught += 1
    assert caught >= 4


def test_sampler_that_takes_all_hands_for_equally_likely_is_caught() -> None:
    caught = sum(
        drawn_evenly(hand_by_hand(situation), situation.worlds) < SANE for situation in SITUATIONS
    )
    assert caught >= 4


def test_situations_show_all_that_can_be_known() -> None:
    features: Counter[str] = Counter()
    for situation in SITUATIONS:
        game = situation.table.games[0]
        others = [who for kind, who, card in game.log if kind == "draw" and card == game.turned]
        lacks = {(who, suit) for who, suit, _ in game.shown if who != situation.seat}
        features["more than one world"] += len(situation.worlds) > 1
        features["drew since"] += drew_since(situation)
        features["two suits of one player"] += len(lacks) > len({who for who, _ in lacks})
        features["two players"] += len({who for who, _ in lacks}) > 1
        features["three players"] += game.rules.num_players == 3
        features["redeal"] += game.rules.stock == "redeal" and bool(others or game.points != [0, 0])
        features["no stock"] += game.rules.stock == "none"
        features["the turned card with another"] += bool(set(others) - {situation.seat})
        features["mid-trick"] += bool(game.trick)
        features["from a position"] += situation.position
        features["announced"] += any(kind == "announce" for kind, _, _ in game.log)
    assert set(features) == set(+features), "each occurs"
    assert len(VOIDS) >= 8
