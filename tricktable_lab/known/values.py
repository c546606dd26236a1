"""What perfect play brings the caller of a deal, by trump and by who leads first.

What is known of a deal is a pair of bounds on the caller's tricks for each trump and lead. Who
wins, whatever the rule of ties, takes one or two searches that only say yes or no; the exact number
takes more. All are asked with one table of results, for a trick of the same two cards leaves the
same position whoever led: most of what a search proves serves the one for the other lead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import Words
from tricktable_env.tableau import Rules, Tableau
from tricktable_env.tableau.solver import BEST, BEST_OF_ALL, begin, narrow, new_memory
from tricktable_env.tableau.state import CALLER, DEALER, TRUMP, TURN
from tricktable_lab.table import dealt

Known: TypeAlias = npt.NDArray[np.int8]
"""`[TRUMPS, LEADS, 2] int8`: bounds of the caller's tricks; 0 and all of them if nothing is known.

Trumps are S H D C and none, leads the caller's and the dealer's.
"""

TRUMPS, LEADS, NO_TRUMP = 5, 2, 4
LOW, HIGH = 0, 1
_SLICE = 1 << 18
"""Nodes between two looks at whether Ctrl-C was pressed: a third of a second."""


class Solved(NamedTuple):
    """What is known of a deal."""

    deal: int
    """Its number."""
    known: Known
    """The bounds."""


def goals(tricks: int) -> tuple[int, int]:
    """The tricks with which the caller wins though ties are the dealer's, and if they are its own.

    They are the same where the number of tricks is odd.
    """
    return tricks // 2 + 1, (tricks + 1) // 2


def nothing(tricks: int) -> Known:
    """Bounds that say nothing."""
    known = np.zeros((TRUMPS, LEADS, 2), np.int8)
    known[..., HIGH] = tricks
    return known


def decided(known: Known, tricks: int) -> npt.NDArray[np.bool_]:
    """Whether bounds say who wins under every rule of ties: `[..., TRUMPS, LEADS]`."""
    more, half = goals(tricks)
    low, high = known[..., LOW], known[..., HIGH]
    told: npt.NDArray[np.bool_] = (low >= more) | (high < half) | (low == high)
    return told


def exactly(known: Known) -> npt.NDArray[np.bool_]:
    """Whether bounds meet: `[..., TRUMPS, LEADS]`."""
    told: npt.NDArray[np.bool_] = known[..., LOW] == known[..., HIGH]
    return told


class Questions:
    """Asks the solver about the deals of a seed.

    Args:
        rules: the deck and its parts; other options change no value.
        seed: of the deals.
        trumps: which are asked about.
        exact: the first deals of which tricks are counted; of the others only who wins.
        known: what is known of deals, by their numbers.
    """

    def __init__(
        self,
        rules: Rules,
        seed: int,
        trumps: Sequence[int],
        exact: int = 0,
        known: Mapping[int, Known] | None = None,
    ) -> None:
        self.settings = rules, seed, trumps, exact, known
        self._tricks, self._seed = rules.tricks, seed
        self._game = Tableau(**shape_of(rules))
        self._trumps, self._exact, self._known = trumps, exact, known or {}
        self._memory = new_memory(1 << max(10, min(rules.tricks, 24)))
        self._low = np.empty(BEST_OF_ALL + 1, np.int64)
        self._high = np.empty(BEST_OF_ALL + 1, np.int64)

    def play(self, a: int, b: int, first: int, deals: int, /) -> list[Solved]:
        """Solves some deals in a row; the first two numbers mean nothing here."""
        numbers = np.arange(first, first + deals)
        states = dealt(self._game, self._seed, numbers)
        return [
            Solved(int(n), self._solved(int(n), s)) for n, s in zip(numbers, states, strict=True)
        ]

    def is_answered(self, deal: int) -> bool:
        """Whether all that is asked of a deal was known before."""
        if deal not in self._known:
            return False
        known = self._known[deal]
        told = exactly(known) if deal < self._exact else decided(known, self._tricks)
        return bool(told[list(self._trumps)].all())

    def _solved(self, deal: int, state: Words) -> Known:
        known = self._known.get(deal, nothing(self._tricks)).copy()
        wins = True
        for trump in self._trumps:
            for lead in (CALLER, DEALER):
                state[TRUMP], state[TURN] = trump, lead
                wins = self._ask(state, known[trump, lead], wins, deal < self._exact)
        return known

    def _ask(self, state: Words, known: npt.NDArray[np.int8], wins: bool, exact: bool) -> bool:
        """Narrows the bounds of one trump and lead in place.

        Args:
            state: the deal after the call.
            known: `[2] int8`, of the caller's tricks.
            wins: whether the caller won in the question before: which is likely here, too, and
                where it is right one search will do.
            exact: whether its tricks are counted.

        Returns:
            Whether it wins if ties are the dealer's.
        """
        low, high, tricks = self._low, self._high, self._tricks
        leads = int(state[TURN]) == CALLER
        begin(state, self._memory, low, high)  # its bounds are those of who leads
        bounds = known if leads else tricks - known[::-1]
        low[BEST_OF_ALL], high[BEST_OF_ALL] = bounds
        more, half = goals(tricks)
        for goal in (more, half) if wins else (half, more):
            self._narrow(state, goal if leads else tricks - goal + 1)
        if exact:
            self._narrow(state, BEST)
        bounds = np.array([low[BEST_OF_ALL], high[BEST_OF_ALL]])
        known[:] = bounds if leads else tricks - bounds[::-1]
        return bool(known[LOW] >= more)

    def _narrow(self, state: Words, wanted: int) -> None:
        while not narrow(state, self._memory, self._low, self._high, wanted, _SLICE):
            pass


def shape_of(rules: Rules) -> dict[str, int]:
    """The options on which values depend: the deck, and how it is dealt."""
    return {key: getattr(rules, key) for key in ("suits", "ranks", "hand", "piles")}
