"""How large a game is: counted, or estimated before anybody waits for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tricktable_env.bits import size
from tricktable_env.jit import kernel
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.rules import act, deal, legal, random_action
from tricktable_env.tableau.state import CALLER, DEALER, LEFT, RNG
from tricktable_lab.equilibrium import walk as w
from tricktable_lab.equilibrium.deals import Deals
from tricktable_lab.equilibrium.walker import Walker, Watch

_SAMPLES = 2000
_SOLVING, _ASKING = 65, 50
"""Bytes a leaf, at most: of those that are not alike to solve, of all to judge an agent."""


@dataclass(frozen=True)
class Size:
    """How large a game is, all of it."""

    leaves: int
    """Ways for a round to go, deals included."""
    information_states: tuple[int, int]
    """Of the caller and of the dealer, those without a choice included."""


def count(game: Tableau, watch: Watch | None = None) -> Size:
    """Counts a game's leaves and information states by walking through it."""
    deals = Deals(game.rules, symmetric=True)
    walker = Walker(game, deals, 0, False)
    tables = deals.tables()
    leaves, states = 0, [len(deals.calls_of()) if deals.calls else 0, 0]
    copies = [deals.splits if deals.calls else 1, 1]
    for i, table in enumerate(tables):
        before = walker.counters.copy()
        walker.walk(table, lambda hand, seen: 0)
        new = walker.counters - before
        leaves += int(new[w.LEAVES]) * copies[CALLER]
        for seat in (CALLER, DEALER):
            states[seat] += int(new[w.STATES + seat]) * copies[seat] * table.alike
        if watch is not None:
            watch(i + 1, len(tables))
    return Size(leaves, (states[0], states[1]))


@dataclass(frozen=True)
class Guess:
    """How large a game is, about."""

    leaves: float
    """Ways for a round to go, deals included."""
    solving: float
    """Bytes that it takes to solve it, at most."""
    asking: float
    """Bytes that it takes to judge an agent, at most."""


def guess(game: Tableau) -> Guess:
    """Estimates a game's size from random rounds, without walking through it.

    The product of how many actions were legal in a round of random ones is the number of rounds
    of its deal on average (Knuth 1975, "Estimating the efficiency of backtrack programs").
    """
    deals = Deals(game.rules, symmetric=True)
    states = game.new(np.arange(1, dtype=np.uint64))
    drawn = game.rules.suits if game.rules.trump == "random" else 1
    leaves = float(deals.total) * drawn * deals.splits * _rounds(states[0], _SAMPLES)
    alike = len(deals.renamings()) * deals.splits
    return Guess(leaves, leaves / alike * _SOLVING, leaves * _ASKING)


@kernel
def _rounds(s: np.ndarray, samples: int) -> float:
    """The rounds of a deal, on average over some."""
    total = 0.0
    for _ in range(samples):
        deal(s)
        product = 1.0
        while s[LEFT] != np.uint64(0):
            product *= size(legal(s))
            act(s, random_action(s, s, RNG))
        total += product
    return total / samples
