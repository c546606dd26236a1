"""Plans of a seat: made of odds, met by the other seat's, and answered as well as can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tricktable_env.tableau.state import CALLER, DEALER
from tricktable_lab.equilibrium import regret
from tricktable_lab.equilibrium.tree import Floats, Side, Tree


@dataclass(frozen=True)
class Worth:
    """What two plans are worth, in the caller's reward."""

    value: float
    """The caller's reward when both are followed."""
    low: float
    """The least that the caller's plan brings, whatever the dealer does."""
    high: float
    """The most that the caller can get against the dealer's plan."""

    @property
    def nash_conv(self) -> float:
        """What both seats together would gain by the best reply to the other's plan.

        It is 0 for an equilibrium; the value of the game lies between `low` and `high`.
        """
        return self.high - self.low


def even_odds(side: Side) -> Floats:
    """Odds that make every action as likely as the next: `[sequences] float64`."""
    odds = np.ones(side.sequences)
    regret.divide(*_decisions(side), np.zeros(side.sequences), odds)
    return odds


def plan_of(side: Side, odds: Floats) -> Floats:
    """How often each sequence is followed: `[sequences] float64`."""
    plan = np.zeros(side.sequences)
    follow(side, odds, plan)
    return plan


def odds_of(side: Side, plan: Floats) -> Floats:
    """The odds of a plan; even ones where it never comes."""
    odds = np.ones(side.sequences)
    regret.divide(*_decisions(side), plan, odds)
    return odds


def follow(side: Side, odds: Floats, plan: Floats) -> None:
    """Writes the plan that odds make."""
    plan[0] = 1.0
    decisions = _decisions(side)
    regret.follow(*decisions, 0, side.calls, odds, plan)
    regret.link(side.entry, side.call, side.share, plan)
    regret.follow(*decisions, side.calls, len(side.parent), odds, plan)


def meet(tree: Tree, seat: int, plan: Floats, brings: Floats) -> None:
    """Writes what each sequence of a seat brings it against a plan of the other seat."""
    factor = tree.scale if seat == CALLER else -tree.scale
    regret.meet(tree.ends[seat], tree.ends[1 - seat], tree.paid, factor, plan, brings)


def learn(side: Side, brings: Floats, odds: Floats, regrets: Floats) -> None:
    """Updates regrets and odds by what sequences bring; see `regret.learn`."""
    decisions = _decisions(side)
    regret.learn(*decisions, side.calls, len(side.parent), brings, odds, regrets)
    regret.link_back(side.entry, side.call, side.share, brings)
    regret.learn(*decisions, 0, side.calls, brings, odds, regrets)


def add(sums: Floats, weight: float, plan: Floats) -> None:
    """Adds a plan with its weight to a sum of plans."""
    regret.add(sums, float(weight), plan)


def best_reply(tree: Tree, seat: int, plan: Floats) -> float:
    """What the best reply of a seat to a plan of the other brings it."""
    side = tree.sides[seat]
    brings = np.empty(side.sequences)
    meet(tree, seat, plan, brings)
    decisions = _decisions(side)
    regret.best(*decisions, side.calls, len(side.parent), brings)
    regret.link_back(side.entry, side.call, side.share, brings)
    regret.best(*decisions, 0, side.calls, brings)
    return float(brings[0])


def worth(tree: Tree, plans: tuple[Floats, Floats]) -> Worth:
    """What the caller's and the dealer's plan are worth, and how well each can be answered."""
    brings = np.empty(tree.sides[CALLER].sequences)
    meet(tree, CALLER, plans[DEALER], brings)
    value = float(brings @ plans[CALLER])
    low = -best_reply(tree, DEALER, plans[CALLER])
    return Worth(value, low, best_reply(tree, CALLER, plans[DEALER]))


def _decisions(side: Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return side.parent, side.first, side.count
