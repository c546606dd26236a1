"""Equilibria on reduced decks: against OpenSpiel, against linear programs, against each other."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from exploitability import FILE, policies
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tricktable_env.cards import Mask, Words
from tricktable_env.game import ENDED, RulesError
from tricktable_env.opponents import Streams
from tricktable_env.registry import make_game
from tricktable_env.tableau import Tableau
from tricktable_lab import cli
from tricktable_lab.equilibrium.agents import (
    AgentChoiceError,
    AgentOddsError,
    odds_of_agent,
    worth_of,
)
from tricktable_lab.equilibrium.sizes import count, guess
from tricktable_lab.equilibrium.solver import Solver
from tricktable_lab.equilibrium.study import EquilibriumFileError, Study, TooLargeError, check_file
from tricktable_lab.equilibrium.tree import build

JUDGED: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
TINY = {"suits": 2, "ranks": 3, "hand": 1, "piles": 1}
SMALL = {"suits": 2, "ranks": 4, "hand": 2, "piles": 1}
ROW = np.zeros(1, np.int64)


def tableau(**rules: Any) -> Tableau:
    game = make_game("tableau", **rules)
    assert isinstance(game, Tableau)
    return game


def solved(nash_conv: float = 1e-6, *, build_options: Any = None, **rules: Any) -> Solver:
    solver = Solver(build(tableau(**rules), **(build_options or {})))
    while solver.worth().nash_conv > nash_conv:
        assert solver.iterations < 5000
        for _ in range(25):
            solver.iterate()
    return solver


# -- OpenSpiel -------------------------------------------------------------------------------
@pytest.mark.parametrize("judged", JUDGED, ids=lambda judged: str(judged["rules"]))
def test_exploitability_is_what_openspiel_found(judged: dict[str, Any]) -> None:
    game = tableau(**judged["rules"])
    size = count(game)
    assert size.leaves == judged["leaves"]
    assert sum(size.information_states) == judged["information_states"]
    named = policies(judged["rules"])
    for name, theirs in judged["policies"].items():
        worth = worth_of(game, named[name])
        assert worth.nash_conv == pytest.approx(theirs["nash_conv"], abs=1e-6)
        gains = worth.high - worth.value, worth.value - worth.low
        assert gains == pytest.approx(theirs["gains"], abs=1e-6)


def compare_with_openspiel(rules: dict[str, Any], names: tuple[str, ...]) -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="needs the extra openspiel")
    pytest.importorskip("tricktable_env.interop.openspiel")
    from openspiel_tree import KeptGame

    options = ",".join(f"{key}={value}" for key, value in rules.items())
    game = pyspiel.load_game(f"python_tricktable_tableau({options})")
    kept = KeptGame(game, by_text=rules is TINY)  # millions of texts would take gigabytes
    size = count(tableau(**rules))
    assert (size.leaves, sum(size.information_states)) == (kept.leaves, kept.information_states)
    for name, odds in policies(rules).items():
        if name in names:
            worth = worth_of(tableau(**rules), odds)
            found, gains = kept.nash_conv(odds)
            assert worth.nash_conv == pytest.approx(found, abs=1e-9)
            assert worth.high - worth.value == pytest.approx(gains[0], abs=1e-9)


def test_exploitability_agrees_with_openspiel() -> None:
    compare_with_openspiel(TINY, ("uniform", "arbitrary", "greedy", "equilibrium"))


@pytest.mark.long
def test_exploitability_agrees_with_openspiel_on_eight_cards() -> None:
    compare_with_openspiel(SMALL, ("uniform", "arbitrary", "greedy", "equilibrium"))


# -- linear programs ---------------------------------------------------------------------------
class PlainGame:
    """A game walked through with its verbs, every deal by itself, as sequences of both seats."""

    def __init__(self, game: Tableau) -> None:
        self.game = game
        self.sets: tuple[dict[bytes, tuple[int, int]], ...] = ({}, {})
        """Of each seat: an information state's parent sequence and first sequence."""
        self.parents: tuple[list[int], list[int]] = ([-1], [-1])
        """Of each sequence the number of the information state it belongs to; -1 of the first."""
        self.leaves: dict[tuple[int, int], float] = {}
        deals = list(self._deals())
        for states in deals:
            self._visit(states, (0, 0), 1 / len(deals))

    def _deals(self) -> Iterator[Words]:
        cards = [c for c in range(52) if self.game.rules.deck >> c & 1]
        groups = self.game.deck_places
        places = [place for group in groups for place in group]
        trumps = range(self.game.rules.suits) if self.game.rules.trump == "random" else [None]
        for order in itertools.permutations(cards, len(places)):
            ends = list(itertools.accumulate(map(len, groups), initial=0))
            parts = [order[i:j] for i, j in itertools.pairwise(ends)]
            if any(list(part) != sorted(part) for part in parts):
                continue  # the same deal in another order
            rest = [card for card in cards if card not in order]
            deck = dict(
                zip([*places, *range(len(places), len(cards))], [*order, *rest], strict=True)
            )
            for trump in trumps:
                states = self.game.new(np.zeros(1, np.uint64))
                self.game.deal_deck(states[0], [deck[i] for i in range(len(cards))], trump)
                yield states

    def _visit(self, states: Words, at: tuple[int, int], chance: float) -> None:
        seat = int(self.game.players(states, ROW)[0])
        view = self.game.views(states, ROW, np.array([seat]))
        legal = np.flatnonzero(self.game.masks(view)[0])
        first = -1
        if len(legal) > 1:
            key, parents = view.tobytes(), self.parents[seat]
            if key not in self.sets[seat]:
                self.sets[seat][key] = at[seat], len(parents)
                parents.extend([len(self.sets[seat]) - 1] * len(legal))
            parent, first = self.sets[seat][key]
            assert parent == at[seat]
        for i, action in enumerate(legal):
            after = states.copy()
            status, paid = self.game.step(after, ROW, np.array([action]))
            now = list(at)
            if first >= 0:
                now[seat] = first + i
            if status[0] == ENDED:
                pair = now[0], now[1]
                self.leaves[pair] = self.leaves.get(pair, 0.0) + chance * float(paid[0, 0])
            else:
                self._visit(after, (now[0], now[1]), chance)

    def value(self) -> float:
        """The value by a linear program over the caller's sequences (Koller and others 1996)."""
        mine, theirs = (list(sets.values()) for sets in self.sets)
        width, base = len(self.parents[0]), len(self.parents[0]) + 1
        entries: list[tuple[int, int, float]] = []  # of the dealer's sequences: bound <= payoff
        for sequence, owner in enumerate(self.parents[1]):
            entries.append((sequence, width if owner < 0 else base + owner, 1.0))
        for number, (parent, _) in enumerate(theirs):
            entries.append((parent, base + number, -1.0))
        entries += [(second, first, -paid) for (first, second), paid in self.leaves.items()]
        plans = [(0, 0, 1.0)]
        for number, (parent, _) in enumerate(mine):
            plans.append((1 + number, parent, -1.0))
        plans += [(1 + owner, i, 1.0) for i, owner in enumerate(self.parents[0]) if owner >= 0]
        total = base + len(theirs)
        objective = np.zeros(total)
        objective[width] = -1
        done = linprog(
            objective,
            A_ub=_matrix(entries, (len(self.parents[1]), total)),
            b_ub=np.zeros(len(self.parents[1])),
            A_eq=_matrix(plans, (1 + len(mine), total)),
            b_eq=np.eye(1, 1 + len(mine))[0],
            bounds=[(0, None)] * width + [(None, None)] * (total - width),
        )
        assert done.success
        return float(-done.fun)


def _matrix(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> Any:
    rows, columns, values = zip(*entries, strict=True)
    return coo_array((values, (rows, columns)), shape)


@pytest.mark.parametrize(
    "rules",
    [
        TINY,
        TINY | {"trump": "none", "reward": "margin"},
        TINY | {"call_cards": 0, "first_lead": "dealer"},
        {"suits": 3, "ranks": 2, "hand": 3, "piles": 0, "call_cards": 1},
        {"suits": 2, "ranks": 3, "hand": 2, "piles": 0, "tie": "draw", "trump": "random"},
        {"suits": 2, "ranks": 3, "hand": 2, "piles": 0, "tie": "caller", "trump": "H"},
        {"suits": 2, "ranks": 2, "hand": 0, "piles": 1},
    ],
    ids=str,
)
def test_the_value_is_that_of_a_linear_program_over_all_deals(rules: dict[str, Any]) -> None:
    worth = solved(**rules).worth()
    value = PlainGame(tableau(**rules)).value()
    assert worth.low - 1e-7 <= value <= worth.high + 1e-7


# -- what is left out changes nothing ----------------------------------------------------------
def test_nothing_that_is_left_out_changes_the_value() -> None:
    rules = SMALL | {"tie": "draw"}
    whole: dict[str, Any] = {"symmetric": False, "solving": False, "remember": True}
    bounds = [
        solved(2e-4, build_options=whole | left_out, **rules).worth()
        for left_out in (
            {},
            {"remember": False},
            {"solving": True},
            {"symmetric": True, "solving": True, "remember": False},
        )
    ]
    assert max(worth.low for worth in bounds) <= min(worth.high for worth in bounds) + 1e-9


@pytest.mark.parametrize("trump", ["none", "random", "S"])
def test_seats_that_swap_all_they_have_swap_the_value(trump: str) -> None:
    rules = SMALL | {"trump": trump}
    ours = solved(1e-4, **rules, tie="dealer", first_lead="caller").worth()
    theirs = solved(1e-4, **rules, tie="caller", first_lead="dealer").worth()
    assert ours.low <= -theirs.low
    assert -theirs.high <= ours.high
    assert abs(ours.low + theirs.high) < 3e-4


def test_two_piles_a_seat_are_alike_in_any_order() -> None:
    rules = {"suits": 2, "ranks": 4, "hand": 0, "piles": 2}
    kept = build(tableau(**rules))
    assert len(kept.paid) < len(build(tableau(**rules), symmetric=False).paid) / 4
    once = solved(1e-6, **rules).worth()
    each = solved(1e-6, build_options={"symmetric": False}, **rules).worth()
    assert once.low == pytest.approx(each.low, abs=2e-6)


def test_a_size_is_guessed_before_it_is_counted() -> None:
    for rules in (TINY, SMALL, SMALL | {"trump": "random"}):
        game = tableau(**rules)
        assert guess(game).leaves == pytest.approx(count(game).leaves, rel=0.1)


# -- agents ----------------------------------------------------------------------------------
class Fixed:
    """Plays what a function says."""

    def __init__(self, choose: Callable[[Words, Mask, Any], int]) -> None:
        self.act = choose


def test_agents_that_draw_are_refused_unless_they_say_how() -> None:
    game = tableau(**TINY)
    drawing = Fixed(lambda view, mask, rng: int(rng.choice(np.flatnonzero(mask))))
    with pytest.raises(AgentOddsError, match="'mine' draws its actions"):
        worth_of(game, odds_of_agent(drawing, "mine"))
    illegal = Fixed(lambda view, mask, rng: int(np.flatnonzero(mask == 0)[0]))
    with pytest.raises(AgentChoiceError, match="'mine' chose 0"):
        worth_of(game, odds_of_agent(illegal, "mine"))
    last = Fixed(lambda view, mask, rng: int(np.flatnonzero(mask)[-1]))
    assert worth_of(game, odds_of_agent(last, "last")).nash_conv > 0.01


def test_a_policys_odds_are_those_that_it_plays_by() -> None:
    torch = pytest.importorskip("torch")
    from agents.network import Layout, SuitNetwork
    from agents.policy import NetworkAgent

    game = tableau(**TINY)
    torch.manual_seed(1)
    network = SuitNetwork(Layout.of(game), 8, 1)
    asked: list[tuple[Words, Mask]] = []

    def note(views: Words, masks: Mask) -> npt.NDArray[np.float64]:
        asked.append((views.copy(), masks))
        return masks / masks.sum(1, keepdims=True)

    worth_of(game, note)
    views, masks = (np.concatenate(arrays) for arrays in zip(*asked, strict=True))
    likeliest = NetworkAgent(game, network)
    streams = Streams(np.zeros(len(views), np.uint64))
    chosen = likeliest.act_batch(views, masks, streams)
    assert (likeliest.odds(views, masks) == np.eye(56)[chosen]).all()
    drawn = NetworkAgent(game, network, sample=True).odds(views, masks)
    assert np.allclose(drawn.sum(1), 1)
    assert (drawn[masks == 0] == 0).all()
    assert (drawn.max(1) < 1).any()
    with pytest.raises(ValueError, match="worlds=0"):
        NetworkAgent(game, network, worlds=4).odds(views, masks)


# -- the command -----------------------------------------------------------------------------
def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["equilibrium", *arguments])
    return (code, *capsys.readouterr())


def options(**rules: Any) -> list[str]:
    return [word for key, value in rules.items() for word in ("--rule", f"{key}={value}")]


def test_the_command_tells_the_value_and_what_agents_lose(
    capsys: pytest.CaptureFixture[str],
) -> None:
    agents = ("--agent", "random", "--agent", "greedy")
    code, out, _ = call(capsys, *options(**TINY), *agents, "--json", "--target", "1e-5")
    told = json.loads(out)
    assert code == 0
    assert told["leaves"] == 7344
    low, high = told["value"]
    assert low <= 14 / 45 <= high + 1e-12
    assert told["nash_conv"] == high - low < 1e-5
    assert told["caller_win_share"] == pytest.approx([(1 + low) / 2, (1 + high) / 2])
    uniform = JUDGED[0]["policies"]["uniform"]["nash_conv"]
    assert [one["agent"] for one in told["agents"]] == ["random", "greedy"]
    assert told["agents"][0]["nash_conv"] == pytest.approx(uniform)
    for one in told["agents"]:
        losses = [sum(one[f"{seat}_loses"]) / 2 for seat in ("caller", "dealer")]
        assert sum(losses) == pytest.approx(one["nash_conv"], abs=1e-5)
    code, out, _ = call(capsys, *options(**TINY), "--agent", "greedy", "--no-count")
    assert (code, "share won by the caller" in out, "greedy" in out) == (0, True, True)


def test_an_agent_that_draws_is_refused_before_anything_is_solved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = call(capsys, *options(**SMALL), "--agent", "montecarlo:worlds=1,head_start=0")
    assert (code, out) == (2, "")
    assert "agent 'montecarlo:worlds=1,head_start=0' draws its actions" in err


def test_a_deck_too_large_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "suits=4, ranks=13, hand=10, piles=8 goes about 7" in err
    with pytest.raises(TooLargeError, match="judging an agent"):
        Study(tableau(**SMALL), 0.02, ("random",))
    with pytest.raises(RulesError, match="rounds_to_win=2"):
        Study(tableau(**TINY, rounds_to_win=2))


def test_a_run_goes_on_from_its_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "small.npz"
    once = call(capsys, *options(**SMALL), "--json", "--no-count", "--iterations", "12")[1]
    kept = *options(**SMALL), "--json", "--no-count", "--out", str(file)
    code, out, _ = call(capsys, *kept, "--iterations", "5")
    assert (code, json.loads(out)["iterations"]) == (1, 5)
    out = call(capsys, *kept, "--iterations", "12", "--target", "1e-9")[1]
    assert json.loads(out)["value"] == json.loads(once)["value"]
    code, _, err = call(capsys, *options(**TINY), "--out", str(file))
    assert (code, err.count("\n")) == (2, 1)
    assert f"{file} is of ranks=4, but here it is 3" in err
    (tmp_path / "other.npz").write_text("{}")
    with pytest.raises(EquilibriumFileError, match=r"other\.npz: no equilibrium"):
        check_file(tmp_path / "other.npz", tableau(**TINY))


@pytest.mark.parametrize(
    "damage",
    [
        {"iterations": np.array(np.inf)},
        {"regrets0": np.nan},
        {"all_rules": 5},
        {"seconds": None},
        {"seconds": {"solving": [1]}},
    ],
    ids=str,
)
def test_a_damaged_file_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, damage: dict[str, Any]
) -> None:
    file = tmp_path / "tiny.npz"
    run = *options(**TINY), "--no-count", "--out", str(file)
    call(capsys, *run)
    with np.load(file) as arrays:
        kept = dict(arrays)
    told = json.loads(str(kept["result"]))
    for key, value in damage.items():
        if key in kept:
            kept[key] = np.full_like(kept[key], value, dtype=np.float64)
        else:
            told[key] = value
    np.savez(file, **kept | {"result": np.array(json.dumps(told))})
    code, out, err = call(capsys, *run)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{file}: no equilibrium" in err


def test_a_stopped_run_tells_and_keeps_what_it_knows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate = Solver.iterate

    def interrupted(solver: Solver) -> None:
        if solver.iterations == 3:
            raise KeyboardInterrupt
        iterate(solver)

    monkeypatch.setattr(Solver, "iterate", interrupted)
    file = tmp_path / "small.npz"
    arguments = (*options(**SMALL), "--json", "--no-count", "--out", str(file))
    code, out, err = call(capsys, *arguments, "--target", "1e-9")
    assert (code, err) == (1, "tricktable: stopped after 3 iterations\n")
    assert json.loads(out)["iterations"] == 3
    with np.load(file) as kept:
        assert json.loads(str(kept["result"]))["nash_conv"] == json.loads(out)["nash_conv"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "0"), "target=0.0 is not more than 0"),
        (("--iterations", "0"), "iterations=0 is not 1 or more"),
        (("--agent", "nobody"), "no agent 'nobody'"),
        (("--out", "nowhere/at/all.npz"), "there is no such folder"),
        (("--out", os.devnull), "is no ordinary file"),
        (("--rule", "piles=9"), "piles"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    rules = options(**TINY) if arguments[0] != "--rule" else []
    code, out, err = call(capsys, *rules, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
