"""Look-ahead for a policy: what it is unsure of is tried in sampled worlds.

A policy knows what is good as a rule, playouts know the cards: the worlds say what each action came
to under greedy play, the policy's odds say how much of that to believe.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from agents.montecarlo import MonteCarloAgent
from agents.worlds import Totals, steepest
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE, Mask, Words
from tricktable_env.game import Game

SURE = 0.98
"""From what probability on a choice is not looked into."""
WEIGHT = 12.5
"""How much one trick (or point) more counts against the logarithm of the odds, where it matters
most for the game; measured, see docs/training.md."""


class LookAhead:
    """Sampled worlds beside the odds of a policy.

    Args:
        game: the game to play.
        worlds: how many worlds a choice is tried in.

    Raises:
        AgentSpecError: a number out of range, or a game that `montecarlo` does not play.
    """

    def __init__(self, game: Game, worlds: int) -> None:
        self._search = MonteCarloAgent(game, worlds, head_start=0)  # the odds say what is likely
        self._weight = WEIGHT / (steepest(self._search.values) * worlds)

    def weigh(
        self,
        log_odds: npt.NDArray[np.float32],
        views: Words,
        masks: Mask,
        keys: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.float64]:
        """Adds what worlds say to the logarithms of a policy's odds.

        Args:
            log_odds: `[B, A] float32`.
            views: `[B, W] uint64`, each of the seat to act.
            masks: `[B, A] int8`.
            keys: `[B] uint64`, the streams of the decisions.

        Returns:
            `[B, A] float64`, logarithms of odds that need not add up to 1; -inf for what is not
            legal, and, in rows that were tried, for all but the lowest of cards that are alike.
        """
        weighed = np.where(masks > 0, log_odds.astype(np.float64), -np.inf)
        unsure = np.flatnonzero(weighed.max(1) < math.log(SURE))
        if len(unsure):
            totals: Totals = np.zeros((len(unsure), masks.shape[1]), np.int64)
            self._search.add(views[unsure], keys[unsure], 0, 1, self._search.worlds, totals)
            tried = totals > 0
            with np.errstate(divide="ignore"):
                prior = np.log(_of_alike(np.exp(weighed[unsure]), tried))
            weighed[unsure] = np.where(tried, prior + self._weight * totals, -np.inf)
        return weighed


def _of_alike(
    odds: npt.NDArray[np.float64], tried: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    """Gives the odds of cards that are alike to the lowest of them, the one that was tried."""
    cards = np.where(tried[:, :NUM_CARDS], np.arange(NUM_CARDS), -1)
    by_suit = cards.reshape(len(cards), -1, SUIT_SIZE)
    lowest = np.maximum.accumulate(by_suit, axis=2).reshape(cards.shape)
    gathered = np.where(tried, odds, 0.0)
    rows, alike = np.nonzero((lowest >= 0) & ~tried[:, :NUM_CARDS])
    np.add.at(gathered, (rows, lowest[rows, alike]), odds[rows, alike])
    return gathered
