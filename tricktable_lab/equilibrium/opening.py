"""What a caller does before the first play: it calls, and then holds a hand with that trump."""

from __future__ import annotations

from tricktable_env.cards import CardSet, Suit
from tricktable_lab.equilibrium.deals import Deals, Table, subsets_of


class Opening:
    """The caller's sequences before the first play; 0 is the empty one.

    Args:
        deals: the deals.
        tables: those that are walked.
        remember: the caller remembers what it saw; then a play follows a call at once.
    """

    def __init__(self, deals: Deals, tables: list[Table], remember: bool) -> None:
        self._deals, self._tables, self._remember = deals, tables, remember
        self.sequences = 1
        """How many there are."""
        self.first: list[int] = []
        """The first sequence of each decision about a call."""
        self.count: list[int] = []
        """How many calls that differ it has."""
        self.links: list[tuple[int, int, float]] = []
        """Entry, call and share; see `tree.Side`."""
        self._call: dict[tuple[CardSet, Suit], tuple[int, float]] = {}
        self._entries: dict[tuple[int, CardSet], int] = {}
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
