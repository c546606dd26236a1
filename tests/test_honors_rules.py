"""Honors: the engine against the oracle, scored games by hand, counts, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from honors_oracle import OracleRules, number, perft
from honors_play import OPTIONS, ROW, SideBySide, dealt, game_options, name_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tricktable_env.cards import Words
from tricktable_env.game import ENDED, ILLEGAL, NOBODY, RUNNING, PositionError, RulesError
from tricktable_env.honors import Honors, Rules
from tricktable_env.honors.state import (
    HAND,
    MAX_PLIES,
    PLAYED,
    PLY,
    STOCK,
    STOCK_AT,
    STOCK_SIZE,
    byte_of,
)


# -- against the oracle ----------------------------------------------------------------------
@settings(max_examples=35)
@given(options=game_options(), seed=st.integers(0, 2**32))
@example(options={}, seed=0)
@example(options={"hand": 1, "stock": "redeal", "announce": True}, seed=1)
@example(options={"suits": 1, "ranks": 2, "hand": 1, "trump": "S"}, seed=2)
def test_engine_plays_as_the_oracle(options: dict[str, Any], seed: int) -> None:
    table = SideBySide(options, games=2, seed=seed)
    table.assert_same()
    while table.live:
        table.step_at_random()
        table.assert_same()


@settings(max_examples=15)
@given(options=game_options(), seed=st.integers(0, 2**32))
@example(options={"num_players": 3, "stock": "redeal", "announce": True}, seed=0)
def test_engine_goes_on_from_any_position_as_the_oracle(options: dict[str, Any], seed: int) -> None:
    first = SideBySide(options, seed=seed)
    texts = []
    while first.live:
        texts.append(first.games[0].position())
        first.step_at_random()
    table = SideBySide.from_positions(texts[:: max(1, len(texts) // 9)], options, seed)
    table.assert_same()
    while table.live:
        table.step_at_random()
        table.assert_same()


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_every_set_of_options_plays_as_the_oracle(options: dict[str, Any]) -> None:
    table = SideBySide(options, games=3, seed=5)
    assert table.game.rules.deals == tuple(table.rules.deals())
    while table.live:
        table.step_at_random()
    table.assert_same()
    assert (table.game.players(table.states, table.rows) == NOBODY).all()


# -- the deal --------------------------------------------------------------------------------
@pytest.mark.parametrize("players", range(2, 8))
def test_a_deck_is_dealt_one_card_at_a_time_and_the_next_is_turned(players: int) -> None:
    game = Honors(num_players=players)
    deck = list(range(52))
    random.Random(players).shuffle(deck)
    state = dealt(game, deck)[0]
    for seat in range(players):
        assert int(state[HAND + seat]) == sum(
            1 << card for card in deck[seat : 7 * players : players]
        )
    turned, *rest = deck[7 * players :]
    stock = [byte_of(state, STOCK, i) - 1 for i in range(int(state[STOCK_SIZE]))]
    assert stock == [*rest, turned]


@pytest.mark.parametrize(
    ("players", "tricks", "turned_is_drawn"),
    [(2, 26, True), (3, 17, False), (4, 13, True), (5, 10, False), (6, 8, False), (7, 7, False)],
)
def test_how_many_tricks_there_are_and_whether_the_turned_card_is_drawn(
    players: int, tricks: int, turned_is_drawn: bool
) -> None:
    for stock in ("draw", "redeal"):
        table = SideBySide({"num_players": players, "stock": stock}, seed=players)
        turned = table.games[0].turned
        while table.live:
            table.step_at_random()
        plays = [event for event in table.games[0].log if event[0] == "play"]
        assert len(plays) == tricks * players == table.game.rules.tricks * players
        draws = [event for event in table.games[0].log if event[0] == "draw"]
        assert (turned in [card for _, _, card in draws]) == turned_is_drawn
        if turned_is_drawn and stock == "redeal":
            assert draws[-1][1:] == (players - 1, turned)
        assert int(table.states[0, STOCK_AT]) == players * (tricks - 7)


def test_under_redeal_two_players_have_four_deals() -> None:
    assert Rules(stock="redeal").deals == (7, 7, 7, 5)
    assert Rules(stock="redeal", num_players=4).deals == (7, 6)
    assert Rules(stock="redeal", num_players=7).deals == (7,)
    assert Rules(stock="none").deals == (7,)
    assert Rules().deals == (26,)


# -- scored games by hand ----------------------------------------------------------------------
def played(options: dict[str, Any], position: str, actions: str) -> tuple[list[int], list[float]]:
    """Plays a game from a position; returns the points and what the last action paid."""
    game = Honors(**options)
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], position)
    status, paid = np.array([RUNNING]), np.zeros((1, 0))
    for text in actions.split(", "):
        assert status[0] == RUNNING
        status, paid = game.step(states, ROW, np.array([game.read_action(text)]))
        assert status[0] != ILLEGAL, text
    assert status[0] == ENDED
    return game.outcomes(states)["points"][0].tolist(), paid[0].tolist()


ANNOUNCE: dict[str, Any] = {"announce": True, "hand": 2, "stock": "none", "trump": "S"}
SCORED = [
    # name, options, position, actions, points, rewards
    (
        "without announcing a trick is 1, and the ace of trumps 5 for who takes it",
        {"hand": 2, "stock": "none", "trump": "S", "suits": 2, "ranks": 2},
        "0 S - 0/0/0,0/0/0 - - AK... .AK..",
        "AS, AH, KS, KH",
        [7, 0],
        [1.0, -1.0],
    ),
    (
        "ace 5, jack 4 and queen 3 go to who takes the trick, whoever held them",
        {"hand": 3, "stock": "none", "trump": "S", "suits": 2, "ranks": 4},
        "0 S - 0/0/0,0/0/0 - AH,KH QJ.Q.. AK.J..",
        "QS, KS, AS, JS, JH, QH",
        [1, 14],
        [-1.0, 1.0],
    ),
    (
        "honors are taken by each side",
        {"hand": 2, "stock": "none", "trump": "S", "suits": 2, "ranks": 4},
        "0 S - 0/0/0,0/0/0 - KH,QH,JH,KS AJ... Q.A..",
        "AS, QS, JS, AH",
        [14, 0],
        [1.0, -1.0],
    ),
    (
        "honors of a side suit are no honors",
        {"hand": 2, "stock": "none", "trump": "H", "suits": 2, "ranks": 4},
        "0 H - 0/0/0,0/0/0 - JS,QH,AH,KH AK... Q.J..",
        "AS, QS, KS, JH",
        [1, 5],
        [-1.0, 1.0],
    ),
    (
        "exactly as announced: each trick counts 2, honors once",
        {**ANNOUNCE, "suits": 1, "ranks": 4},
        "0>0 S - 0/0/0,0/0/0 -,- - AK... QJ...",
        "announce 2, announce 1, AS, JS, KS, QS",
        [4 + 12, -2],
        [1.0, -1.0],
    ),
    (
        "zero announced and none taken",
        {**ANNOUNCE, "suits": 1, "ranks": 4, "reward": "points"},
        "0>0 S - 0/0/0,0/0/0 -,- - AK... QJ...",
        "announce 1, announce 0, AS, JS, KS, QS",
        [2 + 12, 0],
        [7 / 38, -7 / 38],
    ),
    (
        "over: each trick counts 1",
        {**ANNOUNCE, "suits": 1, "ranks": 4},
        "0>0 S - 0/0/0,0/0/0 -,- - AJ... KQ...",
        "announce 0, announce 1, AS, QS, JS, KS",
        [1 + 8, 2 + 4],
        [1.0, -1.0],
    ),
    (
        "short: tricks count 1 each and 2 are lost for each one short",
        {**ANNOUNCE, "suits": 2, "ranks": 4, "trump": "H"},
        "0>0 H - 0/0/0,0/0/0 -,- AH,KH,QH,JH AQ... KJ...",
        "announce 2, announce 2, QS, KS, JS, AS",
        [1 - 2, 1 - 2],
        [0.0, 0.0],
    ),
    (
        "short with honors: these stay",
        {**ANNOUNCE, "suits": 1, "ranks": 4},
        "0>0 S - 0/0/0,0/0/0 -,- - AJ... KQ...",
        "announce 1, announce 2, AS, QS, JS, KS",
        [2 + 8, 1 + 4 - 2],
        [1.0, -1.0],
    ),
    (
        "announce_double=points doubles everything taken when exact",
        {**ANNOUNCE, "suits": 1, "ranks": 4, "announce_double": "points"},
        "0>0 S - 0/0/0,0/0/0 -,- - AJ... KQ...",
        "announce 1, announce 0, AS, QS, JS, KS",
        [2 * (1 + 8), 1 + 4],
        [1.0, -1.0],
    ),
    (
        "two announcements in one redeal, each against its own deal",
        {"announce": True, "hand": 1, "stock": "redeal", "trump": "S", "suits": 2, "ranks": 2},
        "0>0 S - 0/0/0,0/0/0 -,- KS,KH A... .A..",
        "announce 1, announce 0, AS, AH, announce 0, announce 1, KS, KH",
        [2 + 5 + 1, 0 - 2],
        [1.0, -1.0],
    ),
    (
        "and the earlier deal's points are kept",
        {"announce": True, "hand": 1, "stock": "redeal", "trump": "C", "ranks": 1},
        "0>1 C - 0/0/-2,0/0/2 -,- - A... .A..",
        "announce 0, announce 1, AH, AS",
        [-2 + 0, 2 + 2],
        [-1.0, 1.0],
    ),
    (
        "a suit led that nobody can follow or trump takes the trick",
        {"num_players": 3, "hand": 2, "stock": "none", "trump": "C", "suits": 4, "ranks": 2},
        "0 C - 0/0/0,0/0/0,0/0/0 - AC,KC AK... .AK.. ..AK.",
        "AS, AH, AD, KS, KH, KD",
        [2, 0, 0],
        [1.0, -0.5, -0.5],
    ),
    (
        "the winner of a trick leads the next: both tricks to seat 1",
        {"num_players": 3, "hand": 2, "stock": "none", "trump": "C", "suits": 4, "ranks": 2},
        "0 C - 0/0/0,0/0/0,0/0/0 - AC,KC K.K.. A.A.. ..AK.",
        "KS, AS, AD, AH, KD, KH",
        [0, 2, 0],
        [-0.5, 1.0, -0.5],
    ),
    (
        "a win shared by two of three",
        {"num_players": 3, "hand": 2, "stock": "none", "trump": "C", "suits": 4, "ranks": 2},
        "0 C - 0/0/0,0/0/0,0/0/0 - AC,KC A.K.. K.A.. ..AK.",
        "AS, KS, AD, KH, AH, KD",
        [1, 1, 0],
        [0.25, 0.25, -0.5],
    ),
    (
        "a win shared by three of three",
        {"num_players": 3, "hand": 3, "stock": "none", "trump": "C", "suits": 4, "ranks": 3},
        "0 C - 0/0/0,0/0/0,0/0/0 - AC,KC,QC A.Q.K. K.A.Q. Q.K.A.",
        "AS, KS, QS, QH, AH, KH, QD, AD, KD",
        [1, 1, 1],
        [0.0, 0.0, 0.0],
    ),
    (
        "seven players, a card each to the end",
        {"num_players": 7, "hand": 1, "stock": "draw", "trump": "S", "suits": 1, "ranks": 13},
        "0 S - 0/0/0,0/0/0,0/0/0,0/0/0,0/0/0,0/0/0,0/0/0 - 8S,7S,6S,5S,4S,3S "
        "2... 9... T... Q... J... K... A...",
        "2S, 9S, TS, QS, JS, KS, AS",
        [0, 0, 0, 0, 0, 0, 1 + 12],
        [-1 / 6] * 6 + [1.0],
    ),
    (
        "a stock of three can't serve four: those cards stay out of play",
        {"num_players": 4, "hand": 1, "trump": "S", "suits": 1, "ranks": 7},
        "0 S - 0/0/0,0/0/0,0/0/0,0/0/0 - 8S,AS,QS K... J... T... 9...",
        "KS, JS, TS, 9S",
        [1 + 4, 0, 0, 0],
        [1.0, -1 / 3, -1 / 3, -1 / 3],
    ),
]


@pytest.mark.parametrize(
    ("options", "position", "actions", "points", "rewards"),
    [row[1:] for row in SCORED],
    ids=[row[0] for row in SCORED],
)
def test_scores(
    options: dict[str, Any], position: str, actions: str, points: list[int], rewards: list[float]
) -> None:
    made, paid = played(options, position, actions)
    assert made == points
    assert paid == np.float32(rewards).tolist()


# -- invariants ------------------------------------------------------------------------------
def bits(words: np.ndarray) -> np.ndarray:
    return words[..., None] >> np.arange(52, dtype=np.uint64) & np.uint64(1)


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_every_card_of_the_deck_is_at_one_place_at_every_ply(options: dict[str, Any]) -> None:
    table = SideBySide(options, games=6, seed=11)
    deck = np.isin(np.arange(52), table.rules.deck)
    while True:
        places = bits(table.states[:, HAND : HAND + 7]).sum(1)
        places += bits(table.states[:, PLAYED : PLAYED + 7]).sum(1)
        for row, state in enumerate(table.states):
            for i in range(int(state[STOCK_AT]), int(state[STOCK_SIZE])):
                places[row, byte_of(state, STOCK, i) - 1] += np.uint64(1)
        assert (places == deck).all()
        if not table.live:
            return
        table.step_at_random()


def random_games(game: Honors, games: int, seed: int) -> tuple[Words, np.ndarray]:
    """Plays random games to their ends; returns the last states and what the last steps paid."""
    rng = np.random.default_rng(seed)
    states = game.new(rng.integers(2**63, size=games, dtype=np.uint64))
    game.deal(states, np.arange(games))
    paid = np.zeros((games, game.num_players), np.float32)
    rows = np.arange(games)
    while len(rows):
        masks = game.masks(game.views(states, rows, game.players(states, rows)))
        assert masks.any(axis=1).all(), "who is to act always has a legal action"
        status, paid[rows] = game.step(states, rows, (rng.random(masks.shape) * masks).argmax(1))
        assert (status != ILLEGAL).all()
        assert not paid[rows][status == RUNNING].any(), "only the end pays"
        rows = rows[status == RUNNING]
    return states, paid


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_random_games_end_with_all_tricks_taken_and_pay_zero_in_sum(
    options: dict[str, Any],
) -> None:
    game = Honors(**options)
    states, paid = random_games(game, games=300, seed=5)
    assert (game.players(states, np.arange(300)) == NOBODY).all()
    assert np.abs(paid.sum(1)).max() < 1e-6
    assert (states[:, PLY] <= MAX_PLIES).all()
    shares, margins = game.shares(states), game.margins(states)
    assert shares.sum(1) == pytest.approx(np.ones(300))
    assert np.abs(margins.sum(1)).max() < 1e-9
    points = game.outcomes(states)["points"]
    assert ((shares > 0) == (points == points.max(1, keepdims=True))).all()
    played_cards = bits(states[:, PLAYED : PLAYED + 7]).sum((1, 2))
    assert (played_cards == game.rules.tricks * game.num_players).all()
    if game.rules.reward == "win":
        assert ((paid > 0) <= (shares > 0)).all()
    if not game.rules.announce and game.rules.ranks == 13:
        out_of_play = 52 - game.rules.tricks * game.num_players
        most = game.rules.tricks + 12
        assert (points.sum(1) <= most).all()
        assert out_of_play or (points.sum(1) == most).all()


def test_honors_outside_the_game_are_nobodys() -> None:
    """With 5 players two cards stay in the stock, sometimes an honor among them."""
    states, _ = random_games(Honors(num_players=5), games=400, seed=1)
    totals = set(Honors(num_players=5).outcomes(states)["points"].sum(1).tolist())
    assert {10 + 12, 10 + 7, 10 + 8, 10 + 9} < totals  # none, or one of A, J, Q
    assert totals <= {10 + 12, 10 + 7, 10 + 8, 10 + 9, 10 + 3, 10 + 4, 10 + 5}


def test_same_seed_same_game_and_deals_go_on() -> None:
    game = Honors(trump="random")
    one, other = game.new(np.array([3, 4], np.uint64)), game.new(np.array([3, 4], np.uint64))
    for _ in range(3):
        game.deal(one, np.arange(2))
        game.deal(other, np.arange(2))
        assert (one == other).all()
        assert game.position(one[0]) != game.position(one[1])
    again = game.new(np.array([3], np.uint64))
    game.deal(again, ROW)
    assert game.position(again[0]) != game.position(one[0])


# -- illegal actions -------------------------------------------------------------------------
@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_illegal_action_never_changes_the_game(options: dict[str, Any]) -> None:
    table = SideBySide(options, seed=3)
    while True:
        legal = table.games[0].legal()
        tried = [action for action in range(79) if action not in legal]
        tried += [-1, 79, 2**40, -(2**40), 2**63 - 1, -(2**63)]
        copies = np.repeat(table.states, len(tried), axis=0)
        status, paid = table.game.step(copies, np.arange(len(tried)), np.array(tried, np.int64))
        assert (status == ILLEGAL).all()
        assert not paid.any()
        assert (copies == table.states).all()
        if not table.live:
            return
        table.step_at_random()


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_announcing_is_a_phase_with_a_mask_of_its_own(options: dict[str, Any]) -> None:
    table = SideBySide(options, seed=4)
    game, announced = table.game, []
    while table.live:
        mask = game.masks(table.views(table.games[0].turn))[0]
        assert not (mask[:52].any() and mask[52:].any())
        if mask[52:].any():
            deal = len(announced) // game.num_players
            assert mask[52:].sum() == game.rules.deals[deal] + 1
            announced.append(table.games[0].turn)
        table.step_at_random()
    expected = list(table.seats) * len(game.rules.deals) if game.rules.announce else []
    assert announced == expected


# -- options and decks -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 1}, "num_players=1 is not a whole number from 2 to 7"),
        ({"num_players": 8}, "num_players=8"),
        ({"num_players": True}, "num_players=True"),
        ({"num_players": 2.0}, "num_players=2.0"),
        ({"stock": "all"}, "stock='all' is not one of draw, redeal, none"),
        ({"trump": "call"}, "trump='call' is not one of flip, random, S, H, D, C"),
        ({"announce": "yes"}, "announce='yes' is neither True nor False"),
        ({"announce": 1}, "announce=1 is neither"),
        ({"announce_double": "both"}, "announce_double='both'"),
        ({"announce_double": "points"}, "without announce=True"),
        ({"reward": "margin"}, "reward='margin' is not one of win, points"),
        ({"suits": 2, "trump": "D"}, "trump='D' is no suit of the deck"),
        ({"hand": 26}, "trump='flip' turns over a card of the stock"),
        ({"num_players": 7, "hand": 8}, "deal 56 cards from a deck of .* = 52"),
        ({"hand": 0}, "hand=0"),
        ({"ranks": 14}, "ranks=14"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        Honors(**options)


def test_numbers_and_flags_of_numpy_become_pythons() -> None:
    rules = Honors(num_players=np.int64(3), announce=np.True_).rules
    assert type(rules.num_players) is int
    assert type(rules.announce) is bool
    assert Honors(num_players=3, announce=True).rules == rules


@pytest.mark.parametrize(
    ("deck", "message"),
    [
        ([1, 2, 3], "deck lacks 2S"),
        ([*range(51), 50], "deck entry 51 is AC|KC, which came before"),
        ([*range(51), True], "deck entry 51 is True"),
        ([*range(51), 52], "deck entry 51 is 52"),
    ],
)
def test_a_deck_that_is_not_every_card_once_is_refused(deck: list[Any], message: str) -> None:
    game = Honors()
    states = game.new(np.zeros(1, np.uint64))
    with pytest.raises(PositionError, match=message):
        game.deal_deck(states[0], deck)


# -- counts of sequences of actions ----------------------------------------------------------
def engine_perft(game: Honors, states: Words, depth: int, chunk: int = 5_000) -> int:
    """Returns the number of sequences of `depth` actions from some states."""
    if len(states) > chunk:
        pieces = np.array_split(states, len(states) // chunk + 1)
        return sum(engine_perft(game, piece, depth, chunk) for piece in pieces)
    if depth == 0 or len(states) == 0:
        return len(states)
    rows = np.arange(len(states))
    masks = game.masks(game.views(states, rows, np.maximum(game.players(states, rows), 0)))
    if depth == 1:
        return int(masks.sum())
    which, actions = np.nonzero(masks)
    after = states[which]
    status, _ = game.step(after, np.arange(len(after)), actions)
    assert (status != ILLEGAL).all()
    return engine_perft(game, after, depth - 1, chunk)


@settings(max_examples=15)
@given(options=game_options().filter(lambda o: o["trump"] != "random"), seed=st.integers(0, 2**32))
def test_perft_equals_the_oracles(options: dict[str, Any], seed: int) -> None:
    rules, game = OracleRules(**options), Honors(**options)
    deck = rules.deck
    random.Random(seed).shuffle(deck)
    for depth in (1, 2, 3):
        assert engine_perft(game, dealt(game, deck), depth) == perft(rules, deck, depth)


# The decks are shuffled by random.Random(seed); the oracle counts the same up to depth 4.
PERFT: list[tuple[dict[str, Any], int, list[int]]] = [
    ({}, 0, [7, 17, 119, 361, 2_527]),
    ({"num_players": 4}, 1, [7, 11, 43, 129, 903, 2_967]),
    ({"num_players": 7}, 2, [7, 13, 23, 114, 306, 1_134]),
    ({"announce": True, "stock": "redeal"}, 3, [8, 64, 448, 1_280]),
    (
        {"num_players": 3, "suits": 2, "ranks": 6, "hand": 3},
        4,
        [3, 3, 6, 18, 54, 72, 144, 264, 288, 288, 288, 288],
    ),
    (
        {"suits": 2, "ranks": 4, "hand": 1, "stock": "redeal", "announce": True},
        5,
        [2, 4, 4, 4, 8, 16, 16, 16, 32, 64, 64, 64],
    ),
]


@pytest.mark.parametrize(("options", "seed", "counts"), PERFT, ids=str)
def test_perft_is_as_recorded(options: dict[str, Any], seed: int, counts: list[int]) -> None:
    game, deck = Honors(**options), OracleRules(**options).deck
    random.Random(seed).shuffle(deck)
    states = dealt(game, deck)
    assert [engine_perft(game, states, depth + 1) for depth in range(len(counts))] == counts


def test_cards_are_numbered_alike_in_engine_and_oracle() -> None:
    game = Honors()
    assert [number(game.action_text(card)) for card in range(52)] == list(range(52))
    assert [game.action_text(action) for action in (52, 78)] == ["announce 0", "announce 26"]
