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

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import CardSet, Words
from tricktable_env.tableau import Rules, Tableau
from tricktable_env.tableau.infostate import view_of
from tricktable_env.tableau.state import CALL, CALLER, DEALER, WORDS
from tricktable_lab.equilibrium import walk as w
from tricktable_lab.equilibrium.deals import Deals, Table, deal_states, deck_orders, subsets_of
from tricktable_lab.equilibrium.endings import FRAME

Integers = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


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
    """The caller's reward: `paid`, times how often both sequences are followed, summed, times this."""


@dataclass(frozen=True)
class Questions:
    """What a seat is to decide, in the order of its decisions."""

    seat: int
    """0 the caller, 1 the dealer."""
    views: Words
    """`[n, WORDS] uint64`, what it has seen."""
    actions: Words
    """`[n] uint64`, the legal actions as a set."""


Ask = Callable[[Questions], None]
"""Told of all decisions, some at a time."""
Watch = Callable[[int, int], None]
"""Called with the tables done and all tables."""


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
    walker = _Walker(game, deals, 0, False)
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
    walker, tables = _Walker(game, deals, flags, remember), deals.tables()
    opening = _Opening(deals, tables, remember)
    walker.counters[w.SEQUENCES] = opening.sequences
    if ask is not None and deals.calls:
        ask(_call_questions(game, deals))
    parts = _Parts()
    for i, table in enumerate(tables):
        walker.walk(table, lambda hand, seen, i=i: opening.start(i, hand, seen))  # type: ignore[misc]
        parts.take(walker)
        if ask is not None:
            for seat in (CALLER, DEALER):
                ask(walker.questions(seat))
        if watch is not None:
            watch(i + 1, len(tables))
    return parts.tree(game.rules, deals, opening, walker, remember)


class _Opening:
    """The caller's sequences before the first play: the calls, and a hand with its trump.

    Args:
        deals: the deals.
        tables: those that are walked.
        remember: the caller remembers what it saw; then a play follows a call at once.
    """

    def __init__(self, deals: Deals, tables: list[Table], remember: bool) -> None:
        self._deals, self._tables, self._remember = deals, tables, remember
        self.sequences, self.first, self.count = 1, [], []
        self._call: dict[tuple[CardSet, int], tuple[int, float]] = {}
        self._entries: dict[tuple[int, CardSet], int] = {}
        self.links: list[tuple[int, int, float]] = []
        if deals.calls:
            self._open_calls()
        if deals.calls and not remember:
            for i, table in enumerate(tables):
                for hand in deals.hands(table).tolist():
                    self._enter(i, hand)

    def _open_calls(self) -> None:
        seen = self._deals.calls_of()
        firsts: dict[CardSet, int] = {}
        for cards, (stands, classes) in seen.items():
            if cards == stands:
                firsts[cards] = self.sequences
                self.first.append(self.sequences)
                self.count.append(len(classes))
                self.sequences += len(classes)
        for cards, (stands, _) in seen.items():
            for trump in self._deals.trumps:
                suit = self._deals.renamed_call(cards, trump)
                classes = seen[stands][1]
                at = next(n for n, members in enumerate(classes) if suit in members)
                self._call[cards, trump] = firsts[stands] + at, 1 / len(classes[at])

    def _enter(self, table: int, hand: CardSet) -> None:
        entry = self._entries[table, hand] = self.sequences
        self.sequences += 1
        for seen in subsets_of(hand, self._deals.seen):
            call, share = self._call[seen, self._tables[table].trump]
            self.links.append((entry, call, share / self._deals.splits))

    def start(self, table: int, hand: CardSet, seen: CardSet) -> int:
        """The sequence with which the caller comes to the first play."""
        if not self._deals.calls:
            return 0
        if self._remember:
            return self._call[seen, self._tables[table].trump][0]
        return self._entries[table, hand]


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


class _Walker:
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
        parts = [subsets_of(hand, deals.seen)[:copies] for hand in hands.tolist()]
        kinds = [(hand, seen) for hand, own in zip(hands.tolist(), parts, strict=True) for seen in own]
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


class _Parts:
    """What the walks gave, table by table."""

    def __init__(self) -> None:
        self.parent: tuple[list[Indices], list[Indices]] = [], []
        self.count: tuple[list[npt.NDArray[np.int8]], list[npt.NDArray[np.int8]]] = [], []
        self.ends: list[Indices] = []
        self.paid: list[npt.NDArray[np.int32]] = []

    def take(self, walker: _Walker) -> None:
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

    def tree(
        self, rules: Rules, deals: Deals, opening: _Opening, walker: _Walker, remember: bool
    ) -> Tree:
        """Joins them."""
        calls = len(opening.first)
        sides = []
        for seat in (CALLER, DEALER):
            parent = np.concatenate(self.parent[seat])
            count = np.concatenate(self.count[seat])
            start = opening.sequences if seat == CALLER else 1
            first = start + np.cumsum(count, dtype=np.int64) - count
            sequences = start + int(count.sum(dtype=np.int64))
            if seat == CALLER and calls:
                parent = np.concatenate([np.zeros(calls, np.int32), parent])
                first = np.concatenate([opening.first, first])
                count = np.concatenate([np.array(opening.count, np.int8), count])
            side = Side(parent, first.astype(np.int32), count, sequences)
            if seat == CALLER and calls:
                entry, call, share = zip(*opening.links, strict=True) if opening.links else ((),) * 3
                side = Side(
                    *(parent, first.astype(np.int32), count, sequences, calls),
                    *(np.array(entry, np.int32), np.array(call, np.int32), np.array(share, float)),
                )
            sides.append(side)
        drawn = len(deals.trumps) if rules.trump == "random" else 1
        ways = deals.total * drawn * (deals.splits if remember else 1)
        per = rules.tricks if rules.reward == "margin" else 1
        ends = np.concatenate(self.ends, 1)
        return Tree(rules, (sides[0], sides[1]), ends, np.concatenate(self.paid), 1 / (ways * per))


def _call_questions(game: Tableau, deals: Deals) -> Questions:
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
