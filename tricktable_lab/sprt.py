"""A match that stops itself: the generalised sequential probability ratio test over pairs of games.

H0 says that A is `elo0` stronger than B, H1 `elo1`. What counts is how often each result of a pair
(both games of a deal) came; nothing is assumed of draws or of how the two games hang together. The
logarithm of the ratio of the greatest likelihoods that either hypothesis allows those counts is
compared with Wald's bounds. Sources: Wald 1945; that maximum likelihood may stand in for what is
unknown: Li, Liu and Ying, Sequential Analysis 33 (2014); the likeliest distribution with a given
mean: Owen, Empirical Likelihood (2001), as Van den Bergh worked it out for chess engines (2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Decision: TypeAlias = Literal["H0", "H1"]
Counts: TypeAlias = npt.NDArray[np.int64]
"""`[5] int64`: pairs in which A won 0, 1/2, 1, 3/2 and 2 games."""

_RATES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_PRIOR = 1e-3
"""Pairs supposed of every result that did not come, so that either hypothesis allows the counts."""


class SprtError(ValueError):
    """A test that makes no sense."""


@dataclass(frozen=True)
class Sprt:
    """A test of two hypotheses on how much stronger A is."""

    elo0: float
    """The Elo difference under H0."""
    elo1: float
    """The Elo difference under H1, larger."""
    alpha: float = 0.05
    """How often H1 may be accepted where H0 holds."""
    beta: float = 0.05
    """How often H0 may be accepted where H1 holds."""

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            SprtError: which makes no sense, and why.
        """
        if not (-2000 <= self.elo0 < self.elo1 <= 2000):
            raise SprtError(f"sprt={self.elo0},{self.elo1} is not ELO0 < ELO1, from -2000 to 2000")
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise SprtError(f"{name}={getattr(self, name)} is not between 0 and 0.5")

    @property
    def bounds(self) -> tuple[float, float]:
        """The log ratios at which H0 and H1 are accepted."""
        lower, upper = self.beta / (1 - self.alpha), (1 - self.beta) / self.alpha
        return math.log(lower), math.log(upper)

    def llr(self, pairs: Counts) -> float:
        """The logarithm of the likelihood under H1 over that under H0."""
        counts = np.where(pairs == 0, _PRIOR, pairs)
        low, high = (_log_odds(counts / counts.sum(), _rate(elo)) for elo in (self.elo0, self.elo1))
        return float(counts @ (low - high))

    def state(self, pairs: Counts) -> SprtState:
        """What the test says after some pairs."""
        llr, (lower, upper) = self.llr(pairs), self.bounds
        decision: Decision | None = "H1" if llr >= upper else "H0" if llr <= lower else None
        return SprtState(self, llr, decision)


@dataclass(frozen=True)
class SprtState:
    """Where a test stands."""

    sprt: Sprt
    """The test."""
    llr: float
    """The log likelihood ratio."""
    decision: Decision | None
    """What is accepted, None while the test goes on."""

    def as_json(self) -> dict[str, Any]:
        """Returns the test and where it stands."""
        test = {key: getattr(self.sprt, key) for key in ("elo0", "elo1", "alpha", "beta")}
        bounds = list(self.sprt.bounds)
        return test | {"llr": self.llr, "bounds": bounds, "decision": self.decision}


def _rate(elo: float) -> float:
    return float(1 / (1 + 10 ** (-elo / 400)))


def _log_odds(seen: npt.NDArray[np.float64], rate: float) -> npt.NDArray[np.float64]:
    """How much likelier each result was than under the likeliest distribution of mean `rate`.

    That distribution is seen / (1 + t (x - rate)), with the one t that makes it have this mean.
    """
    from scipy.optimize import brentq  # here: it takes a third of a second to import

    away = _RATES - rate

    def excess(t: float) -> float:
        return float((seen * away / (1 + t * away)).sum())

    edges = -1 / away[-1], -1 / away[0]  # where a probability would become infinite
    t = brentq(excess, edges[0] * (1 - 1e-12), edges[1] * (1 - 1e-12), xtol=1e-13)
    logs: npt.NDArray[np.float64] = np.log1p(t * away)
    return logs
