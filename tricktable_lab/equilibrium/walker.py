"""Walks the tables of a game one after the other, and asks what there is to decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import CardSet, Words
from tricktable_env.tableau import Tableau
from tricktable_env.tableau.infostate import view_of
from tricktable_env.tableau.state import CALL, CALLER, WORDS
from tricktable_lab.equilibrium import walk as w
from tricktable_lab.equilibrium.deals import Deals, Table, deal_states, deck_orders, subsets_of
from tricktable_lab.equilibrium.endings import FRAME

Integers: TypeAlias = npt.NDArray[np.int64]
Watch: TypeAlias = Callable[[int, int], None]
"""Called with the tables done and all tables."""


@dataclass(frozen=True)
class Questions:
    """What a seat is to decide, in the order of its decisions."""

    seat: int
    """0 the caller, 1 the dealer."""
    views: Words
    """`[n, WORDS] uint64`, what it has seen."""
    actions: Words
    """`[n] uint64`, the legal actions as a set."""


@dataclass
class _Room:
    """Arrays that the walk writes to, larger when it asks for it."""

    views_wanted: bool
    size: int = 1 << 12

    def __post_init__(self) -> None:
        self.ends = np.empty((self.size, 3), np.int64)
        self.parents = np.empty((2, self.size), np.int64)
        self.counts = np.empty((2, self.size), np.int64)
        self.actions = np.empty((2, self.size), np.uint64)
        self.views = np.empty((2, self.size if self.views_wanted else 0, WORDS), np.uint64)

    def grow(self) -> None:
        """Doubles them, keeping what they hold."""
        old, self.size = dict(vars(self)), 2 * self.size
        self.__post_init__()
        self.ends[: len(old["ends"])] = old["ends"]
        for name in ("parents", "counts", "actions", "views"):
            getattr(self, name)[:, : old[name].shape[1]] = old[name]


class Walker:
    """Walks tables, one after the other; what the last one gave is in `room`, up to `counters`."""

    def __init__(self, game: Tableau, deals: Deals, flags: int, remember: bool) -> None:
        self.game, self.deals, self.remember = game, deals, remember
        self.flags = flags | (w.MARGIN if game.rules.reward == "margin" else 0)
        self.room = _Room(flags & w.VIEWS != 0)
        self.counters = np.zeros(w.COUNTERS, np.int64)
        self.counters[w.SEQUENCES : w.SEQUENCES + 2] = 1

    def walk(self, table: Table, start: Callable[[CardSet, CardSet], int]) -> None:
        """Walks a table; a hand begins with the caller's sequence that `start` tells of it."""
        counters, room = self.counters, self.room
        counters[[w.DEPTH, w.STAMP, w.ENDS, w.DECISIONS, w.DECISIONS + 1]] = 0
        states, rows, kinds = self._first_place(table, start)
        n, levels = len(rows), 2 * self.game.rules.tricks + 1
        arena = np.empty((n * levels, WORDS), np.uint64), np.zeros((n * levels, w.ROW), np.int64)
        arena[0][:n], arena[1][:n] = states, rows
        places = np.zeros((levels, w.PLACE), np.int64)
        places[0, w.HIGH], places[0, w.PLAY] = n, w.NO_CHOICE
        marks = np.zeros((2, 3, kinds), np.int64)
        deep, frames = np.empty((levels, WORDS), np.uint64), np.empty((levels, FRAME), np.int64)
        work = *arena, places, marks, deep, frames, counters, self.flags
        while not w.walk(*work, room.ends, room.parents, room.counts, room.actions, room.views):
            room.grow()

    def questions(self, seat: int) -> Questions:
        """The decisions of a seat in the last walk."""
        n = self.counters[w.DECISIONS + seat]
        return Questions(seat, self.room.views[seat, :n], self.room.actions[seat, :n])

    def _first_place(
        self, table: Table, start: Callable[[CardSet, CardSet], int]
    ) -> tuple[Words, Integers, int]:
        """States and rows of a table before the first play, and the number of kinds of hands."""
        deals = self.deals
        copies = deals.splits if self.remember else 1
        hands = deals.hands(table)
        kinds = [
            (hand, seen)
            for hand in hands.tolist()
            for seen in subsets_of(hand, deals.seen)[:copies]
        ]
        begins = np.array([start(hand, seen) for hand, seen in kinds])
        cards = np.array(kinds, np.uint64).reshape(-1, 2)
        mine, theirs = np.nonzero(cards[:, None, 0] & hands[None, :] == 0)
        seen = cards[mine, 1]
        pairs = np.stack([cards[mine, 0], hands[theirs]], 1).astype(np.int64)
        orders = deck_orders(deals.rules, table.up, pairs, seen)
        if not self.remember:
            seen = np.zeros_like(seen)
        states = np.empty((len(pairs), WORDS), np.uint64)
        new = self.game.new(np.zeros(1, np.uint64))[0]
        deal_states(new, orders, seen, table.trump, deals.calls, states)
        rows = np.zeros((len(pairs), w.ROW), np.int64)
        rows[:, w.KIND], rows[:, w.KIND + 1] = mine, theirs
        rows[:, w.SEQUENCE] = begins[mine]
        rows[:, w.WAYS] = deals.ways * table.alike
        return states, rows, max(len(kinds), len(hands))


def call_questions(game: Tableau, deals: Deals) -> Questions:
    """The calls: what the caller sees at each, in the order of `Deals.calls_of`."""
    views = []
    for seen in deals.calls_of():
        others = [card for card in deals.cards if not seen >> card & 1]
        hand = sum(1 << card for card in others[: deals.rules.hand - deals.seen]) | seen
        others = [card for card in deals.cards if not hand >> card & 1]
        theirs = sum(1 << card for card in others[: deals.rules.hand])
        up = tuple(others[deals.rules.hand :][: 2 * deals.rules.piles])
        pair, part = np.array([[hand, theirs]], np.int64), np.array([seen], np.uint64)
        state = game.new(np.zeros(1, np.uint64))[0]
        game.deal_deck(state, deck_orders(deals.rules, up, pair, part)[0].tolist())
        views.append(view_of(state, CALLER))
    actions = np.full(len(views), ((1 << deals.rules.suits) - 1) << CALL, np.uint64)
    return Questions(CALLER, np.array(views), actions)
