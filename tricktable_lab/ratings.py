"""Bradley-Terry ratings of a pool of agents, with intervals by bootstrap over deals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

PRIOR = 0.5
"""Games supposed of every pair, won half each way: ratings stay finite where one side won all.

It pulls 75% of 1,000 games to 74.99%.
"""
SAMPLES = 1000
"""Bootstrap samples."""
_POINTS = 400 / math.log(10)


class RatingsError(ValueError):
    """Ratings that can't be made: the library that makes them is not installed."""


@dataclass(frozen=True)
class Rating:
    """The rating of an agent."""

    agent: str
    """Its spec."""
    elo: float
    """Its rating, the anchor's being 0; 400 points are odds of ten to one."""
    elo_ci95: tuple[float, float]
    """Its 95% interval: the middle of what bootstrap samples of the deals give."""
    win_rate: float
    """Its wins over all its games."""

    def as_json(self) -> dict[str, Any]:
        """Returns it as JSON has it."""
        return vars(self) | {"elo_ci95": list(self.elo_ci95)}


def library() -> Any:
    """Imports the library that rates.

    Raises:
        RatingsError: it is not installed.
    """
    try:
        import choix
    except ImportError:
        said = 'ratings need the package choix: pip install "tricktable[lab]"'
        raise RatingsError(said) from None
    return choix


def ratings(wins: npt.NDArray[np.float64], games: float, anchor: int) -> npt.NDArray[np.float64]:
    """Rates agents by how often they beat each other.

    Args:
        wins: `[n, n] float64`, how many of the games between i and j agent i won, a draw one half.
        games: how many games every pair played.
        anchor: whose rating is 0.

    Returns:
        `[n] float64`, in Elo points.

    Raises:
        RatingsError: choix is not installed.
    """
    choix = library()
    n = len(wins)
    # Scaled to one game a pair: the library's steps are rates, and extreme ones lose digits.
    supposed = (wins + PRIOR / 2 * (1 - np.eye(n))) / (games + PRIOR)
    strengths = choix.ilsr_pairwise_dense(supposed, max_iter=10_000)
    points: npt.NDArray[np.float64] = _POINTS * (strengths - strengths[anchor])
    return points


def bootstrapped(
    shares: npt.NDArray[np.float64], anchor: int, seed: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Rates agents and says how far other deals might have moved the ratings.

    Args:
        shares: `[n, n, deals] float64`, what part of the two games of a deal i won against j.
        anchor: whose rating is 0.
        seed: of the bootstrap.

    Returns:
        Ratings and the ends of their 95% intervals, each `[n] float64`.
    """
    deals = shares.shape[2]
    rng = np.random.default_rng([seed, deals])
    samples = []
    for _ in range(SAMPLES):
        times = rng.multinomial(deals, np.full(deals, 1 / deals))
        samples.append(ratings(2 * shares @ times, 2 * deals, anchor))
    low, high = np.quantile(samples, (0.025, 0.975), axis=0)
    return ratings(2 * shares.sum(axis=2), 2 * deals, anchor), low, high
