"""Luck taken out of a match by control variates, fixed before a card is dealt.

A control variate is a number of a deal whose mean is known: what it was above or below explains
part of A's result. Both seatings of every deal are played, so most of the luck cancels before; two
things remain that help:

- *luck*: what A uncovered beyond the expected in the two games; its mean is exactly 0.
- *closeness*: a deal that is won from one side whoever plays tells nobody apart. `greedy` plays the
  deal against itself; how far the margin is from the usual one is the control. Its mean comes from
  many other deals of the same seed, and its error is counted in.

How much of either to take out is estimated on the deals with even numbers for those with odd ones
and the other way round, so the corrected rate stays unbiased, whoever plays.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tricktable_env.game import RUNNING, Game
from tricktable_env.opponents import decide, decision_streams, make_agent
from tricktable_lab.stats import Interval, rate_interval
from tricktable_lab.table import MAX_DEALS, MatchOptionError, PerDeal, dealt

MIN_DEALS = 100
"""Fewer deals tell too little of how much to take out."""
SAMPLE_TIMES, MIN_SAMPLE, MAX_SAMPLE = 10, 20_000, 400_000
"""Deals for the mean of closeness: so many times those of the match, within these limits."""
_BATCH = 4096


@dataclass(frozen=True)
class Control:
    """The result of a match with luck taken out."""

    win_rate_a: float
    """A's rate with luck taken out; of the same mean as without."""
    ci95: tuple[float, float]
    """Its 95% interval, over deals."""
    effective_sample_factor: float
    """So many times the deals would be needed without the controls for an interval as narrow."""
    coefficients: dict[str, float]
    """What one unit of each control took out, the mean over both halves."""
    sample: int
    """Deals that the mean of closeness is from."""

    def as_json(self) -> dict[str, Any]:
        """Returns it as JSON has it."""
        return asdict(self) | {"ci95": list(self.ci95)}


def check_game(game: Game) -> None:
    """Refuses games that no control fits.

    Raises:
        AgentSpecError: nobody has written down how to play that game greedily.
        MatchOptionError: more than two players, or several rounds.
    """
    if game.num_players != 2 or getattr(game.rules, "rounds_to_win", 1) != 1:
        raise MatchOptionError("control is for two players and single rounds")
    make_agent("greedy", game)


def control_for(game: Game, seed: int, per_deal: PerDeal) -> Control | None:
    """Takes luck out of what A got in the first deals of a seed.

    Args:
        game: the game with its rules.
        seed: of the deals.
        per_deal: what A got in deals 0 to n - 1.

    Returns:
        None for fewer than `MIN_DEALS` deals.
    """
    n = len(per_deal.share)
    if n < MIN_DEALS:
        return None
    size = min(MAX_SAMPLE, max(MIN_SAMPLE, SAMPLE_TIMES * n))
    sample = greedy_margins(game, seed, MAX_DEALS, size)  # deals that no match has
    usual = np.median(sample)
    elsewhere = np.abs(sample - usual)
    closeness = np.abs(greedy_margins(game, seed, 0, n) - usual)
    controls = np.stack([per_deal.luck.mean(axis=1), closeness - elsewhere.mean()], 1)
    shares = per_deal.share.mean(axis=1)
    rates, weights = without_luck(shares, controls)
    spread, left = (float(np.var(values, ddof=1)) / n for values in (shares, rates))
    if spread == 0:  # nothing to explain
        found, factor = rate_interval(shares), 1.0
    else:
        left += weights[1] ** 2 * float(elsewhere.var(ddof=1)) / size  # the mean is not exact
        found, factor = _interval(float(rates.mean()), left, n), spread / left
    named = {"luck": float(weights[0]), "closeness": float(weights[1])}
    return Control(found.mean, (found.low, found.high), factor, named, size)


def without_luck(
    shares: npt.NDArray[np.float64], controls: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Takes controls out of shares; how much of each is learnt on the other half of the deals.

    Args:
        shares: `[n] float64`, one a deal.
        controls: `[n, k] float64`, each of mean 0.

    Returns:
        `[n] float64`, of the same mean as the shares; and `[k]`, what one unit of each control took
        out, on average.
    """
    corrected, weights = shares.copy(), []
    for half in (0, 1):
        learnt = np.column_stack([np.ones(len(shares[1 - half :: 2])), controls[1 - half :: 2]])
        fitted = np.linalg.lstsq(learnt, shares[1 - half :: 2], rcond=None)[0][1:]
        corrected[half::2] -= controls[half::2] @ fitted
        weights.append(fitted)
    return corrected, np.mean(weights, axis=0)


def _interval(mean: float, variance: float, n: int) -> Interval:
    """Student's t interval from the variance of a mean over n deals, cut to rates."""
    from scipy.special import stdtrit  # here: it takes a third of a second to import

    half = float(stdtrit(n - 1, 0.975)) * variance**0.5
    return Interval(mean, max(0.0, mean - half), min(1.0, mean + half))


def greedy_margins(game: Game, seed: int, first: int, deals: int) -> npt.NDArray[np.float64]:
    """How far player 0 is ahead at the end of each deal if `greedy` plays all seats: `[deals]`."""
    margins = []
    for start in range(first, first + deals, _BATCH):
        deal = np.arange(start, min(start + _BATCH, first + deals))
        margins.append(_play_greedily(game, seed, deal))
    return np.concatenate(margins)


def _play_greedily(game: Game, seed: int, deal: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    agent = make_agent("greedy", game)
    states, rows = dealt(game, seed, deal), np.arange(len(deal))
    while rows.size:
        views = game.views(states, rows, game.players(states, rows))
        streams = decision_streams(
            np.zeros(len(rows), np.uint64), rows, rows, rows
        )  # none is drawn
        status, _ = game.step(states, rows, decide(agent, views, game.masks(views), streams))
        rows = rows[status == RUNNING]
    margins: npt.NDArray[np.float64] = game.margins(states)[:, 0]
    return margins
