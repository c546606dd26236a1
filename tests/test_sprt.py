"""The sequential test: its error rates, its bounds, and where a match stops."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tricktable_env.registry import make_game
from tricktable_lab import cli
from tricktable_lab.match import play_match
from tricktable_lab.sprt import Sprt, SprtError
from tricktable_lab.table import CHUNK_DEALS, MatchOptionError

GAME = make_game("tableau")


def results(
    elo: float, split: float, halves: float = 0.0
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Chances of 0 to 2 games won, of an agent that is `elo` stronger."""
    rate = 1 / (1 + 10 ** (-elo / 400))
    both = rate - split / 2 - halves / 2
    return np.array([1 - split - halves - both, halves / 2, split, halves / 2, both])


def errors(test: Sprt, chances: "np.ndarray", wrong: str, batch: int, runs: int) -> float:
    """How often a test decides wrongly."""
    rng = np.random.default_rng(1)
    count = 0
    for _ in range(runs):
        pairs, decision = np.zeros(5, np.int64), None
        while decision is None:
            pairs += rng.multinomial(batch, chances)
            decision = test.state(pairs).decision
        count += decision == wrong
    return count / runs


CASES = [
    (Sprt(0, 40), 0.6, 0.0, 16),
    (Sprt(0, 100), 0.5, 0.2, 1),
    (Sprt(-30, 60, alpha=0.1, beta=0.02), 0.3, 0.0, 8),
    (Sprt(400, 500), 0.05, 0.0, 4),
]


@pytest.mark.parametrize(("test", "split", "halves", "batch"), CASES)
def test_it_errs_no_more_often_than_it_says(
    test: Sprt, split: float, halves: float, batch: int
) -> None:
    check_errors(test, split, halves, batch, runs=150)


@pytest.mark.long
@pytest.mark.parametrize(("test", "split", "halves", "batch"), CASES)
def test_it_errs_no_more_often_than_it_says_over_many_runs(
    test: Sprt, split: float, halves: float, batch: int
) -> None:
    check_errors(test, split, halves, batch, runs=4000)


def check_errors(test: Sprt, split: float, halves: float, batch: int, runs: int) -> None:
    for elo, wrong, allowed in ((test.elo0, "H1", test.alpha), (test.elo1, "H0", test.beta)):
        found = errors(test, results(elo, split, halves), wrong, batch, runs)
        chance = 1.2 * allowed  # Wald's bounds neglect the last step
        assert found <= chance + 3 * math.sqrt(chance * (1 - chance) / runs)


@given(
    st.lists(st.integers(1, 400), min_size=5, max_size=5), st.floats(-200, 200), st.floats(5, 200)
)
def test_the_ratio_is_that_of_the_greatest_likelihoods(
    counts: list[int], elo0: float, gap: float
) -> None:
    """Compared with a search over all distributions of the mean that a hypothesis says."""
    pairs = np.array(counts)
    test = Sprt(elo0, elo0 + gap)
    found = [_greatest(pairs, 1 / (1 + 10 ** (-elo / 400))) for elo in (test.elo0, test.elo1)]
    assert test.llr(pairs) == pytest.approx(found[1] - found[0], abs=1e-3, rel=1e-3)


def _greatest(pairs: "np.ndarray", mean: float) -> float:
    """The dual problem: minimise over t the log of the empirical likelihood."""
    away = np.linspace(0, 1, 5) - mean

    def dual(x: "np.ndarray") -> float:
        inside = 1 + x[0] * away
        return np.inf if (inside <= 0).any() else -float(pairs @ np.log(inside))

    best = minimize(dual, [0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-10})
    return float(best.fun)


def test_more_wins_speak_for_the_stronger_hypothesis() -> None:
    test = Sprt(0, 10)
    assert test.llr(np.array([10, 0, 50, 0, 40])) > 0 > test.llr(np.array([40, 0, 50, 0, 10]))
    even = np.array([25, 0, 50, 0, 25])
    assert Sprt(-10, 10).llr(even) == pytest.approx(0)
    assert Sprt(0, 10).llr(np.zeros(5, np.int64)) == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((10, 0), "sprt=10,0 is not ELO0 < ELO1"),
        ((0, math.nan), "is not ELO0 < ELO1"),
        ((0, 10, 0.0), "alpha=0.0 is not between 0 and 0.5"),
        ((0, 10, 0.05, 1.0), "beta=1.0 is not between 0 and 0.5"),
    ],
)
def test_tests_that_make_no_sense_are_refused(numbers: tuple[float, ...], message: str) -> None:
    with pytest.raises(SprtError, match=message):
        Sprt(*numbers)


# -- in a match --------------------------------------------------------------------------------
def test_a_match_stops_at_the_same_deal_whoever_plays_it() -> None:
    test = Sprt(450, 520)
    one = play_match(GAME, "greedy", "random", 5000, 2, sprt=test)
    two = play_match(GAME, "greedy", "random", 5000, 2, 2, sprt=test)
    assert one == two
    assert CHUNK_DEALS < one.deals < 5000
    assert one.sprt is not None
    assert one.sprt.decision is not None
    before = play_match(GAME, "greedy", "random", one.deals - CHUNK_DEALS, 2, sprt=test)
    assert before.sprt is not None
    assert before.sprt.decision is None


def test_identical_agents_are_not_found_stronger(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["match", "greedy", "greedy", "--sprt", "0,20", "--json"]
    assert cli.main(arguments) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sprt"]["decision"] == "H0"
    assert told["pairs"] == [0, 0, told["deals"], 0, 0]


def test_the_exit_code_is_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["match", "greedy", "random", "--sprt", "0,50"]) == 0
    assert "H1: accepted" in capsys.readouterr().out
    assert cli.main(["match", "greedy", "random", "--sprt", "480,500", "--deals", "64"]) == 1
    assert "not decided" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sprt 5", "sprt '5' is not ELO0,ELO1, as 0,10"),
        ("--sprt 5,0", "sprt=5.0,0.0 is not ELO0 < ELO1"),
        ("--alpha 0.1", "alpha and beta are of a test: give --sprt"),
        ("--sprt 0,10 --game honors --num-players 3", "sprt is for two players"),
        ("--control --rule rounds_to_win=2", "control is for two players and single rounds"),
    ],
)
def test_misuse_gets_one_line(
    options: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["match", "greedy", "random", *options.split()]) == 2
    assert message in capsys.readouterr().err


def test_more_than_two_players_have_no_pairs() -> None:
    game = make_game("honors", num_players=3)
    assert play_match(game, "greedy", "random", 2, 0).pairs is None
    with pytest.raises(MatchOptionError, match="sprt is for two players"):
        play_match(game, "greedy", "random", 2, 0, sprt=Sprt(0, 10))
