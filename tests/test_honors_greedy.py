"""The greedy agent at Honors: what it does at the table, what it may not know, its strength."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from honors_play import OPTIONS, ROW, name_of

from agents.greedy import GreedyAgent
from agents.greedy_honors import deal_points, expected_points, missing
from tricktable_env.game import ILLEGAL, RUNNING
from tricktable_env.honors import Honors
from tricktable_env.opponents import Streams
from tricktable_env.registry import make_game
from tricktable_lab.match import play_match

SHORT: dict[str, Any] = {"hand": 2, "stock": "none", "trump": "S"}


def choice(position: str, **rules: Any) -> str:
    game = Honors(**{**SHORT, **rules})
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], position)
    view = game.views(states, ROW, game.players(states, ROW))[0]
    agent = GreedyAgent(game)
    return game.action_text(agent.act(view, game.masks(view[None])[0], np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("position", "card"),
    [
        pytest.param("1 S KH 0/0/0,0/0/0 - {} 2... .AQ..", "AH", id="takes a trick"),
        pytest.param("1 S KH 0/0/0,0/0/0 - {} 2... 3.Q..", "QH", id="follows though it loses"),
        pytest.param("1 S KH 0/0/0,0/0/0 - {} 2... 3..2.", "3S", id="ruffs"),
        pytest.param("1 S KH 0/0/0,0/0/0 - {} 2... J3...", "JS", id="brings the jack home"),
        pytest.param("1 S JS 0/0/0,0/0/0 - {} 2... A3...", "AS", id="captures with the ace"),
        pytest.param("1 S KS 0/0/0,0/0/0 - {} 2... Q3...", "3S", id="protects the queen"),
        pytest.param("1 S KS 0/0/0,0/0/0 - {} 2... J3...", "3S", id="protects the jack"),
        pytest.param("1 S KH 0/0/0,0/0/0 - {} 2... ..2.3", "2D", id="loses with what it has"),
        pytest.param("0 S - 0/0/0,0/0/0 - {} J..A. K3...", "AD", id="leads no jack into a king"),
    ],
)
def test_plays(position: str, card: str) -> None:
    known = _cards(position)
    rest = [r + s for s in "SHDC" for r in "AKQJT98765432" if r + s not in known]
    assert choice(position.format(",".join(rest))) == card


def _cards(position: str) -> list[str]:
    fields = position.split(" ")
    trick = [] if fields[2] == "-" else fields[2].split(",")
    hands = [hand.split(".") for hand in fields[6:]]
    return trick + [r + "SHDC"[i] for hand in hands for i in range(4) for r in hand[i]]


def test_who_has_all_it_announced_ducks() -> None:
    rules = {"announce": True, "suits": 2, "ranks": 12, "hand": 6}
    stock = "QS,JS,TS,9S,8S,7S,JH,TH,9H,8H,7H,6H"
    position = "1 S KH 0/0/0,4/0/0 2,{} " + stock + " 3... .AQ.."
    assert choice(position.format(4), **rules) == "QH"
    assert choice(position.format(6), **rules) == "AH"


def test_announces_more_from_a_better_hand() -> None:
    """Between two players of seven cards each, none to come."""
    said = []
    for hand in ("AKQJT98...", "A5.AJ..K98", "...8765432"):
        mine = _cards(f"0 S - - - - {hand}")
        rest = [r + s for s in "HDSC" for r in "AKQJT98765432" if r + s not in mine]
        other = [name for name in rest if name[1] == "H"][:7]
        stock = ",".join(name for name in rest if name not in other)
        hands = f"{hand} .{''.join(name[0] for name in other)}.."
        said.append(choice(f"0>0 S - 0/0/0,0/0/0 -,- {stock} {hands}", announce=True, hand=7))
    numbers = [int(text.split(" ")[1]) for text in said]
    assert numbers[0] == 7
    assert 7 > numbers[1] > numbers[2]


def test_expected_points_are_those_of_the_rules_over_all_ways_to_take_tricks() -> None:
    assert [deal_points(tricks, 2) for tricks in range(5)] == [-4, -1, 4, 3, 4]
    expected = (deal_points(1, 2) + 2 * deal_points(2, 2) + deal_points(3, 2)) / 4
    assert expected_points(1, 2, 0.5, 2) == pytest.approx(expected)
    assert missing(10, 3, 4) == pytest.approx(6 / 10 * 5 / 9 * 4 / 8)
    assert missing(10, 7, 4) == 0.0


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_every_choice_is_legal_alike_alone_and_in_a_batch_and_blind_to_hidden_cards(
    options: dict[str, Any],
) -> None:
    game = Honors(**options)
    agent = GreedyAgent(game)
    rng = np.random.default_rng(3)
    states, rows = game.new(np.arange(30, dtype=np.uint64)), np.arange(30)
    game.deal(states, rows)
    while rows.size:
        players = game.players(states, rows)
        views = game.views(states, rows, players)
        masks = game.masks(views)
        actions = agent.act_batch(views, masks, Streams(np.zeros(len(rows), np.uint64)))
        assert (masks[np.arange(len(rows)), actions] == 1).all()
        one = int(rng.integers(len(rows)))
        assert agent.act(views[one], masks[one], rng) == actions[one]
        world = game.sample(views[one], rng)[None]
        seen = game.views(world, ROW, players[one : one + 1])
        assert agent.act(seen[0], masks[one], rng) == actions[one]
        status, _ = game.step(states, rows, actions)
        assert (status != ILLEGAL).all()
        rows = rows[status == RUNNING]


# -- how strong it is ------------------------------------------------------------------------
def test_it_takes_more_than_68_of_100_from_random_at_two_players() -> None:
    result = play_match(Honors(), "greedy", "random", deals=4000, seed=1)
    assert result.ci95[0] > 0.68


@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_it_takes_more_than_its_share_under_all_rules(options: dict[str, Any]) -> None:
    game = make_game("honors", **options)
    result = play_match(game, "greedy", "random", deals=1000, seed=1)
    assert result.ci95[0] > 1 / game.num_players
    assert (result.elo_diff is None) == (game.num_players > 2)


def test_version_1_is_frozen() -> None:
    """Its games with itself; a change of its ways needs another name."""
    digest = hashlib.sha256()
    for options in ({}, {"num_players": 4, "announce": True, "stock": "redeal"}):
        game = Honors(**options)
        agent = GreedyAgent(game)
        states, rows = game.new(np.arange(20, dtype=np.uint64)), np.arange(20)
        game.deal(states, rows)
        while rows.size:
            views = game.views(states, rows, game.players(states, rows))
            actions = agent.act_batch(views, game.masks(views), None)
            digest.update(actions.tobytes())
            rows = rows[game.step(states, rows, actions)[0] == RUNNING]
    assert agent.version == 1
    assert digest.hexdigest()[:16] == "644c9d30a77d81c7"
