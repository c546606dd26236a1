"""Control variates: what they are on average, and that they take out luck and nothing else."""

from typing import Any

import numpy as np
import pytest

from agents.random import RandomAgent
from tricktable_env.registry import make_game
from tricktable_env.tableau.state import PLAYED, TRUMP, history
from tricktable_lab.control import MIN_DEALS, control_for
from tricktable_lab.luck import luck_of
from tricktable_lab.match import play_match
from tricktable_lab.stats import pair_counts
from tricktable_lab.table import PerDeal, dealt

GAME = make_game("tableau")


class Other(RandomAgent):
    """As random as `random`, so of equal strength, but never the same game."""

    def act_batch(self, views: Any, masks: Any, streams: Any) -> Any:
        return super().act_batch(views, masks, type(streams)(~streams.keys))


def finished(deals: int, seed: int = 0) -> Any:
    """States of random games that are over."""
    states, rows = dealt(GAME, seed, np.arange(deals)), np.arange(deals)
    rng = np.random.default_rng(seed)
    while rows.size:
        masks = GAME.masks(GAME.views(states, rows, GAME.players(states, rows)))
        actions = (masks * rng.random(masks.shape)).argmax(1)
        status, _ = GAME.step(states, rows, actions)
        rows = rows[status == 0]
    return states


# -- luck --------------------------------------------------------------------------------------
def plain_luck(state: Any) -> float:
    """The caller's luck, read from the text of the deal."""
    fields = GAME.record(state)[0].split()
    down = [pile.split("/")[1] for table in (fields[5], fields[7]) for pile in table.split(",")]
    trump, luck = "SHDC"[int(state[TRUMP])], 0.0
    for seat, _, reveal in history(state):
        if 0 < reveal < 53:
            card = GAME.action_text(reveal - 1)
            surprise = (card[1] == trump) - sum(c[1] == trump for c in down) / len(down)
            luck += -surprise if seat else surprise
            down.remove(card)
    assert not down
    assert state[PLAYED]
    return luck


def test_luck_is_what_was_uncovered_beyond_the_expected() -> None:
    states = finished(40)
    assert luck_of(GAME, states)[:, 0] == pytest.approx([plain_luck(state) for state in states])


def test_luck_is_zero_on_average_and_one_seats_loss_is_the_others_gain() -> None:
    luck = luck_of(GAME, finished(4000, seed=5))
    assert (luck.sum(axis=1) == 0).all()
    assert abs(luck[:, 0].mean()) < 3 * luck[:, 0].std() / 4000**0.5


@pytest.mark.parametrize("spec", ["greedy", "random"])
def test_luck_is_zero_on_average_whoever_plays(spec: str) -> None:
    luck = play_match(GAME, "greedy", spec, 2000, 1).per_deal.luck
    for game in (0, 1):  # A has one seat in each; a pair of the same agent shares its luck
        assert abs(luck[:, game].mean()) < 3.5 * luck[:, game].std() / 2000**0.5


@pytest.mark.parametrize(
    "rules", [{"trump": "none"}, {"piles": 0, "hand": 5}, {"rounds_to_win": 2}]
)
def test_where_there_is_none_it_is_zero(rules: dict[str, Any]) -> None:
    game = make_game("tableau", **rules)
    assert not play_match(game, "greedy", "random", 3, 1).per_deal.luck.any()


# -- the corrected rate ------------------------------------------------------------------------
def test_it_is_unbiased_on_agents_of_equal_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    check_unbiased(monkeypatch, matches=40, deals=120)


@pytest.mark.long
def test_it_is_unbiased_on_agents_of_equal_strength_over_many_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_unbiased(monkeypatch, matches=1000, deals=200)


def check_unbiased(monkeypatch: pytest.MonkeyPatch, matches: int, deals: int) -> None:
    """Small samples for the mean of closeness, so that their error counts."""
    monkeypatch.setattr("tricktable_lab.control.MIN_SAMPLE", 500)
    monkeypatch.setattr("tricktable_lab.control.SAMPLE_TIMES", 1)
    rates, covered = [], 0
    for seed in range(matches):
        found = play_match(GAME, Other(GAME), "random", deals, seed, control=True).control
        assert found is not None
        assert found.effective_sample_factor != 1
        rates.append(found.win_rate_a)
        covered += found.ci95[0] <= 0.5 <= found.ci95[1]
    assert abs(np.mean(rates) - 0.5) < 3.5 * np.std(rates) / matches**0.5
    assert abs(covered / matches - 0.95) < 3.5 * (0.95 * 0.05 / matches) ** 0.5


def test_it_takes_out_what_the_controls_explain() -> None:
    """Made-up results that hang on luck alone, beside noise of the same size."""
    rng = np.random.default_rng(0)
    n = 2000
    luck = rng.normal(size=(n, 2))
    noise = rng.normal(size=(n, 2))
    share = 0.5 + 0.05 * luck + 0.05 * noise
    found = control_for(GAME, 0, PerDeal(share, np.zeros((n, 2)), luck))
    assert found is not None
    assert found.coefficients["luck"] == pytest.approx(0.05, abs=0.005)
    assert found.effective_sample_factor == pytest.approx(2, abs=0.2)
    plain = share.mean()
    assert abs(found.win_rate_a - 0.5) < 0.005
    assert found.win_rate_a == pytest.approx(plain - 0.05 * luck.mean(), abs=0.002)


def test_it_is_worth_something_between_agents_that_differ() -> None:
    result = play_match(GAME, "greedy", "random", 4000, 1, control=True)
    assert result.control is not None
    assert 1.03 < result.control.effective_sample_factor < 1.3
    assert result.control.win_rate_a == pytest.approx(result.win_rate_a, abs=0.004)
    assert result.as_json()["control"]["effective_sample_factor"] > 1.03


def test_identical_agents_leave_nothing_to_explain() -> None:
    control = play_match(GAME, "greedy", "greedy", MIN_DEALS, 1, control=True).control
    assert control is not None
    assert (control.win_rate_a, control.effective_sample_factor) == (0.5, 1.0)


def test_few_deals_have_no_control() -> None:
    assert play_match(GAME, "greedy", "random", MIN_DEALS - 1, 1, control=True).control is None


def test_honors_has_the_closeness_alone() -> None:
    result = play_match(make_game("honors"), "greedy", "random", 500, 1, control=True)
    assert result.control is not None
    assert result.control.coefficients["luck"] == 0
    assert result.control.effective_sample_factor > 0.9


# -- pairs -------------------------------------------------------------------------------------
def test_pairs_are_counted_by_games_won() -> None:
    shares = np.array([[0, 0], [0, 0.5], [0, 1], [1, 0], [0.5, 0.5], [1, 0.5], [1, 1]])
    assert pair_counts(shares).tolist() == [1, 1, 3, 1, 1]


def test_the_pairs_of_a_match_add_up() -> None:
    game = make_game("tableau", tie="draw")
    result = play_match(game, "greedy", "random", 300, 1)
    assert result.pairs is not None
    assert sum(result.pairs) == 300
    assert result.pairs[3] > 0
    assert sum(i * n for i, n in enumerate(result.pairs)) / 1200 == pytest.approx(result.win_rate_a)
