"""A reduced deck's game as flat arrays: decisions, sequences, and what pairs of them pay.

Two ways lead here. For solving, what surely changes nothing is left out: rounds end once they are
settled, what both seats see whole is replaced by its value, and what the caller saw at the call is
forgotten once it holds its whole hand (that tells nothing about the other seat any more, so for any
plan that remembers it there is one as good that does not). For agents, who do as they like, only
settled rounds end early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.tableau import Rules, Tableau
from tricktable_env.tableau.state import CALLER, DEALER
from tricktable_lab.equilibrium import walk as w
from tricktable_lab.equilibrium.deals import Deals
from tricktable_lab.equilibrium.opening import Opening
from tricktable_lab.equilibrium.walker import Questions, Walker, Watch, call_questions

Indices: TypeAlias = npt.NDArray[np.int32]
Floats: TypeAlias = npt.NDArray[np.float64]


def _none() -> Indices:
    return np.empty(0, np.int32)


@dataclass(frozen=True)
class Side:
    """One seat's decisions, a parent always before what follows it. Sequence 0 is the empty one."""

    parent: Indices
    """`[D] int32`, the sequence that leads to each decision."""
    first: Indices
    """`[D] int32`, its first sequence; those of its other actions follow."""
    count: npt.NDArray[np.int8]
    """`[D] int8`, how many actions it has."""
    sequences: int
    """How many sequences there are."""
    calls: int = 0
    """How many decisions, the first ones, are calls."""
    entry: Indices = field(default_factory=_none)
    """`[L] int32`: sequence `entry`, a hand with a trump that was called, is followed as often as
    the sum of its `share` times `call`, whatever was seen of the hand at the call."""
    call: Indices = field(default_factory=_none)
    """`[L] int32`, sequences of calls."""
    share: Floats = field(default_factory=lambda: np.empty(0))
    """`[L] float64`."""


@dataclass(frozen=True)
class Tree:
    """A game as flat arrays."""

    rules: Rules
    """The options of the game."""
    sides: tuple[Side, Side]
    """The caller's decisions and the dealer's."""
    ends: Indices
    """`[2, E] int32`, the last sequences of the caller and of the dealer."""
    paid: npt.NDArray[np.int32]
    """`[E] int32`, what the caller is paid, summed over all deals that end so."""
    scale: float
    """The caller's reward is this times the sum of `paid`, each times how often both sequences are
    followed."""


Ask: TypeAlias = Callable[[Questions], None]
"""Told of all decisions, some at a time. The arrays are written to again later."""


def build(
    game: Tableau,
    *,
    solving: bool = True,
    symmetric: bool = True,
    remember: bool = False,
    ask: Ask | None = None,
    watch: Watch | None = None,
) -> Tree:
    """Makes the arrays of a game.

    Args:
        game: a single round.
        solving: replace what both seats see whole by its value.
        symmetric: keep one of the tables that are alike.
        remember: the caller remembers what it saw at the call; not with `symmetric`.
        ask: told of every decision.
        watch: told how far it is.
    """
    assert not (symmetric and (remember or ask is not None))
    deals = Deals(game.rules, symmetric)
    flags = w.CUT | (w.SOLVE if solving else 0) | (w.VIEWS if ask is not None else 0)
    walker, tables = Walker(game, deals, flags, remember), deals.tables()
    opening = Opening(deals, tables, remember)
    walker.counters[w.SEQUENCES] = opening.sequences
    if ask is not None and deals.calls:
        ask(call_questions(game, deals))
    parts = _Parts()
    for i, table in enumerate(tables):
        walker.walk(table, partial(opening.start, i))
        parts.take(walker)
        if ask is not None:
            for seat in (CALLER, DEALER):
                ask(walker.questions(seat))
        if watch is not None:
            watch(i + 1, len(tables))
    drawn = len(deals.trumps) if game.rules.trump == "random" else 1
    return parts.tree(game.rules, opening, deals.total * drawn * (deals.splits if remember else 1))


class _Parts:
    """What the walks gave, table by table."""

    def __init__(self) -> None:
        self.parent: tuple[list[Indices], list[Indices]] = [], []
        self.count: tuple[list[npt.NDArray[np.int8]], list[npt.NDArray[np.int8]]] = [], []
        self.ends: list[Indices] = []
        self.paid: list[npt.NDArray[np.int32]] = []

    def take(self, walker: Walker) -> None:
        """Takes the last walk's decisions and ends; those of one pair of sequences become one."""
        room = walker.room
        for seat in (CALLER, DEALER):
            n = walker.counters[w.DECISIONS + seat]
            self.parent[seat].append(room.parents[seat, :n].astype(np.int32))
            self.count[seat].append(room.counts[seat, :n].astype(np.int8))
        ends = room.ends[: walker.counters[w.ENDS]]
        keys = ends[:, 0] << 32 | ends[:, 1]
        pairs, which = np.unique(keys, return_inverse=True)
        paid = np.bincount(which, ends[:, 2], len(pairs))
        assert not len(paid) or np.abs(paid).max() < 2**31
        pairs, paid = pairs[paid != 0], paid[paid != 0]
        self.ends.append(np.stack([pairs >> 32, pairs & 0xFFFFFFFF]).astype(np.int32))
        self.paid.append(paid.astype(np.int32))

    def tree(self, rules: Rules, opening: Opening, deals: int) -> Tree:
        """Joins them; `deals` is of how many deals `paid` is the sum."""
        calls = len(opening.first)
        caller = _side(self.parent[CALLER], self.count[CALLER], opening.sequences)
        if calls:
            links = np.array(opening.links, float).reshape(-1, 3).T
            caller = Side(
                np.concatenate([np.zeros(calls, np.int32), caller.parent]),
                np.concatenate([np.array(opening.first, np.int32), caller.first]),
                np.concatenate([np.array(opening.count, np.int8), caller.count]),
                *(caller.sequences, calls),
                *(links[0].astype(np.int32), links[1].astype(np.int32), links[2].copy()),
            )
        sides = caller, _side(self.parent[DEALER], self.count[DEALER], 1)
        unit = rules.tricks if rules.reward == "margin" else 1
        ends, paid = np.concatenate(self.ends, 1), np.concatenate(self.paid)
        return Tree(rules, sides, ends, paid, 1 / (deals * unit))


def _side(parents: list[Indices], counts: list[npt.NDArray[np.int8]], first_sequence: int) -> Side:
    """One seat's decisions, whose sequences are numbered from `first_sequence` on."""
    count = np.concatenate(counts)
    ends = first_sequence + np.cumsum(count, dtype=np.int64)
    sequences = int(ends[-1]) if len(ends) else first_sequence
    assert sequences < 2**31
    return Side(np.concatenate(parents), (ends - count).astype(np.int32), count, sequences)
