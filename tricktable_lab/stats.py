"""Statistics of matches. A deal is the unit, never a game: the games of one deal are alike."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


def rate_interval(shares: npt.NDArray[np.float64], confidence: float = 0.95) -> Interval:
    """Returns the mean of shares between 0 and 1, with Student's t interval cut to that range.

    Where all deals gave the same share there is no spread for t to measure; then the interval is
    that of n deals won or lost outright at that rate (Clopper and Pearson 1934).

    Args:
        shares: `[n] float64`, n >= 1, one a deal: what part of the deal's games was won.
        confidence: the chance that the interval is to cover the true rate.
    """
    n, mean = len(shares), float(np.mean(shares))
    if mean in (0.0, 1.0):
        bound = ((1 - confidence) / 2) ** (1 / n)
        return Interval(mean, bound, 1.0) if mean == 1.0 else Interval(mean, 0.0, 1 - bound)
    if n == 1:
        return Interval(mean, 0.0, 1.0)
    from scipy.special import betaincinv, stdtrit  # here: it takes a third of a second to import

    if shares.min() == shares.max():
        won, tail = n * mean, (1 - confidence) / 2
        low, high = betaincinv(won, n - won + 1, tail), betaincinv(won + 1, n - won, 1 - tail)
        return Interval(mean, float(low), float(high))
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(np.std(shares, ddof=1)) / n**0.5
    return Interval(mean, max(0.0, mean - half), min(1.0, mean + half))


def mean_interval(
    values: npt.NDArray[np.float64], low: float, high: float, confidence: float = 0.95
) -> Interval:
    """Returns the mean of values that can't leave a range, with Student's t interval cut to it.

    Where all values are the same there is no spread for t to measure. Then what is known is that
    another value comes less often than 1 - ((1 - confidence) / 2) ** (1 / n), and it may lie
    anywhere in the range.

    Args:
        values: `[n] float64`, n >= 1, one a deal.
        low: the least that a value can be.
        high: the most.
        confidence: the chance that the interval is to cover the true mean.
    """
    n, mean = len(values), float(np.mean(values))
    if n == 1:
        return Interval(mean, low, high)
    if values.min() == values.max():
        other = 1 - ((1 - confidence) / 2) ** (1 / n)
        return Interval(mean, mean - other * (mean - low), mean + other * (high - mean))
    from scipy.special import stdtrit  # here: it takes a third of a second to import

    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(np.std(values, ddof=1)) / n**0.5
    return Interval(mean, max(low, mean - half), min(high, mean + half))


def pair_counts(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Counts the deals by what A won of their two games: 0, 1/2, 1, 3/2 or 2 of them.

    Args:
        shares: `[n, 2] float64`, each 0, 1/2 or 1.

    Returns:
        `[5] int64`.
    """
    halves = np.rint(2 * shares.sum(axis=1)).astype(np.int64)
    return np.bincount(halves, minlength=5)


def elo(rate: float) -> float | None:
    """Returns the Elo difference at which a win rate is expected; None where it is infinite.

    Source of the formula: Elo 1978, with the logistic curve and 400 points to a factor of ten.

    Args:
        rate: 0 to 1, a draw counting one half.
    """
    if not 0.0 < rate < 1.0:
        return None
    return 400.0 * math.log10(rate / (1.0 - rate))
