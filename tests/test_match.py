"""Matches: what decides them, what they count, and how they end."""

import itertools
import math
import os
import signal
import sys
import types
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from agents.greedy import GreedyAgent
from agents.random import RandomAgent
from tricktable_env.game import ENDED, ILLEGAL, RUNNING, Game
from tricktable_env.opponents import AgentSpecError
from tricktable_env.registry import make_game
from tricktable_env.tableau.state import CALL_HAND, PLY, TRUMP
from tricktable_lab.interrupts import held_back
from tricktable_lab.match import MatchInterrupted, WorkerDiedError, play_match
from tricktable_lab.stats import elo, rate_interval
from tricktable_lab.table import CHUNK_DEALS, MatchError, MatchOptionError

GAME = make_game("tableau")


class Lowest:
    """Takes the legal action with the lowest number; has no act_batch."""

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return int(np.flatnonzero(mask)[0])


class Cheat(Lowest):
    """Plays the ace of spades, whatever is legal, once trump is named."""

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return 12 if mask[52:].sum() == 0 else super().act(view, mask, rng)


class Spy(Lowest):
    """Remembers the cards seen at every call."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        if view[PLY] == 0 and view[TRUMP] == 5:
            self.calls.append(int(view[CALL_HAND]))
        return super().act(view, mask, rng)


class Dice(Lowest):
    """Draws from the stream it is given and remembers what came."""

    def __init__(self) -> None:
        self.drawn: list[float] = []

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        self.drawn.append(rng.random())
        return super().act(view, mask, rng)


# -- what decides a match --------------------------------------------------------------------
@pytest.mark.parametrize("spec", ["greedy", "random"])
def test_an_agent_against_itself_wins_exactly_half_of_every_deal(spec: str) -> None:
    result = play_match(GAME, spec, spec, deals=150, seed=4)
    assert (result.per_deal.share.sum(axis=1) == 1).all()
    assert (result.per_deal.margin.sum(axis=1) == 0).all()
    assert result.win_rate_a == 0.5
    assert result.ci95[0] < 0.5 < result.ci95[1]


def test_the_number_of_workers_changes_nothing_deal_by_deal() -> None:
    deals = 2 * CHUNK_DEALS + 10
    one = play_match(GAME, "greedy", "random", deals, seed=5)
    two = play_match(GAME, "greedy", "random", deals, seed=5, workers=2)
    assert (one.per_deal.share == two.per_deal.share).all()
    assert (one.per_deal.margin == two.per_deal.margin).all()
    assert one == two


def test_same_seed_same_match_other_seed_other_match() -> None:
    results = [play_match(GAME, "greedy", "random", 80, seed).per_deal.margin for seed in (0, 0, 1)]
    assert (results[0] == results[1]).all()
    assert (results[0] != results[2]).any()


def test_a_longer_match_begins_with_the_shorter_one() -> None:
    short = play_match(GAME, "random", "greedy", 10, seed=2).per_deal.margin
    long = play_match(GAME, "random", "greedy", CHUNK_DEALS + 5, seed=2).per_deal.margin
    assert (long[:10] == short).all()


def test_every_deal_is_played_twice_with_the_roles_swapped() -> None:
    a, b = Spy(), Spy()
    play_match(GAME, a, b, deals=20, seed=0)
    assert a.calls == b.calls
    assert len(set(a.calls)) == 20


def test_the_agents_named_the_other_way_round_play_the_same_games() -> None:
    """Chance belongs to (seed, deal, player, ply), not to who is A."""
    one = play_match(GAME, "greedy", "random", 100, seed=9).per_deal
    other = play_match(GAME, "random", "greedy", 100, seed=9).per_deal
    assert (one.share[:, ::-1] == 1 - other.share).all()
    assert (one.margin[:, ::-1] == -other.margin).all()


def test_no_two_decisions_of_a_game_share_a_stream() -> None:
    dice = Dice()
    play_match(GAME, dice, "greedy", deals=5, seed=0)
    assert len(set(dice.drawn)) == len(dice.drawn) == 5 * 2 * 26 + 5


# -- what it counts --------------------------------------------------------------------------
def test_the_interval_is_over_deals_not_games() -> None:
    result = play_match(GAME, "greedy", "random", deals=200, seed=3)
    per_deal = result.per_deal.share.mean(axis=1)
    low, high = scipy_stats.t.interval(
        0.95, 199, per_deal.mean(), scipy_stats.sem(per_deal, ddof=1)
    )
    assert result.ci95 == pytest.approx((low, high))
    assert result.win_rate_a == pytest.approx(per_deal.mean())
    assert result.games == 400


def test_the_json_has_the_keys_of_the_contract() -> None:
    keys = (
        "a b deals games win_rate_a ci95 elo_diff elo_ci95 mean_margin_a caller_win_rate illegal "
        "seconds"
    )
    result = play_match(GAME, "greedy", "random", deals=3, seed=0).as_json()
    assert list(result)[: len(keys.split())] == keys.split()
    assert list(result)[len(keys.split()) :] == ["pairs", "sprt", "control"]
    assert result["a"] == "greedy"
    assert result["illegal"] == 0


def test_the_callers_rate_and_the_margin_agree_with_the_games() -> None:
    result = play_match(GAME, GreedyAgent(GAME), RandomAgent(GAME), deals=100, seed=8)
    share, margin, _ = result.per_deal
    a_calls, b_calls = share[:, 0], 1 - share[:, 1]
    assert result.caller_win_rate == pytest.approx((a_calls.sum() + b_calls.sum()) / 200)
    assert ((margin[:, 0] > 0) == (share[:, 0] == 1)).all()  # 13-13 is the dealer's
    assert ((margin[:, 1] >= 0) == (share[:, 1] == 1)).all()
    assert result.mean_margin_a == pytest.approx(margin.mean())


def test_a_draw_is_half_a_win() -> None:
    game = make_game("tableau", tie="draw")
    share, margin, _ = play_match(game, "random", "greedy", deals=200, seed=0).per_deal
    assert (margin == 0).any()
    assert ((share == 0.5) == (margin == 0)).all()


def test_a_match_of_rounds_counts_once() -> None:
    rules = {"ranks": 5, "hand": 4, "piles": 2}
    single = play_match(make_game("tableau", **rules), "greedy", "random", 300, seed=6)
    match = play_match(make_game("tableau", **rules, rounds_to_win=4), "greedy", "random", 300, 6)
    assert match.games == 600
    assert match.win_rate_a > single.win_rate_a > 0.5
    assert match.mean_margin_a is None
    assert match.caller_win_rate is None


# -- three players ---------------------------------------------------------------------------
class HighestNumber:
    """A game of three: each in turn names 1, 2 or 3; who named the highest shares the win."""

    name, num_players, num_actions, words = "highest", 3, 4, 5
    rules = types.SimpleNamespace()
    seat_names: dict[str, int] = {}

    def new(self, seeds: Any) -> Any:
        return np.zeros((len(seeds), 5), np.uint64)

    def deal(self, states: Any, rows: Any) -> None:
        states[rows] = 0

    def players(self, states: Any, rows: Any) -> Any:
        turn = states[rows, 3].astype(np.int64)
        return np.where(turn == 3, -1, turn)

    def views(self, states: Any, rows: Any, players: Any) -> Any:
        return states[rows]

    def masks(self, views: Any) -> Any:
        return np.tile(np.array([0, 1, 1, 1], np.int8), (len(views), 1))

    def step(self, states: Any, rows: Any, actions: Any) -> Any:
        status = np.full(len(rows), ILLEGAL, np.int8)
        for i, row in enumerate(rows):
            if 1 <= actions[i] <= 3:
                states[row, int(states[row, 3])] = actions[i]
                states[row, 3] += np.uint64(1)
                status[i] = ENDED if states[row, 3] == 3 else RUNNING
        return status, np.zeros((len(rows), 3), np.float32)

    def shares(self, states: Any) -> Any:
        best = states[:, :3] == states[:, :3].max(1, keepdims=True)
        return best / best.sum(1, keepdims=True)

    def margins(self, states: Any) -> Any:
        points = states[:, :3].astype(np.float64)
        return points - (points.sum(1, keepdims=True) - points) / 2

    def action_text(self, action: int) -> str:
        return f"number {action}"


class Says(Lowest):
    def __init__(self, number: int) -> None:
        self.number = number

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        return self.number


def test_with_three_players_a_sits_in_every_seat_once() -> None:
    game: Game = HighestNumber()  # type: ignore[assignment]
    result = play_match(game, Says(3), Says(2), deals=4, seed=0)
    assert result.per_deal.share.tolist() == [[1.0] * 3] * 4
    assert result.per_deal.margin.tolist() == [[1.0] * 3] * 4
    assert result.games == 12
    assert result.elo_diff is None
    assert result.caller_win_rate is None
    assert play_match(game, Says(2), Says(2), 4, 0).win_rate_a == pytest.approx(1 / 3)


# -- how it ends -----------------------------------------------------------------------------
def test_an_illegal_action_ends_the_match_and_names_agent_and_action() -> None:
    with pytest.raises(MatchError, match=r"agent 'Cheat' chose AS as player \d of deal \d+.*legal"):
        play_match(GAME, "greedy", Cheat(), deals=5, seed=0)
    game: Game = HighestNumber()  # type: ignore[assignment]
    with pytest.raises(MatchError, match=r"agent 'Says' chose number 0 as player 0 of deal 0"):
        play_match(game, Says(0), Says(2), 4, 0)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"deals": 0}, "deals=0 is not at least 1"),
        ({"deals": 10**21}, "deals=1000000000000000000000 is more than 1,000,000,000"),
        ({"workers": 0}, "workers=0 is not at least 1"),
        ({"workers": 10**9}, "workers=1000000000 is more than 1,024"),
        ({"seed": -1}, "seed=-1 is not from 0"),
        ({"seed": 2**64}, "is not from 0"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers: dict[str, int], message: str) -> None:
    with pytest.raises(MatchOptionError, match=message):
        play_match(GAME, "greedy", "random", **({"deals": 1, "seed": 0} | numbers))


def test_seeds_of_64_bits_are_seeds() -> None:
    results = [play_match(GAME, "random", "greedy", 20, seed) for seed in (0, 2**64 - 1)]
    assert (results[0].per_deal.margin != results[1].per_deal.margin).any()


def test_an_unknown_agent_is_refused_before_any_process_is_started() -> None:
    with pytest.raises(AgentSpecError, match="no agent 'greed'"):
        play_match(GAME, "greed", "random", 1000, 0, workers=2)


def test_an_agent_tied_to_its_process_is_refused_by_workers() -> None:
    agent = Lowest()
    agent.act = lambda view, mask, rng: 0  # type: ignore[method-assign]
    with pytest.raises(MatchOptionError, match="can't be sent to another process"):
        play_match(GAME, agent, "random", 2 * CHUNK_DEALS, 0, workers=2)


def test_an_interrupted_match_gives_what_is_known() -> None:
    def interrupt_second(deals: int, rate: float) -> None:
        if deals > CHUNK_DEALS:
            raise KeyboardInterrupt

    with pytest.raises(MatchInterrupted) as interrupted:
        play_match(GAME, "greedy", "random", 5 * CHUNK_DEALS, 1, progress=interrupt_second)
    whole = play_match(GAME, "greedy", "random", 2 * CHUNK_DEALS, 1)
    assert interrupted.value.result == whole


class Dies(Lowest):
    """Ends its process at the second chunk that it plays in one."""

    def __init__(self) -> None:
        self.calls = 0

    def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
        self.calls += bool(mask[52:].any())
        if self.calls > 3 * CHUNK_DEALS:  # it names trump once a deal; twice against itself
            os._exit(9)
        return super().act(view, mask, rng)


def test_a_worker_that_dies_leaves_what_was_played() -> None:
    with pytest.raises(WorkerDiedError, match="a worker process died") as died:
        play_match(GAME, Dies(), "random", 50 * CHUNK_DEALS, 1, workers=2)
    result = died.value.result
    assert result is not None
    assert 0 < result.deals < 50 * CHUNK_DEALS


def test_ctrl_c_waits_for_a_block_that_holds_it_back() -> None:
    done = []

    @held_back()
    def block() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        block()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_progress_tells_deals_and_rate() -> None:
    calls: list[tuple[int, float]] = []
    result = play_match(
        GAME, "greedy", "random", CHUNK_DEALS + 1, 1, progress=lambda *told: calls.append(told)
    )
    assert [deals for deals, _ in calls] == [CHUNK_DEALS, CHUNK_DEALS + 1]
    assert calls[-1][1] == pytest.approx(result.win_rate_a)


# -- statistics ------------------------------------------------------------------------------
def test_elo_is_the_logistic_curve() -> None:
    assert elo(0.5) == 0
    assert elo(10 / 11) == pytest.approx(400)
    assert elo(0.25) == pytest.approx(-elo(0.75))  # type: ignore[operator]
    assert elo(0.0) is None
    assert elo(1.0) is None


def test_a_rate_without_spread_keeps_an_honest_interval() -> None:
    """All of n deals won: the lowest rate at which that happens in 1 of 40 matches."""
    won = rate_interval(np.ones(20))
    assert won.low**20 == pytest.approx(0.025)
    assert won.high == 1
    lost = rate_interval(np.zeros(20))
    assert (lost.low, lost.high) == (0, pytest.approx(1 - won.low))
    assert rate_interval(np.array([0.5])) == (0.5, 0.0, 1.0)
    for n in (2, 5, 400):  # the bounds of n / 2 wins in n, as if every deal were won or lost
        mean, low, high = rate_interval(np.full(n, 0.5))
        assert mean - low == pytest.approx(high - mean)
        if n % 2 == 0:
            exact = scipy_stats.binomtest(n // 2, n).proportion_ci(method="exact")
            assert (low, high) == pytest.approx((exact.low, exact.high))
    third = rate_interval(np.full(10, 1 / 3))
    assert third.low < 1 / 3 < third.high


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        low, high = rate_interval(rng.choice([0.0, 0.5, 1.0], size=30, p=[0.2, 0.4, 0.4]))[1:]
        covered += low <= 0.6 <= high
    assert covered / 2000 == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 2000))


def test_intervals_stay_between_0_and_1() -> None:
    for shares in itertools.product([0.0, 0.5, 1.0], repeat=3):
        mean, low, high = rate_interval(np.array(shares))
        assert 0 <= low <= mean <= high <= 1


def test_networks_run_on_one_thread_during_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = [6]
    torch = types.SimpleNamespace(
        get_num_threads=lambda: threads[-1], set_num_threads=threads.append
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    seen = set()

    class Net(Lowest):
        def act(self, view: Any, mask: Any, rng: np.random.Generator) -> int:
            seen.add(torch.get_num_threads())
            return super().act(view, mask, rng)

    play_match(GAME, Net(), "random", deals=1, seed=0)
    assert seen == {1}
    assert threads[-1] == 6
