"""Samples of what a seat has not seen: each agrees with all it has, and all are equally likely."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_search import Completion, consistent_deals
from oracle_texts import CALLER, DEALER, deal, read_position
from scipy.stats import chisquare
from sidebyside import SideBySide, dealt, deck_of_deal, round_options

from tricktable_env.cards import Words, cards_of
from tricktable_env.game import ILLEGAL
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.state import CALL_HAND, HAND, OUT, RNG, VOID

ROW = np.zeros(1, np.int64)
SANE = 1e-4
"""A test with a fixed seed that is less likely than this, where all is even, has found a fault."""

World: TypeAlias = tuple[Completion, frozenset[int]]
"""One way to fill in what a seat has not seen, and the caller's cards at the call."""
Sampler: TypeAlias = Callable[[Words, np.random.Generator], Words]


# Every sample agrees


def deck_of_sample(table: SideBySide, sample: Words) -> list[int]:
    """Returns the order of the deck that deals what a sample of the first row says was dealt."""
    round_, rules = table.rounds[0], table.rules
    if round_.phase == "call":
        return deck_of_deal(table.game, sample)
    now = read_position(table.game.position(sample))
    piles = deal(rules, table.decks[0]).piles
    hands: list[list[int]] = []
    unders: list[list[int]] = []
    for seat in (CALLER, DEALER):
        played = [event for event in round_.history if event["seat"] == seat and event["source"]]
        held = now.hands[seat][0]
        assert not isinstance(held, int)
        hand = [*held, *(event["action"] for event in played if event["source"] == "hand")]
        beneath = {pile[0]: pile[1] for pile in now.tables[seat] if len(pile) == 2}
        beneath |= {event["action"]: event["uncovered"] for event in played}
        unders.append([beneath[top] for top, _ in piles[seat]])  # type: ignore[misc]
        hands.append(hand)
    early = set(cards_of(int(sample[CALL_HAND])))
    hands[CALLER].sort(key=lambda card: card not in early)
    first, second, _ = rules.batches
    deck = hands[0][:first] + hands[1][:first] + unders[0] + unders[1]
    deck += [top for seat in (CALLER, DEALER) for top, _ in piles[seat]]
    for start, end in ((first, first + second), (first + second, None)):
        deck += hands[0][start:end] + hands[1][start:end]
    return deck + sorted(cards_of(int(sample[OUT])))


def assert_sample_agrees(table: SideBySide, seat: int, rng: np.random.Generator) -> bool:
    """Samples from what a seat has seen of the first row; returns whether it differs from it.

    The sample is word for word the state that its own deck leads to by the same actions, each of
    them legal, and its seat sees in it what it saw, byte for byte.
    """
    game, round_ = table.game, table.rounds[0]
    view = table.views(seat)[0]
    before = view.copy()
    sample = game.sample(view, rng)
    assert (view == before).all(), "sampling leaves the view as it was"
    assert game.views(sample[None], ROW, np.array([seat])).tobytes() == view.tobytes()
    assert game.information_state(sample, seat) == game.information_state(table.states[0], seat)
    trump = round_.trump if round_.rules.trump == "random" else None
    states = dealt(game, deck_of_sample(table, sample), trump)
    for event in round_.history:
        status, _ = game.step(states, ROW, np.array([event["action"]]))
        assert status[0] != ILLEGAL
    states[0, RNG] = sample[RNG]
    assert (states[0] == sample).all()
    return game.position(sample) != game.position(table.states[0])


@settings(max_examples=20)
@given(options=round_options(), seed=st.integers(0, 2**32))
def test_every_sample_agrees_with_all_that_the_seat_has_seen(
    options: dict[str, Any], seed: int
) -> None:
    table = SideBySide(options, seed=seed)
    rng = np.random.default_rng(seed)
    while True:
        for seat in (CALLER, DEALER):
            assert_sample_agrees(table, seat, rng)
        if not table.live:
            return
        table.step_at_random()


def test_samples_of_a_full_deck_nearly_always_differ() -> None:
    table = SideBySide({}, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(30):
        assert assert_sample_agrees(table, CALLER, rng)
        assert assert_sample_agrees(table, DEALER, rng)
        table.step_at_random()


@pytest.mark.long
def test_many_samples_agree_with_all_that_the_seat_has_seen() -> None:
    rng = np.random.default_rng(0)
    for seed in range(60):
        table = SideBySide({"tie": "draw"} if seed % 2 else {}, seed=seed)
        while table.live:
            for seat in (CALLER, DEALER):
                for _ in range(5):
                    assert_sample_agrees(table, seat, rng)
            table.step_at_random()


@settings(max_examples=15)
@given(options=round_options(), seed=st.integers(0, 2**32), plies=st.integers(0, 53))
def test_sample_of_a_game_from_a_position_agrees(
    options: dict[str, Any], seed: int, plies: int
) -> None:
    first = SideBySide(options, seed=seed)
    first.play_to(plies)
    if not first.live:
        return
    table = SideBySide.from_positions([first.rounds[0].position()], options, seed)
    rng = np.random.default_rng(seed)
    while table.live:
        for seat in (CALLER, DEALER):
            view = table.views(seat)[0]
            sample = table.game.sample(view, rng)
            seen = table.game.views(sample[None], ROW, np.array([seat]))
            assert seen.tobytes() == view.tobytes()
            assert not sample[OUT], "absent cards are gone, not hidden"
            assert table.game.position(sample, seat) == table.rounds[0].position(seat)
        table.step_at_random()


def test_sample_in_a_later_round_of_a_match_keeps_players_and_score() -> None:
    game = Tableau(suits=2, ranks=5, hand=3, piles=1, rounds_to_win=3)
    states = game.new(np.array([2], np.uint64))
    game.deal(states, ROW)
    rng = np.random.default_rng(2)
    swapped = 0
    while (player := game.players(states, ROW))[0] >= 0:
        for other in (0, 1):
            view = game.views(states, ROW, np.array([other]))
            sample = game.sample(view[0], rng)[None]
            assert game.views(sample, ROW, np.array([other])).tobytes() == view.tobytes()
            assert (game.players(sample, ROW) == player).all()
            assert game.seat_of(sample[0], 0) == game.seat_of(states[0], 0)
            swapped += game.seat_of(states[0], 0) == DEALER
        mask = game.masks(game.views(states, ROW, player))[0]
        game.step(states, ROW, np.array([rng.choice(np.flatnonzero(mask))]))
    assert swapped > 0


def test_sample_is_drawn_from_the_generator_alone() -> None:
    view = SideBySide({}, seed=3).views(DEALER)[0]
    game = Tableau()
    samples = [game.sample(view, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert (samples[0] == samples[1]).all()
    assert (samples[0] != samples[2]).any()
    rng = np.random.default_rng(0)
    again = [game.sample(view, rng) for _ in range(2)]
    assert (again[0] == samples[0]).all()
    assert (again[1] != again[0]).any(), "the generator moves on"
    assert len({int(sample[RNG]) for sample in [*samples, *again]}) == 3, "a stream of its own"


# All samples are equally likely


@dataclass(frozen=True)
class Situation:
    """What a seat has seen of a small game after some plies of random play."""

    seat: int
    plies: int
    options: dict[str, Any]
    seed: int = 0
    position: str | None = None

    @property
    def table(self) -> SideBySide:
        """The game at that ply."""
        if self.position is None:
            table = SideBySide(self.options, seed=self.seed)
        else:
            table = SideBySide.from_positions([self.position], self.options, self.seed)
        table.play_to(self.plies)
        return table


SIX: dict[str, Any] = {"suits": 2, "ranks": 3}
EIGHT: dict[str, Any] = {"suits": 2, "ranks": 4, "hand": 2, "piles": 1}
TEN: dict[str, Any] = {"suits": 2, "ranks": 5, "hand": 2, "piles": 1}
FIFTEEN: dict[str, Any] = {"suits": 3, "ranks": 5}
VOIDS = [
    Situation(CALLER, 3, TEN, seed=25),
    Situation(CALLER, 4, {**FIFTEEN, "hand": 4, "piles": 1}, seed=5),
    Situation(DEALER, 5, {**FIFTEEN, "hand": 3, "piles": 2}, seed=2),
    Situation(CALLER, 6, {**FIFTEEN, "hand": 3, "piles": 2}, seed=9),
]
"""The other has shown a void that rules something out."""
SITUATIONS = [
    *VOIDS,
    Situation(CALLER, 0, {**SIX, "hand": 1, "piles": 1}),
    Situation(DEALER, 0, {**SIX, "hand": 1, "piles": 1}),
    Situation(CALLER, 0, {**SIX, "hand": 2, "piles": 0}),
    Situation(DEALER, 0, {**SIX, "hand": 2, "piles": 0, "call_cards": 2}),
    Situation(DEALER, 0, {**SIX, "hand": 1, "piles": 0, "call_cards": 0}),
    Situation(CALLER, 1, EIGHT),
    Situation(DEALER, 1, EIGHT),
    Situation(CALLER, 1, TEN),
    Situation(DEALER, 1, TEN, seed=1),
    Situation(DEALER, 3, TEN, seed=2),
    Situation(DEALER, 4, {**FIFTEEN, "hand": 4, "piles": 1, "trump": "none"}, seed=4),
    Situation(DEALER, 6, {"suits": 3, "ranks": 4, "hand": 2, "piles": 2, "call_cards": 1}, seed=6),
    Situation(CALLER, 0, EIGHT, position="C H - 1-0 A... KS/JS .A.. KH/QH"),
    Situation(CALLER, 0, {**EIGHT, "piles": 0}, position="C - - 0-0 A...+.J.. - Q.A.. -"),
    Situation(DEALER, 0, {**EIGHT, "piles": 0}, position="C - - 0-0 A...+.J.. - Q.A.. -"),
    Situation(
        CALLER,
        2,
        {"suits": 3, "ranks": 6, "hand": 3, "piles": 2, "first_lead": "dealer"},
        seed=7,
        position="D H TD 2-1 A... KS/JS Q.A.. KH/QH",
    ),
]


def completion_of(table: SideBySide, seat: int, sample: Words) -> World:
    """Returns a sample in the shape of `consistent_deals`, and the caller's cards at the call."""
    position = read_position(table.game.position(sample))
    out = frozenset(cards_of(int(sample[OUT])))
    call_hand = frozenset(cards_of(int(sample[CALL_HAND])))
    hands = [[frozenset(part) for part in parts] for parts in position.hands]  # type: ignore[arg-type]
    if table.rounds[0].phase == "call":
        assert hands[CALLER][0] == call_hand
        (seen, to_come), (dealers,) = hands
        return (seen, to_come, position.tables[0], dealers, position.tables[1], out), call_hand
    # The oracle keeps emptied piles, which the text leaves out.
    unders = []
    for piles, texts in zip(table.rounds[0].piles, position.tables, strict=True):
        shown = iter(texts)
        row = [next(shown) if pile else () for pile in piles]
        unders.append(tuple(pile[1] if len(pile) == 2 else None for pile in row))
    return (hands[1 - seat][0], tuple(unders), out), call_hand


def all_worlds(table: SideBySide, seat: int) -> Iterator[World]:
    """Yields everything that a seat has to think possible, all of it equally likely."""
    round_ = table.rounds[0]
    called = [event for event in round_.history if event["action"] >= 52]
    from_hand = {
        e["action"] for e in round_.history if e["seat"] == CALLER and e["source"] == "hand"
    }
    for completion in consistent_deals(round_, seat):
        if round_.phase == "call":
            yield completion, completion[0]
        elif not called:
            yield completion, frozenset()
        elif seat == CALLER:
            yield completion, frozenset(round_.seen)
        else:
            hand = sorted(completion[0] | from_hand)
            for call_hand in itertools.combinations(hand, table.rules.seen_at_call):
                yield completion, frozenset(call_hand)


def evenness(situation: Situation, sampler: Sampler | None = None) -> float:
    """Returns how likely samples so uneven are where all worlds are equally likely."""
    table, seat = situation.table, situation.seat
    worlds = list(all_worlds(table, seat))
    view = table.views(seat)[0]
    rng = np.random.default_rng(17)
    draw = sampler or table.game.sample
    rows = np.array([draw(view, rng) for _ in range(samples_for(worlds))])
    rows[:, RNG] = 0
    found, counts = np.unique(rows, axis=0, return_counts=True)
    counted: Counter[World] = Counter()
    for row, count in zip(found, counts, strict=True):
        counted[completion_of(table, seat, row)] += int(count)
    assert len(found) == len(counted), "samples differ in nothing but what was not seen"
    return likelihood(worlds, counted)


def samples_for(worlds: list[World]) -> int:
    """Returns how many samples tell a slight unevenness."""
    return 2_000 + 12 * len(worlds)


def likelihood(worlds: list[World], counted: Counter[World]) -> float:
    """Returns the chi-square test's p-value; 0 where a world was sampled that is not possible."""
    assert len(set(worlds)) == len(worlds) > 1
    if not set(counted) <= set(worlds):
        return 0.0
    return float(chisquare([counted[world] for world in worlds]).pvalue)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
def test_all_deals_that_agree_are_sampled_equally_often(situation: Situation) -> None:
    assert evenness(situation) > SANE


def test_situations_show_all_that_can_be_known() -> None:
    features: Counter[str] = Counter()
    for situation in SITUATIONS:
        table = situation.table
        round_, other = table.rounds[0], 1 - situation.seat
        whole = len(list(consistent_deals(round_, situation.seat)))
        forgetful = round_.copy()
        forgetful.shown_void = [set(), set()]
        features["void narrows"] += len(list(consistent_deals(forgetful, situation.seat))) > whole
        features["uncovered"] += any(e["uncovered"] is not None for e in round_.history)
        features["still covered"] += any(len(pile) == 2 for pile in round_.piles[other])
        features["out"] += bool(round_.out) and round_.phase == "play"
        features["led"] += round_.lead is not None
        features[f"before the call, seat {situation.seat}"] += round_.phase == "call"
        features["from a position"] += situation.position is not None
        features[f"seat {situation.seat} in play"] += round_.phase == "play"
    assert set(features) == set(+features), "each occurs"
    assert len(features) == 10


# The test is able to fail: biased samplers are caught


@pytest.mark.parametrize("situation", VOIDS, ids=str)
def test_sampler_that_ignores_voids_is_caught(situation: Situation) -> None:
    def forgetful(view: Words, rng: np.random.Generator) -> Words:
        blind = view.copy()
        blind[VOID] = 0
        sample = Tableau().sample(blind, rng)
        sample[VOID] = view[VOID]
        return sample

    assert evenness(situation, forgetful) < SANE


@pytest.mark.parametrize("situation", VOIDS[1:], ids=str)
def test_sampler_that_deals_the_face_down_cards_before_the_hand_is_caught(
    situation: Situation,
) -> None:
    # Every one of its samples agrees, but what leaves few hands for the other comes too often.
    worlds = list(all_worlds(situation.table, situation.seat))
    by_unders: dict[Any, list[World]] = {}
    for world in worlds:
        by_unders.setdefault(world[0][1], []).append(world)
    rng = random.Random(0)
    groups = list(by_unders.values())
    counted = Counter(rng.choice(rng.choice(groups)) for _ in range(samples_for(worlds)))
    assert likelihood(worlds, counted) < SANE
    even = Counter(rng.choice(worlds) for _ in range(samples_for(worlds)))
    assert likelihood(worlds, even) > SANE


def test_sampler_with_a_slight_leaning_is_caught() -> None:
    def leaning(view: Words, rng: np.random.Generator) -> Words:
        samples = [Tableau().sample(view, rng) for _ in range(2)]
        lower = min(samples, key=lambda sample: int(sample[HAND]) + int(sample[HAND + 1]))
        return lower if rng.random() < 0.3 else samples[0]

    assert evenness(Situation(CALLER, 1, TEN), leaning) < SANE
