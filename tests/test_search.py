"""The agents that search: what they may not know, what they repeat, and what they prove."""

from __future__ import annotations

import pickle
import time
from typing import Any

import gymnasium
import numpy as np
import pytest
from honors_play import OPTIONS, name_of
from option_sets import OPTION_SETS
from plain_minimax import plain_values

from agents import tree
from agents.greedy import GreedyAgent
from agents.pimc_tableau import is_known
from agents.random import RandomAgent
from tricktable_env.cards import Mask, Words
from tricktable_env.game import ILLEGAL, RUNNING, Game
from tricktable_env.opponents import AgentSpecError, decide, decision_streams, make_agent
from tricktable_env.registry import make_game
from tricktable_env.tableau.solver import new_memory, solve
from tricktable_env.tableau.state import COVER, LEFT, OUT, TRICKS, TURN
from tricktable_lab.match import play_match

TABLEAU = [
    "montecarlo:worlds=3",
    "pimc:worlds=2,exact=3,postpone=1",
    "ismcts:iterations=30,trees=2",
]
HONORS = ["montecarlo:worlds=2", "ismcts:iterations=20"]
ROW = np.zeros(1, np.int64)


def walk(game: Game, agent: Any, seeds: int, blind_every: int = 3) -> None:
    """Plays games of an agent with itself; every choice is legal and blind to hidden cards.

    What its seat can't see is dealt anew in every view: the same seed must give the same decision.
    """
    rng = np.random.default_rng(3)
    states, rows = game.new(np.arange(seeds, dtype=np.uint64)), np.arange(seeds)
    game.deal(states, rows)
    phase = 0
    while rows.size:
        players = game.players(states, rows)
        views = game.views(states, rows, players)
        masks = game.masks(views)
        streams = decision_streams(
            np.full(len(rows), 7, np.uint64), rows, players, np.full(len(rows), phase)
        )
        actions = decide(agent, views, masks, streams)
        assert (masks[np.arange(len(rows)), actions] == 1).all()
        if phase % blind_every == 0 or len(rows) < seeds:
            worlds = np.stack([game.sample(view, rng) for view in views])
            seen = game.views(worlds, np.arange(len(rows)), players)
            half = slice(len(rows) // 2, None)  # in a batch of another size, too
            again = decide(agent, seen[half], masks[half], streams[half])
            assert (again == actions[half]).all()
        status, _ = game.step(states, rows, actions)
        assert (status != ILLEGAL).all()
        rows = rows[status == RUNNING]
        phase += 1


@pytest.mark.parametrize("spec", TABLEAU)
@pytest.mark.parametrize("options", OPTION_SETS, ids=name_of)
def test_choices_at_tableau_are_legal_and_blind_to_hidden_cards(
    options: dict[str, Any], spec: str
) -> None:
    game = make_game("tableau", **options)
    walk(game, make_agent(spec, game), 6)


@pytest.mark.parametrize("spec", HONORS)
@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
def test_choices_at_honors_are_legal_and_blind_to_hidden_cards(
    options: dict[str, Any], spec: str
) -> None:
    game = make_game("honors", **options)
    walk(game, make_agent(spec, game), 2, blind_every=9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "options", "spec"),
    [("tableau", options, spec) for options in OPTION_SETS for spec in TABLEAU]
    + [("honors", options, spec) for options in OPTIONS for spec in HONORS],
    ids=str,
)
def test_every_single_decision_is_blind_to_hidden_cards(
    name: str, options: dict[str, Any], spec: str
) -> None:
    game = make_game(name, **options)
    walk(game, make_agent(spec, game), 20, blind_every=1)


@pytest.mark.parametrize(
    ("name", "options", "spec"),
    [
        ("Tableau", {}, "montecarlo:worlds=3"),
        ("Tableau", {}, "pimc:worlds=2,exact=4"),
        ("Tableau", OPTION_SETS[4], "ismcts:iterations=15,trees=2"),
        ("Honors", {"num_players": 3, "announce": True}, "montecarlo:worlds=2"),
        ("Honors", {"suits": 2, "hand": 3}, "ismcts:iterations=15"),
    ],
)
def test_as_an_opponent_it_plays_alike_alone_in_a_batch_and_on_threads(
    name: str, options: dict[str, Any], spec: str
) -> None:
    where = f"TrickTable/{name}-v0"
    many, threaded = (
        gymnasium.make_vec(where, num_envs=3, opponent=opponent, **options)
        for opponent in (spec, f"{spec},threads=2")
    )
    alone: list[Any] = [gymnasium.make(where, opponent=spec, **options) for _ in range(3)]
    seen, infos = many.reset(seed=40)
    threaded.reset(seed=40)
    told = [env.reset(seed=40 + i) for i, env in enumerate(alone)]
    for ply in range(60):
        masks = infos["action_mask"]
        actions = np.array([np.flatnonzero(m)[7 * ply % m.sum()] for m in masks])
        seen, rewards, ended, _, infos = many.step(actions)
        assert (seen == threaded.step(actions)[0]).all()
        for i, env in enumerate(alone):
            *told[i], reward, over, _, _ = env.step(actions[i])
            assert (reward, over) == (rewards[i], ended[i])
            if over:
                told[i] = env.reset()
            assert (told[i][0] == seen[i]).all()


@pytest.mark.parametrize("spec", TABLEAU)
def test_threads_and_workers_change_no_game(spec: str) -> None:
    game = make_game("tableau")
    one = play_match(game, spec, "greedy", deals=65, seed=5)
    two = play_match(game, f"{spec},threads=2", "greedy", deals=65, seed=5, workers=2)
    assert (one.per_deal.margin == two.per_deal.margin).all()
    assert (one.per_deal.share == two.per_deal.share).all()


@pytest.mark.parametrize("spec", TABLEAU)
def test_worlds_of_one_decision_are_shared_among_threads(spec: str) -> None:
    game = make_game("tableau")
    states = game.new(np.arange(9, dtype=np.uint64))
    game.deal(states, np.arange(9))
    for row in range(9):
        game.step(states, np.array([row]), np.array([52]))
        view = game.views(states, np.array([row]), ROW)
        mask = game.masks(view)[0]
        chosen = [
            make_agent(f"{spec},threads={n}", game).act(view[0], mask, np.random.default_rng(row))
            for n in (1, 2, 3)
        ]
        assert len(set(chosen)) == 1


@pytest.mark.parametrize("spec", TABLEAU)
def test_with_a_clock_it_stops_and_plays_a_legal_action(spec: str) -> None:
    game = make_game("tableau", ranks=5, hand=4, piles=2)
    play_match(game, f"{spec},seconds=0.002", "random", deals=2, seed=1)


@pytest.mark.parametrize("spec", ["montecarlo:worlds=1", "pimc:exact=4", "ismcts:iterations=10"])
def test_a_clock_is_kept_and_not_waited_for_where_there_is_no_choice(spec: str) -> None:
    game = make_game("tableau")
    agent = make_agent(f"{spec},seconds=30", game)
    state = game.new(np.zeros(1, np.uint64))
    game.place(state[0], "C H - 8-12 765432... - .KQ3.. TC,6C,4C")  # six cards that are alike
    view = game.views(state, ROW, ROW)
    start = time.monotonic()
    agent.act(view[0], game.masks(view)[0], np.random.default_rng(0))
    assert time.monotonic() - start < 20
    agent = make_agent(f"{spec},seconds=0.3", game)
    state = game.new(np.zeros(1, np.uint64))
    game.deal(state, ROW)
    view = game.views(state, ROW, ROW)
    start = time.monotonic()
    agent.act(view[0], game.masks(view)[0], np.random.default_rng(0))
    assert 0.25 < time.monotonic() - start < 10


# -- greedy's head start ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "options", "spec"),
    [
        ("tableau", {}, "montecarlo:worlds=2"),
        ("tableau", {"reward": "margin"}, "montecarlo:worlds=2,threads=2"),
        ("tableau", {}, "pimc:worlds=2,exact=3"),
        ("tableau", {}, "ismcts:iterations=30,threads=2"),
        ("honors", {}, "ismcts:iterations=30"),
        ("honors", {"num_players": 3, "announce": True}, "montecarlo:worlds=2"),
        ("honors", {"reward": "points"}, "montecarlo:worlds=2,threads=2"),
    ],
)
def test_with_a_head_start_that_no_world_makes_up_for_it_plays_as_greedy(
    name: str, options: dict[str, Any], spec: str
) -> None:
    game = make_game(name, **options)
    sure, usual = (make_agent(f"{spec}{more}", game) for more in (",head_start=4000", ""))
    greedy = GreedyAgent(game)
    states, rows = game.new(np.arange(12, dtype=np.uint64)), np.arange(12)
    game.deal(states, rows)
    changed = 0
    while rows.size:
        players = game.players(states, rows)
        views = game.views(states, rows, players)
        masks = game.masks(views)
        streams = decision_streams(np.zeros(len(rows), np.uint64), rows, players, rows)
        simple = decide(greedy, views, masks, streams)
        alike = [lowest_alike(name, *row) for row in zip(views, simple, strict=True)]
        open_ones = np.array([name == "honors" or not is_known(view) for view in views])
        assert (decide(sure, views, masks, streams) == alike)[open_ones].all()
        changed += int((decide(usual, views, masks, streams) != alike).sum())
        status, _ = game.step(states, rows, simple)
        rows = rows[status == RUNNING]
    assert changed > 0


def lowest_alike(name: str, view: Words, action: int) -> int:
    """What a search calls an action: of cards that are alike it knows the lowest alone."""
    playouts = __import__(f"agents.playouts_{name}", fromlist=["choices"])
    base, options = playouts.choices(view) if name == "honors" else (0, playouts.choices(view))
    while not int(options) >> (action - base) & 1:
        action -= 1
    return action


@pytest.mark.parametrize("spec", TABLEAU)
def test_an_agent_can_be_sent_to_another_process(spec: str) -> None:
    game = make_game("tableau", suits=2, hand=4, piles=1)
    agent = make_agent(f"{spec},threads=2", game)
    copy = pickle.loads(pickle.dumps(agent))
    assert vars(copy).keys() == vars(agent).keys()
    assert (copy.game, copy.worlds, copy.threads) == (game, agent.worlds, 2)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("montecarlo:worlds=0", "worlds=0 is not a whole number from 1 to 1,000,000"),
        ("montecarlo:threads=0", "threads=0 is not a whole number from 1 to 256"),
        ("montecarlo:seconds=0", "seconds=0.0 is no time above 0"),
        ("montecarlo:seconds=nan", "seconds=nan is no time above 0"),
        ("ismcts:iterations=0", "iterations=0 is not a whole number from 1 to 10,000,000"),
        ("ismcts:trees=0", "trees=0 is not a whole number from 1 to"),
        ("montecarlo:head_start=-1", "head_start=-1.0 is not a number from 0 to 1,000,000"),
        ("ismcts:head_start=inf", "head_start=inf is not a number from 0 to 1,000,000"),
        ("pimc:head_start=nan", "head_start=nan is not a number from 0 to 1,000,000"),
        ("ismcts:explore=-1", "explore=-1.0 is not a number from 0"),
        ("pimc:postpone=-1", "postpone=-1 is not a whole number from 0 to 26"),
        ("pimc:exact=19", "exact=19 is not a whole number from 0 to 18"),
        ("pimc:worlds=many", "option 'worlds' of agent 'pimc' is an integer, not 'many'"),
    ],
)
def test_an_option_that_makes_no_sense_gets_one_clear_line(spec: str, message: str) -> None:
    with pytest.raises(AgentSpecError, match=message):
        make_agent(spec, make_game("tableau"))


def test_pimc_says_that_it_needs_the_solver() -> None:
    with pytest.raises(AgentSpecError, match="pimc does not play 'honors': only tableau"):
        make_agent("pimc", make_game("honors"))


# -- trees -----------------------------------------------------------------------------------
def test_a_node_counts_how_often_an_action_was_available_and_prefers_what_is_little_known() -> None:
    grown = np.empty((4, tree.COLUMNS), np.int64)
    tree.plant(grown)
    both, first_only = np.uint64(0b11), np.uint64(0b01)
    assert tree.untried(grown, 0, 52, both) == both
    for visits, action in ((10, 52), (1, 53)):
        node = tree.child_of(grown, 0, action, 0)
        grown[node, [tree.VISITS, tree.AVAILABLE, tree.TOTAL]] = visits, 11, visits * 1000
    assert tree.untried(grown, 0, 52, first_only) == 0
    assert grown[1:3, tree.AVAILABLE].tolist() == [12, 11]
    for actions, best in ((both, 53), (first_only, 52)):
        assert grown[tree.best_child(grown, 0, 52, actions, 1.0), tree.CODE] == best
    assert tree.child_of(grown, 0, 53, 0) == 2
    assert grown[0, tree.NEXT] == 3


# -- playouts --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tableau", {}),
        ("tableau", OPTION_SETS[2]),
        ("honors", {"num_players": 4}),
        ("honors", {"announce": True, "stock": "redeal", "num_players": 3}),
    ],
)
def test_a_playout_is_what_greedy_plays_by_its_views(name: str, options: dict[str, Any]) -> None:
    playouts = __import__(f"agents.playouts_{name}", fromlist=["play_greedily"])
    game = make_game(name, **options)
    states, rows = game.new(np.arange(20, dtype=np.uint64)), np.arange(20)
    game.deal(states, rows)
    played = states.copy()
    for state in played:
        playouts.play_greedily(*((state, 0) if name == "tableau" else (state,)))
    agent = GreedyAgent(game)
    while rows.size:
        views = game.views(states, rows, game.players(states, rows))
        status, _ = game.step(states, rows, agent.act_batch(views, game.masks(views), None))
        rows = rows[status == RUNNING]
    for key, values in game.outcomes(played).items():
        if key != "winner":
            assert (values == game.outcomes(states)[key]).all()


# -- perfect once all is known ---------------------------------------------------------------
class Minimax:
    """Plays perfectly with all cards known, which it is told by the test."""

    def __init__(self) -> None:
        self.state: Words = np.zeros(0, np.uint64)

    def act(self, view: Words, mask: Mask, rng: np.random.Generator) -> int:
        values = plain_values(self.state)
        return int(rng.choice(np.flatnonzero(np.array(values) == max(values))))


def known_positions(game: Game, count: int, most: int) -> list[Words]:
    """Positions of random games from where the seat to act knows every card."""
    found: list[Words] = []
    rng = np.random.default_rng(1)
    while len(found) < count:
        states = game.new(rng.integers(2**63, size=1, dtype=np.uint64))
        game.deal(states, ROW)
        most_left = int(rng.integers(2, most + 1))
        while states[0, LEFT]:
            view = game.views(states, ROW, game.players(states, ROW))
            known = not view[0, COVER] | view[0, COVER + 1]
            if known and states[0, LEFT] <= most_left and game.masks(view).sum() > 1:
                found.append(states[0].copy())
                break
            legal = np.flatnonzero(game.masks(view)[0])
            game.step(states, ROW, rng.choice(legal, 1))
    return found


@pytest.mark.parametrize("options", [{}, {"ranks": 4, "hand": 4, "piles": 2, "trump": "none"}])
def test_once_all_is_known_it_never_takes_fewer_tricks_than_the_solver_says(
    options: dict[str, Any],
) -> None:
    game = make_game("tableau", **options)
    agent = make_agent("pimc:worlds=1,exact=0", game)
    meets = [RandomAgent(game), GreedyAgent(game), Minimax()]
    memory = new_memory(1 << 12)
    rng = np.random.default_rng(2)
    for start in known_positions(game, 60, 6):
        assert start[OUT] == 0
        seat = int(start[TURN])
        value = solve(start, memory)
        for other in meets:
            states = start.copy()[None]
            while states[0, LEFT]:
                view = game.views(states, ROW, game.players(states, ROW))
                mask = game.masks(view)[0]
                mine = int(states[0, TURN]) == seat
                if isinstance(other, Minimax):
                    other.state = states[0]
                chosen = (agent if mine else other).act(view[0], mask, rng)
                game.step(states, ROW, np.array([chosen]))
            assert states[0, TRICKS + seat] - start[TRICKS + seat] >= value
