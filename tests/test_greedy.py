"""The greedy agent: what it does at the table, what it may not know, and how strong it is."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from option_sets import OPTION_SETS, name_of

from agents.greedy import GreedyAgent
from agents.greedy_tableau import missing
from tricktable_env.game import ENDED, ILLEGAL, RUNNING
from tricktable_env.opponents import AgentSpecError, Streams, make_agent
from tricktable_env.registry import make_game
from tricktable_env.tableau.state import VOID
from tricktable_lab.match import play_match

CASES = Path(__file__).parent / "data" / "tableau-games.jsonl"


def choice(position: str, **rules: Any) -> str:
    game = make_game("tableau", **rules)
    states = game.new(np.zeros(1, np.uint64))
    game.place(states[0], position)
    rows = np.zeros(1, np.int64)
    view = game.views(states, rows, game.players(states, rows))[0]
    agent = GreedyAgent(game)
    return game.action_text(agent.act(view, game.masks(view[None])[0], np.random.default_rng(0)))


# -- what a card player would do -------------------------------------------------------------
@pytest.mark.parametrize(
    ("position", "card"),
    [
        pytest.param("C S 9H 12-11 .AT2.. - ..KQ. -", "TH", id="wins as cheaply as it can"),
        pytest.param("C S 9H 12-11 .85.A. - ..KQ. -", "5H", id="loses with the lowest"),
        pytest.param("C S 9H 12-11 K3..2. - ..KQ. -", "3S", id="ruffs low"),
        pytest.param("C S 9H 12-11 ..A2.K - ..KQ. -", "2D", id="discards what wins nothing"),
        pytest.param("C S 9S 12-11 ..AK2. - ..QJ. -", "2D", id="keeps winners when out of trumps"),
        pytest.param("C S JD 12-11 ..Q. KD/2C ..32. -", "KD", id="uncovers with one of equals"),
    ],
)
def test_follows(position: str, card: str) -> None:
    assert choice(position) == card


@pytest.mark.parametrize(
    ("position", "card"),
    [
        pytest.param("C S - 12-12 ..A2. - ... KD,QD", "AD", id="leads what can't be beaten"),
        pytest.param("C S - 12-12 ..K.K - ... AD,2C", "KC", id="not into a face-up winner"),
        pytest.param("C S - 11-12 A.42.. - ... KS,3S,4C", "2H", id="forces a ruff with its lowest"),
        pytest.param("C S - 11-11 AKQ..A. - ... JS,TS,3D,4H", "QS", id="draws trumps when longer"),
        pytest.param("C S - 11-12 ..K.K2 - ... 3D,3C,QC", "KC", id="long suits first"),
    ],
)
def test_leads(position: str, card: str) -> None:
    assert choice(position) == card


@pytest.mark.parametrize(
    ("seen", "call"),
    [("K.32..", "trump H"), ("2.A.3.", "trump H"), ("2.K.A.", "trump D"), ("A..32.", "trump D")],
)
def test_calls_the_longest_suit_then_the_strongest(seen: str, call: str) -> None:
    position = f"C - - 0-0 {seen}+...2 - ...AKQJ -"
    assert choice(position, hand=4, piles=0, call_cards=3) == call


def test_a_suit_that_the_hand_has_shown_to_lack_counts_as_gone() -> None:
    """The dealer has not followed a spade, so the ace lies face down and the three is a winner."""
    game = make_game("tableau", trump="none", hand=3, piles=1)
    states = game.new(np.zeros(1, np.uint64))
    rows = np.zeros(1, np.int64)
    game.place(states[0], "C N - 0-0 32..K. 5H/6H .87.2. 4C/AS")
    choices = []
    for card in ("2S", "2D"):
        status, _ = game.step(states, rows, np.array([game.read_action(card)]))
        assert status[0] == RUNNING
    view = game.views(states, rows, np.zeros(1, np.int64))
    for void in (view[0, VOID], 0):
        view[0, VOID] = void
        action = GreedyAgent(game).act_batch(view, game.masks(view), None)[0]
        choices.append(game.action_text(int(action)))
    assert choices == ["3S", "KD"]


def test_missing_is_the_chance_that_a_hand_has_none_of_some_cards() -> None:
    assert missing(10, 0, 4) == 1.0
    assert missing(10, 7, 4) == 0.0
    assert missing(5, 2, 0) == 1.0
    assert missing(10, 3, 4) == pytest.approx(6 / 10 * 5 / 9 * 4 / 8)


# -- what it is as an agent ------------------------------------------------------------------
@pytest.mark.parametrize("options", OPTION_SETS, ids=name_of)
def test_every_choice_is_legal_alike_alone_and_in_a_batch_and_blind_to_hidden_cards(
    options: dict[str, Any],
) -> None:
    game = make_game("tableau", **options)
    agent = make_agent("greedy", game)
    rng = np.random.default_rng(3)
    states = game.new(np.arange(40, dtype=np.uint64))
    rows = np.arange(40)
    game.deal(states, rows)
    while rows.size:
        players = game.players(states, rows)
        views = game.views(states, rows, players)
        masks = game.masks(views)
        actions = agent.act_batch(views, masks, Streams(np.zeros(len(rows), np.uint64)))  # type: ignore[attr-defined]
        assert (masks[np.arange(len(rows)), actions] == 1).all()
        one = int(rng.integers(len(rows)))
        assert agent.act(views[one], masks[one], rng) == actions[one]
        world = game.sample(views[one], rng)[None]
        seen = game.views(world, np.zeros(1, np.int64), players[one : one + 1])
        assert agent.act(seen[0], masks[one], rng) == actions[one]
        status, _ = game.step(states, rows, actions)
        assert (status != ILLEGAL).all()
        rows = rows[status == RUNNING]


def test_a_game_that_it_does_not_play_is_refused_by_name() -> None:
    class Patience:
        name = "patience"

    with pytest.raises(AgentSpecError, match="greedy does not play 'patience'; it plays tableau"):
        GreedyAgent(Patience())  # type: ignore[arg-type]


def test_it_can_be_sent_to_another_process() -> None:
    agent = GreedyAgent(make_game("tableau", suits=2, hand=4, piles=1))
    copy = pickle.loads(pickle.dumps(agent))
    assert copy.game == agent.game


# -- how strong it is ------------------------------------------------------------------------
def test_it_beats_random_in_more_than_88_of_100_games() -> None:
    result = play_match(make_game("tableau"), "greedy", "random", deals=2000, seed=1)
    assert result.ci95[0] > 0.88


@pytest.mark.parametrize("options", OPTION_SETS[1:], ids=name_of)
def test_it_beats_random_under_other_rules(options: dict[str, Any]) -> None:
    result = play_match(make_game("tableau", **options), "greedy", "random", deals=1000, seed=1)
    assert result.ci95[0] > 0.5


def test_version_1_is_frozen() -> None:
    """Its games with itself from 40 recorded deals; a change of its ways needs another name."""
    game = make_game("tableau")
    agent = GreedyAgent(game)
    digest = hashlib.sha256()
    rows = np.zeros(1, np.int64)
    for line in CASES.read_text().splitlines():
        states = game.new(np.zeros(1, np.uint64))
        game.place(states[0], json.loads(line)["position"])
        status = RUNNING
        while status != ENDED:
            view = game.views(states, rows, game.players(states, rows))
            action = agent.act_batch(view, game.masks(view), None)
            digest.update(game.action_text(int(action[0])).encode())
            status = game.step(states, rows, action)[0][0]
    assert agent.version == 1
    assert digest.hexdigest()[:16] == "25b1832c689d50b6"
