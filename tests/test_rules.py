"""The rules of a round: the engine against the oracle, recorded games, counts and invariants."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle_search import perft
from oracle_texts import OracleRules, read_action, read_card
from sidebyside import ROUND_OPTIONS, SideBySide, dealt, round_options

from tricktable_env.cards import Words
from tricktable_env.game import ENDED, ILLEGAL, NOBODY, RUNNING, IllegalActionError, outcome_of
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.state import COVER, HAND, OUT, PLAYED, PLY, UNDER, UP, slot_of

DATA = Path(__file__).parent / "data"
GAMES = [json.loads(line) for line in (DATA / "tableau-games.jsonl").read_text().splitlines()]
OUT_OF_RANGE = [-1, -2, -12, -52, -128, 56, 57, 63, 64, 65, 100, 116, 127, 128, 255, 256, 308]
OUT_OF_RANGE += [2**16, 2**31 - 1, 2**31, -(2**31), 2**32, 2**32 + 12, 2**62, 2**63 - 1, -(2**63)]
"""Numbers that are no action; cut to fewer bits, or used as a shift, some would look like one."""


# The engine against the oracle


@settings(max_examples=100)
@given(options=round_options(), seed=st.integers(0, 2**32))
@example(options={}, seed=0)
@example(options={"hand": 26, "piles": 0}, seed=1)
@example(options={"hand": 0, "piles": 13}, seed=2)
@example(options={"suits": 1, "ranks": 2, "hand": 1, "piles": 0}, seed=3)
def test_engine_plays_as_the_oracle(options: dict[str, Any], seed: int) -> None:
    table = SideBySide(options, rounds=3, seed=seed)
    table.assert_same()
    while table.live:
        table.step_at_random()
        table.assert_same()


@settings(max_examples=30)
@given(options=round_options(), seed=st.integers(0, 2**32))
def test_engine_goes_on_from_any_position_as_the_oracle(options: dict[str, Any], seed: int) -> None:
    first = SideBySide(options, seed=seed)
    texts = [first.rounds[0].position()]
    while first.rounds[0].phase != "over":
        first.step_at_random()
        texts.append(first.rounds[0].position())
    table = SideBySide.from_positions(texts[:-1], options, seed)
    table.assert_same()
    while table.live:
        table.step_at_random()
        table.assert_same()


@pytest.mark.long
def test_engine_plays_as_the_oracle_for_long() -> None:
    for seed in range(300):
        options = ROUND_OPTIONS[seed % len(ROUND_OPTIONS)]
        table = SideBySide(options, rounds=20, seed=seed)
        while table.live:
            table.step_at_random()
            table.assert_same()


# Recorded games


@pytest.mark.parametrize("record", GAMES, ids=lambda record: record["position"][:24])
def test_recorded_game_replays(record: dict[str, Any]) -> None:
    options = record.get("rules", {})
    game = Tableau(**options)
    states, row = game.new(np.zeros(1, np.uint64)), np.zeros(1, np.int64)
    game.place(states[0], record["position"])
    assert game.position(states[0]) == record["position"]
    legal_counts, status = [], np.array([RUNNING])
    for text in record["plays"]:
        assert status[0] == RUNNING
        mask = game.masks(game.views(states, row, game.players(states, row)))
        legal_counts.append(int(mask.sum()))
        action = game.read_action(text)
        assert (action, game.action_text(action)) == (read_action(text), text)
        status, _ = game.step(states, row, np.array([action]))
    assert legal_counts == record["legal_counts"]
    assert status[0] == ENDED
    outcome = outcome_of(game, states[0])
    assert (outcome["tricks"].tolist(), outcome["winner"]) == (record["tricks"], record["winner"])


def test_position_may_start_in_mid_trick() -> None:
    rules = {"suits": 2, "ranks": 4, "hand": 2, "piles": 1}
    table = SideBySide.from_positions(["D H QS 1-0 A... KS J... QH/JH"], rules)
    assert np.flatnonzero(table.masks(1)[0]).tolist() == [read_card("JS")]
    assert not table.masks(0).any()
    table.step({0: read_card("JS")})
    table.assert_same()
    assert table.game.position(table.states[0]) == "C H - 2-0 A... KS ... QH/JH"


# Illegal actions


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_illegal_action_never_changes_the_game(options: dict[str, Any]) -> None:
    table = SideBySide(options, seed=3)
    round_ = table.rounds[0]
    while True:
        tried = [action for action in range(56) if action not in round_.legal()] + OUT_OF_RANGE
        copies = np.repeat(table.states, len(tried), axis=0)
        rows = np.arange(len(tried))
        status, paid = table.game.step(copies, rows, np.array(tried, np.int64))
        assert (status == ILLEGAL).all()
        assert not paid.any()
        assert (copies == table.states).all()
        if round_.phase == "over":
            return
        table.step_at_random()


def test_illegal_action_of_one_row_leaves_the_others_playing() -> None:
    table = SideBySide({}, rounds=4)
    before = table.states.copy()
    status, _ = table.game.step(table.states, np.array([3, 0, 2]), np.array([52, 99, 55]))
    assert status.tolist() == [RUNNING, ILLEGAL, RUNNING]
    assert (table.states == before).all(axis=1).tolist() == [True, True, False, False]


def test_action_that_is_no_whole_number_is_refused_and_nothing_changed() -> None:
    table = SideBySide({}, rounds=2)
    before = table.states.copy()
    for actions in ([52.0, 53.5], [True, False], ["AS", "KS"]):
        with pytest.raises(ValueError, match="whole number"):
            table.game.step(table.states, table.rows, np.array(actions))
    assert (table.states == before).all()
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        states = before.copy()
        status, _ = table.game.step(states, table.rows, np.array([52, 56], kind))
        assert status.tolist() == [RUNNING, ILLEGAL]
    too_large = np.array([2**63 + 52, 2**64 - 4], np.uint64)
    status, _ = table.game.step(table.states, table.rows, too_large)
    assert status.tolist() == [ILLEGAL, ILLEGAL]


def test_illegal_action_error_names_the_action_and_the_legal_ones() -> None:
    error = IllegalActionError("AS", ["2H", "3H"])
    assert isinstance(error, ValueError)
    assert "AS" in str(error)
    assert "2H, 3H" in str(error)


# Invariants


def place_counts(game: Tableau, states: Words) -> np.ndarray:
    """Returns how many places each card is at, `[B, 52]`: in a hand, up, under, played or out."""
    counts = np.zeros((len(states), 52), np.int64)
    cards = np.arange(52, dtype=np.uint64)
    for word in (HAND, HAND + 1, UP, UP + 1, PLAYED, PLAYED + 1, OUT):
        counts += (states[:, word, None] >> cards & np.uint64(1)).astype(np.int64)
    for seat in (0, 1):
        words = np.ascontiguousarray(states[:, UNDER + 2 * seat : UNDER + 2 * seat + 2])
        unders = words.view(np.uint8).reshape(len(states), 16)  # a byte a pile: the card + 1
        for row, top in zip(*np.nonzero(bits(states[:, COVER + seat])), strict=True):
            counts[row, int(unders[row, slot_of(states[row], top)]) - 1] += 1
    return counts


def bits(words: np.ndarray) -> np.ndarray:
    """Returns the 52 bits of each word, `[B, 52]`."""
    return words[:, None] >> np.arange(52, dtype=np.uint64) & np.uint64(1)


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_every_card_of_the_deck_is_at_one_place_at_every_ply(options: dict[str, Any]) -> None:
    table = SideBySide(options, rounds=12, seed=11)
    deck = np.isin(np.arange(52), table.rules.deck)
    while True:
        assert (place_counts(table.game, table.states) == deck).all()
        if not table.live:
            return
        table.step_at_random()


def random_games(game: Tableau, games: int, seed: int) -> tuple[Words, np.ndarray]:
    """Plays random games to their ends; returns the last states and what the last steps paid."""
    rng = np.random.default_rng(seed)
    states = game.new(rng.integers(2**63, size=games, dtype=np.uint64))
    game.deal(states, np.arange(games))
    paid = np.zeros((games, 2), np.float32)
    rows = np.arange(games)
    while len(rows):
        masks = game.masks(game.views(states, rows, game.players(states, rows)))
        assert masks.any(axis=1).all(), "who is to act always has a legal action"
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        status, paid[rows] = game.step(states, rows, actions)
        assert (status != ILLEGAL).all()
        assert not paid[rows][status == RUNNING].any(), "only the end pays"
        rows = rows[status == RUNNING]
    return states, paid


def assert_ended_well(game: Tableau, states: Words, paid: np.ndarray) -> None:
    """Checks what holds at the end of every round."""
    assert (game.players(states, np.arange(len(states))) == NOBODY).all()
    assert (paid[:, 0] == -paid[:, 1]).all()
    outcomes = [outcome_of(game, state) for state in states]
    caller = np.array([outcome["tricks"][0] for outcome in outcomes])
    dealer = np.array([outcome["tricks"][1] for outcome in outcomes])
    assert (caller + dealer == game.rules.tricks).all()
    winners = np.where(caller > dealer, "caller", np.where(caller < dealer, "dealer", "tie"))
    winners[winners == "tie"] = {"draw": "draw"}.get(game.rules.tie, game.rules.tie)
    assert [outcome["winner"] for outcome in outcomes] == winners.tolist()
    pays = {"caller": 1.0, "dealer": -1.0, "draw": 0.0}
    expected = np.array([pays[winner] for winner in winners], np.float32)
    if game.rules.reward == "margin":
        expected = ((caller - dealer) / game.rules.tricks).astype(np.float32)
    assert (paid[:, 0] == expected).all()
    shares = game.shares(states)
    margins = game.margins(states)
    won = np.array([pays[winner] for winner in winners])
    assert (shares == np.stack([1 + won, 1 - won], axis=1) / 2).all()
    assert (margins == np.stack([caller - dealer, dealer - caller], axis=1)).all()
    calls = game.rules.trump == "call"
    assert (states[:, PLY] == 2 * game.rules.tricks + calls).all()
    assert (bits(states[:, PLAYED] | states[:, PLAYED + 1]).sum(1) == 2 * game.rules.tricks).all()


@pytest.mark.parametrize("options", ROUND_OPTIONS, ids=str)
def test_random_games_end_with_all_tricks_taken_and_pay_zero_in_sum(
    options: dict[str, Any],
) -> None:
    for reward in ("win", "margin"):
        game = Tableau(**{**options, "reward": reward})
        assert_ended_well(game, *random_games(game, games=300, seed=5))


# Counts of sequences of actions


def engine_perft(game: Tableau, states: Words, depth: int, chunk: int = 5_000) -> int:
    """Returns the number of sequences of `depth` actions from some states."""
    if len(states) > chunk:
        pieces = np.array_split(states, len(states) // chunk + 1)
        return sum(engine_perft(game, piece, depth, chunk) for piece in pieces)
    if depth == 0 or len(states) == 0:
        return len(states)
    rows = np.arange(len(states))
    players = game.players(states, rows)
    masks = game.masks(game.views(states, rows, np.maximum(players, 0)))
    if depth == 1:
        return int(masks.sum())
    which, actions = np.nonzero(masks)
    after = states[which]
    status, _ = game.step(after, np.arange(len(after)), actions)
    assert (status != ILLEGAL).all()
    return engine_perft(game, after, depth - 1, chunk)


@settings(max_examples=40)
@given(
    options=round_options().filter(lambda options: options["trump"] != "random"),
    seed=st.integers(0, 2**32),
)
def test_perft_equals_the_oracles(options: dict[str, Any], seed: int) -> None:
    rules, game = OracleRules(**options), Tableau(**options)
    deck = rules.deck
    random.Random(seed).shuffle(deck)
    for depth in (1, 2, 3, 4):
        assert engine_perft(game, dealt(game, deck), depth) == perft(rules, deck, depth)


# The decks are in ascending order where the seed is None, else shuffled by random.Random(seed).
# The oracle counts the same up to depth 6, and to the end of the round where that is given.
@pytest.mark.parametrize(
    ("options", "seed", "counts"),
    [
        ({}, None, [4, 72, 420, 7_300, 40_840, 689_597, 3_666_767]),
        ({}, 0, [4, 72, 320, 5_572, 24_244, 408_836, 1_733_820]),
        ({"trump": "none"}, 0, [18, 80, 1_393, 6_061, 102_209, 433_455]),
        ({"hand": 26, "piles": 0}, 1, [4, 104, 624, 15_600]),
        ({"hand": 0, "piles": 13}, 1, [4, 52, 172, 2_236, 7_436, 95_964]),
        ({"suits": 2, "ranks": 4, "hand": 2, "piles": 1}, 0, [2, 6, 8, 18, 42, 73, 120, 120, 120]),
        (
            {"suits": 3, "ranks": 4, "hand": 2, "piles": 2},
            0,
            [3, 12, 15, 54, 66, 204, 258, 635, 798, 1_416, 1_599, 1_599, 1_599],
        ),
    ],
    ids=str,
)
def test_perft_is_as_recorded(options: dict[str, Any], seed: int | None, counts: list[int]) -> None:
    game = Tableau(**options)
    deck = OracleRules(**options).deck
    if seed is not None:
        random.Random(seed).shuffle(deck)
    states = dealt(game, deck)
    assert [engine_perft(game, states, depth + 1) for depth in range(len(counts))] == counts
