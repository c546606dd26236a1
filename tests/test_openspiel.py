"""OpenSpiel: its own checks, one deal a history, and information states that are the engine's."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="needs the extra openspiel")

import pyspiel
from open_spiel.python.algorithms import cfr, exploitability
from open_spiel.python.algorithms.generate_playthrough import playthrough

from tricktable_env.game import NOBODY, IllegalActionError, RulesError
from tricktable_env.interop.openspiel import TrickTableState
from tricktable_env.registry import GAMES, make_game

TINY = "python_tricktable_tableau(suits=2,ranks=3,hand=1,piles=1)"
SMALL = [
    TINY,
    "python_tricktable_tableau(suits=2,ranks=5,hand=4,piles=0,call_cards=3)",
    "python_tricktable_tableau(suits=2,ranks=4,hand=1,piles=1,trump=random,first_lead=dealer)",
    "python_tricktable_tableau(suits=3,ranks=3,hand=2,piles=1,trump=none,reward=margin,tie=draw)",
    "python_tricktable_honors(suits=2,ranks=4,hand=2)",
    "python_tricktable_honors(num_players=4,suits=3,ranks=6,hand=2,stock=redeal,reward=points)",
    "python_tricktable_honors(num_players=3,suits=3,ranks=5,hand=1,trump=random,announce=True)",
]
FULL = ["python_tricktable_tableau", "python_tricktable_honors(num_players=3,announce=True)"]
RECORDED = Path(__file__).parent / "playthroughs" / "openspiel" / "tableau.txt"


def walk(state: TrickTableState) -> Iterator[TrickTableState]:
    """Every state that can be reached, depth first."""
    yield state
    for action in state.legal_actions():
        yield from walk(state.child(action))


def play(game: str, seed: int) -> Iterator[TrickTableState]:
    """The states of a random round once all is dealt."""
    rng, state = random.Random(seed), pyspiel.load_game(game).new_initial_state()
    while not state.is_terminal():
        if not state.is_chance_node():
            yield state.clone()
        state.apply_action(rng.choice(state.legal_actions()))
    yield state


@pytest.mark.parametrize("game", SMALL + FULL)
def test_the_checks_of_openspiel_pass(game: str) -> None:
    pyspiel.random_sim_test(pyspiel.load_game(game), num_sims=2, serialize=True, verbose=False)


def test_playthrough_is_as_recorded() -> None:
    now = playthrough(TINY, None, seed=3)
    assert now.strip().splitlines() == RECORDED.read_text(encoding="utf-8").strip().splitlines(), (
        f"if this is meant, write playthrough({TINY!r}, None, seed=3) of "
        f"open_spiel.python.algorithms.generate_playthrough to {RECORDED.name}, review the diff"
    )


@pytest.mark.parametrize("name", GAMES)
def test_every_option_is_a_parameter_with_its_default(name: str) -> None:
    game = pyspiel.load_game(f"python_tricktable_{name}")
    assert game.table.game == make_game(name)
    assert set(game.get_parameters()) == set(vars(make_game(name).rules))


def test_options_that_make_no_sense_are_refused() -> None:
    for options in ("suits=5", "tie=mine", "rounds_to_win=2"):
        with pytest.raises(RulesError, match=options.partition("=")[0]):
            pyspiel.load_game(f"python_tricktable_tableau({options})")


@pytest.mark.parametrize("game", SMALL[:1] + SMALL[2:3])
def test_every_deal_is_reached_once_and_is_as_likely_as_shuffling_makes_it(game: str) -> None:
    root = pyspiel.load_game(game).new_initial_state()
    deals: dict[str, float] = {}

    def deal(state: TrickTableState, probability: float) -> None:
        if not state.is_chance_node():
            assert str(state) not in deals
            deals[str(state)] = probability
            return
        outcomes = state.chance_outcomes()
        assert math.isclose(sum(p for _, p in outcomes), 1)
        for outcome, p in outcomes:
            deal(state.child(outcome), probability * p)

    deal(root, 1.0)
    assert len(deals) == {SMALL[0]: 720, SMALL[2]: math.perm(8, 6) * 2}[game]
    assert all(math.isclose(p, 1 / len(deals)) for p in deals.values())


def test_cards_of_one_hand_are_dealt_in_one_order_alone() -> None:
    root = pyspiel.load_game(SMALL[1]).new_initial_state()
    ways = {()}
    for _ in range(3):
        ways = {(*way, card) for way in ways for card, _ in root.get_game().table.outcomes(way)}
    assert len(ways) == math.comb(10, 3)  # what the caller sees at the call
    assert all(list(way) == sorted(way) for way in ways)


def test_information_states_are_the_engines_and_nothing_is_forgotten() -> None:
    strings: list[dict[str, str]] = [{}, {}]
    tensors: list[dict[bytes, str]] = [{}, {}]
    pasts: dict[str, tuple[Any, ...]] = {}
    masks: dict[str, list[int]] = {}
    leaves = 0

    def visit(state: TrickTableState, past: tuple[tuple[Any, ...], tuple[Any, ...]]) -> None:
        nonlocal leaves
        leaves += state.is_terminal()
        if not state.is_chance_node():
            for seat in (0, 1):
                told = state.information_state_string(seat)
                engine = state.get_game().table.game.information_state(state.row, seat)
                assert strings[seat].setdefault(told, engine) == engine
                tensor = np.array(state.information_state_tensor(seat)).tobytes()
                assert tensors[seat].setdefault(tensor, told) == told
                assert pasts.setdefault(told, past[seat]) == past[seat]  # perfect recall
        player = state.current_player()
        for action in state.legal_actions():
            seen = past
            if player >= 0:
                told = state.information_state_string(player)
                assert masks.setdefault(told, state.legal_actions()) == state.legal_actions()
                step = (*past[player], (told, action))
                seen = (step, past[1]) if player == 0 else (past[0], step)
            visit(state.child(action), seen)

    visit(pyspiel.load_game(TINY).new_initial_state(), ((), ()))
    for seat in (0, 1):
        assert len(set(strings[seat].values())) == len(strings[seat]) == len(tensors[seat])
    assert leaves == 7344


@pytest.mark.parametrize("game", SMALL + FULL)
def test_what_a_round_pays_and_allows_is_what_the_engine_says(game: str) -> None:
    rows = np.zeros(1, np.int64)
    for seed in range(2):
        *before, last = play(game, seed)
        engine, states = last.get_game().table.game, before[0].row[None].copy()
        for state, action in zip(before, engine.record(last.row)[1], strict=True):
            player = engine.players(states, rows)
            assert state.current_player() == player[0]
            mask = engine.masks(engine.views(states, rows, player))[0]
            assert state.legal_actions() == np.flatnonzero(mask).tolist()
            _, paid = engine.step(states, rows, np.array([action]))
        assert engine.players(states, rows)[0] == NOBODY
        assert last.returns() == pytest.approx(paid[0].tolist(), abs=1e-6)
        assert math.isclose(sum(last.returns()), 0, abs_tol=1e-12)
        assert len(before) == last.get_game().max_game_length()


@pytest.mark.parametrize("game", SMALL)
def test_copies_go_on_alike_and_leave_the_original_alone(game: str) -> None:
    for i, state in enumerate(play(game, 4)):
        before = str(state)
        restored = pyspiel.deserialize_game_and_state(
            pyspiel.serialize_game_and_state(state.get_game(), state)
        )[1]
        pickled = pickle.loads(pickle.dumps(state))
        for other in (state.clone(), copy.deepcopy(state), pickled, restored):
            assert (str(other), other.history()) == (before, state.history())
        while not restored.is_terminal():
            restored.apply_action(restored.legal_actions()[-1])
        assert str(state) == before
        if i > 3:
            break


@pytest.mark.parametrize("game", SMALL + FULL)
def test_resampled_states_are_the_same_to_the_player_and_differ_elsewhere(game: str) -> None:
    numbers, rests = random.Random(1), set()
    for i, state in enumerate(play(game, 7)):
        if i % 3 or state.is_terminal():
            continue
        player = state.current_player()
        for _ in range(4):
            other = state.resample_from_infostate(player, numbers.random)
            told = other.information_state_string(player)
            assert told == state.information_state_string(player)
            assert other.legal_actions() == state.legal_actions()
            rests.add(str(other))
    assert len(rests) > 4


def test_resampling_is_even() -> None:
    state = next(play(TINY, 0))
    counts: dict[str, int] = defaultdict(int)
    numbers = random.Random(0)
    for _ in range(2400):
        counts[str(state.resample_from_infostate(0, numbers.random))] += 1
    assert len(counts) == math.factorial(5)  # the caller has seen one card of six
    assert sum((n - 20) ** 2 / 20 for n in counts.values()) < 119 + 5 * math.sqrt(2 * 119)


def test_an_illegal_action_is_refused_and_changes_nothing() -> None:
    state = next(play(TINY, 0))
    before = str(state)
    with pytest.raises(IllegalActionError, match="trump D"):
        state.apply_action(54)
    with pytest.raises(IllegalActionError, match="AC"):
        state.get_game().new_initial_state().apply_action(51)
    assert str(state) == before


def test_cfr_brings_exploitability_down() -> None:
    game = pyspiel.load_game("python_tricktable_tableau(suits=2,ranks=3,hand=2,piles=0)")
    solver, values = cfr.CFRPlusSolver(game), []
    for iterations in (1, 4):
        for _ in range(iterations):
            solver.evaluate_and_update_policy()
        values.append(exploitability.nash_conv(game, solver.average_policy()))
    assert values[1] < values[0]
