"""Look-ahead of a policy: sure choices stand, flat odds leave it to the worlds, nothing leaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.lookahead import LookAhead
from agents.montecarlo import MonteCarloAgent
from agents.network import Layout, SuitNetwork
from agents.policy import WORLDS, NetworkAgent, PolicyAgent, PolicyFileError, save_policy
from agents.worlds import steepest
from tricktable_env.cards import read_card
from tricktable_env.game import Game
from tricktable_env.opponents import AgentSpecError, decision_streams, make_agent
from tricktable_env.registry import make_game

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("tableau", {}),
    ("tableau", {"suits": 3, "ranks": 8, "hand": 5, "piles": 2, "reward": "margin"}),
    ("honors", {"num_players": 3, "announce": True}),
    ("honors", {"reward": "points"}),
]
KINDS = pytest.mark.parametrize(("name", "rules"), GAMES)


def network_of(game: Game, boldness: float) -> SuitNetwork:
    """A network with random weights; the bolder, the surer of its choices."""
    torch.manual_seed(3)
    made = SuitNetwork(Layout.of(game), width=16, depth=2)
    with torch.no_grad():
        made.suit.weight.mul_(boldness)
        made.cards.score.weight.mul_(boldness)
    return made


def seen(game: Game, rows: int, plies: int) -> tuple[Any, Any, Any, Any]:
    """States in the midst of games, and views, masks and streams of the seats to act."""
    every = np.arange(rows)
    states = game.new(np.arange(rows, dtype=np.uint64))
    game.deal(states, every)
    for _ in range(plies):
        views = game.views(states, every, game.players(states, every))
        game.step(states, every, game.masks(views).argmax(1))
    views = game.views(states, every, game.players(states, every))
    keys = np.full(rows, 7, np.uint64)
    return states, views, game.masks(views), decision_streams(keys, every, every, every)


@KINDS
@pytest.mark.parametrize("plies", [0, 1, 9])
def test_with_flat_odds_the_worlds_decide(name: str, rules: dict[str, Any], plies: int) -> None:
    game = make_game(name, **rules)
    _, views, masks, streams = seen(game, 60, plies)
    log_odds = np.where(masks > 0, -np.log(masks.sum(1, keepdims=True)), -1e9).astype(np.float32)
    # Where no legal cards are alike, the odds are the same for all, and only the totals count.
    weighed = LookAhead(game, 8).weigh(log_odds, views, masks, streams.keys)
    totals = np.zeros(masks.shape, np.int64)
    MonteCarloAgent(game, 8, head_start=0).add(views, streams.keys, 0, 1, 8, totals)
    plain = ((totals > 0) == (masks > 0)).all(1) & (masks.sum(1) > 1)
    assert plain.sum() > 5
    best = np.where(masks > 0, totals, -1)
    assert (weighed.argmax(1) == best.argmax(1))[plain].all()


@KINDS
def test_what_the_network_is_sure_of_stands(name: str, rules: dict[str, Any]) -> None:
    game = make_game(name, **rules)
    _, views, masks, streams = seen(game, 60, 9)
    bold = network_of(game, 3e4)
    alone = NetworkAgent(game, bold).act_batch(views, masks, streams)
    ahead = NetworkAgent(game, bold, worlds=8).act_batch(views, masks, streams)
    assert (alone == ahead).mean() > 0.9
    shy = network_of(game, 1.0)
    alone = NetworkAgent(game, shy).act_batch(views, masks, streams)
    ahead = NetworkAgent(game, shy, worlds=8).act_batch(views, masks, streams)
    assert (alone == ahead).mean() < 0.8


@KINDS
@pytest.mark.parametrize("plies", [0, 1, 9])
@pytest.mark.parametrize("sample", [False, True])
def test_it_plays_by_what_its_seat_sees(
    name: str, rules: dict[str, Any], plies: int, sample: bool
) -> None:
    game = make_game(name, **rules)
    _, views, masks, streams = seen(game, 40, plies)
    agent = NetworkAgent(game, network_of(game, 1.0), sample, worlds=4)
    chosen = agent.act_batch(views, masks, streams)
    assert masks[np.arange(40), chosen].all()
    rng = np.random.default_rng(1)
    dealt_anew = np.stack([game.sample(view, rng) for view in views])
    players = game.players(dealt_anew, np.arange(40))
    again = game.views(dealt_anew, np.arange(40), players)
    fresh = decision_streams(np.full(40, 7, np.uint64), *[np.arange(40)] * 3)
    assert agent.act_batch(again, masks, fresh).tolist() == chosen.tolist()


def test_of_cards_that_are_alike_the_lowest_has_the_odds_of_all() -> None:
    game = make_game("tableau")
    state = game.new(np.zeros(1, np.uint64))
    game.place(state[0], "C H - 8-12 K4.76..A 3D ... 9S,TC,6C,4C,9D,QD")
    row = np.zeros(1, np.int64)
    view = game.views(state, row, row)
    mask = game.masks(view)
    odds = np.zeros(mask.shape)
    for card, share in (("KS", 0.1), ("4S", 0.2), ("7H", 0.3), ("6H", 0.15), ("AC", 0.05)):
        odds[0, read_card(card)] = share
    odds[0, read_card("3D")] = 0.2
    with np.errstate(divide="ignore"):
        log_odds = np.log(odds).astype(np.float32)
    look = LookAhead(game, 3)
    weighed = look.weigh(log_odds, view, mask, np.array([5], np.uint64))
    totals = np.zeros(mask.shape, np.int64)
    search = MonteCarloAgent(game, 3, head_start=0)
    search.add(view, np.array([5], np.uint64), 0, 1, 3, totals)
    assert weighed[0, read_card("7H")] == -np.inf  # alike with the six: no heart lies between
    said = totals[0, read_card("6H")] * 12.5 / (3 * steepest(search.values))
    assert weighed[0, read_card("6H")] - said == pytest.approx(np.log(0.45), abs=1e-5)
    assert np.isfinite(weighed[0, [read_card(card) for card in ("KS", "4S", "3D")]]).all()


def test_a_policy_says_in_how_many_worlds_it_looks_ahead(tmp_path: Path) -> None:
    game = make_game("tableau")
    network = network_of(game, 1.0)
    save_policy(network, game, tmp_path / "new" / "folder", {WORLDS: 6})
    _, views, masks, streams = seen(game, 40, 9)
    expected = NetworkAgent(game, network, worlds=6).act_batch(views, masks, streams)
    alone = NetworkAgent(game, network).act_batch(views, masks, streams)
    assert (expected != alone).any()
    spec = f"policy:{tmp_path / 'new' / 'folder'}"
    for text, chosen in (
        (spec, expected),
        (f"{spec},worlds=6", expected),
        (f"{spec},worlds=0", alone),
    ):
        agent: Any = make_agent(text, game)
        assert agent.act_batch(views, masks, streams).tolist() == chosen.tolist()
    with pytest.raises(AgentSpecError, match="worlds=-1 is not a whole number from 0"):
        make_agent(f"{spec},worlds=-1", game)


@pytest.mark.parametrize("worlds", [-1, True, 1.5, "8", None, 10**9])
def test_a_number_of_worlds_that_makes_no_sense_is_refused(tmp_path: Path, worlds: Any) -> None:
    game = make_game("tableau")
    save_policy(network_of(game, 1.0), game, tmp_path)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {WORLDS: worlds}))
    with pytest.raises(PolicyFileError, match=r"policy\.json: worlds is "):
        PolicyAgent(game, str(tmp_path))
