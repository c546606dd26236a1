"""The solver: both seats learn in turn from each other's plan, and their average plans converge.

Predictive counterfactual regret minimization+ with alternating updates; iteration t counts t^2
times in the average (Farina, Kroer, Sandholm 2021, "Faster Game Solving via Predictive Blackwell
Approachability").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tricktable_env.tableau.state import CALLER, DEALER
from tricktable_lab.equilibrium import plans
from tricktable_lab.equilibrium.plans import Worth
from tricktable_lab.equilibrium.tree import Floats, Tree

_KEPT = ("odds", "regrets", "sums")


class Solver:
    """The average plans of both seats so far, and what it takes to go on.

    Args:
        tree: the game.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree, self.iterations = tree, 0
        self.odds = [plans.even_odds(side) for side in tree.sides]
        self.regrets = [np.zeros(side.sequences) for side in tree.sides]
        self.sums = [np.zeros(side.sequences) for side in tree.sides]
        """Of the plans of all iterations, by their weights."""
        self._plan = [plans.plan_of(*both) for both in zip(tree.sides, self.odds, strict=True)]
        self._brings = np.empty(max(side.sequences for side in tree.sides))

    def iterate(self) -> None:
        """Lets each seat learn once."""
        self.iterations += 1
        for seat in (CALLER, DEALER):
            side, plan = self.tree.sides[seat], self._plan[seat]
            brings = self._brings[: side.sequences]
            plans.meet(self.tree, seat, self._plan[1 - seat], brings)
            plans.learn(side, brings, self.odds[seat], self.regrets[seat])
            plans.follow(side, self.odds[seat], plan)
            plans.add(self.sums[seat], self.iterations**2, plan)

    def average(self, seat: int) -> Floats:
        """The average plan of a seat, which is what is known of its equilibrium."""
        if not self.iterations:
            return self._plan[seat]
        average: Floats = self.sums[seat] / self.sums[seat][0]
        return average

    def worth(self) -> Worth:
        """What the average plans are worth, and between which bounds the game's value lies."""
        return plans.worth(self.tree, (self.average(CALLER), self.average(DEALER)))

    # -- to go on later ----------------------------------------------------------------------
    def kept(self) -> dict[str, Any]:
        """All that `restore` needs: arrays by name."""
        named = {f"{name}{seat}": getattr(self, name)[seat] for name in _KEPT for seat in (0, 1)}
        return {"iterations": np.array(self.iterations), **named}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Goes on where `kept` was made, of the same tree.

        Raises:
            ValueError: it is of another tree, or damaged.
        """
        arrays = {key: kept[key] for key in self.kept()}
        for key, array in self.kept().items():
            if np.shape(arrays[key]) != array.shape:
                raise ValueError(f"{key} is of shape {np.shape(arrays[key])}, not {array.shape}")
            if not np.isfinite(np.asarray(arrays[key], np.float64)).all():
                raise ValueError(f"{key} is not made of numbers")
        self.iterations = int(arrays["iterations"])
        for name in _KEPT:
            setattr(self, name, [np.array(arrays[f"{name}{seat}"], np.float64) for seat in (0, 1)])
        for seat, side in enumerate(self.tree.sides):
            plans.follow(side, self.odds[seat], self._plan[seat])
