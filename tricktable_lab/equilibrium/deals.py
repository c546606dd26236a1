"""All deals of a deck, up to the names of suits and the order of piles, where these change nothing.

A *table* is the cards face up and the trump: what both seats know before the first play. The rules
treat suits alike, trump apart, and piles too; so of tables that differ by such a renaming one is
kept, and counts for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb, factorial, perm
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tricktable_env.cards import SUIT_SIZE, SUITS, Card, CardSet, Suit, Words, card_set, cards_of
from tricktable_env.jit import kernel
from tricktable_env.tableau.dealing import deck_places
from tricktable_env.tableau.rules import Rules, act, deal_order
from tricktable_env.tableau.state import CALL, CALL_HAND, TRUMP, note_start

Renaming: TypeAlias = tuple[Suit, ...]
"""The new suit of each suit."""
NONE = -1
"""The trump where there is none."""


@dataclass(frozen=True)
class Table:
    """What lies face up before the first play, for all tables that are like it."""

    up: tuple[Card, ...]
    """The caller's face-up cards from left to right, then the dealer's."""
    trump: Suit
    """The trump; NONE where there is none."""
    alike: int
    """How many tables it stands for."""


@dataclass(frozen=True)
class Deals:
    """The deals of some rules.

    Args:
        rules: the options of the game.
        symmetric: keep one of the tables that are alike.
    """

    rules: Rules
    symmetric: bool

    @property
    def cards(self) -> list[Card]:
        """The cards of the deck."""
        return list(cards_of(self.rules.deck))

    @property
    def calls(self) -> bool:
        """Whether trump is called."""
        return self.rules.trump == "call"

    @property
    def seen(self) -> int:
        """How many cards the caller sees at the call."""
        return self.rules.call_cards or 0 if self.calls else 0

    @property
    def splits(self) -> int:
        """In how many ways these are part of a hand."""
        return comb(self.rules.hand, self.seen)

    @property
    def trumps(self) -> list[Suit]:
        """The suits that may be trump; NONE alone where there is none."""
        if self.rules.trump in SUITS:
            return [SUITS.index(self.rules.trump)]
        return [NONE] if self.rules.trump == "none" else list(range(self.rules.suits))

    @property
    def ways(self) -> int:
        """In how many ways the face-down cards of a table with both hands may lie."""
        left = len(self.cards) - 2 * self.rules.piles - 2 * self.rules.hand
        return perm(left, 2 * self.rules.piles)

    @property
    def pairs(self) -> int:
        """How many pairs of hands a table leaves."""
        left, hand = len(self.cards) - 2 * self.rules.piles, self.rules.hand
        return comb(left, hand) * comb(left - hand, hand)

    @property
    def total(self) -> int:
        """All deals; of the cards seen at the call and of trump nothing is counted here."""
        return perm(len(self.cards), 2 * self.rules.piles) * self.pairs * self.ways

    def renamings(self) -> list[Renaming]:
        """All renamings of suits that the rules don't notice; before the call, where there is."""
        suits = range(self.rules.suits)
        every = [tuple(new) for new in permutations(suits)] if self.symmetric else [tuple(suits)]
        if self.rules.trump in SUITS:
            trump = SUITS.index(self.rules.trump)
            return [new for new in every if new[trump] == trump]
        return every

    def tables(self) -> list[Table]:
        """The tables that are kept, in a fixed order."""
        renamings, piles = self.renamings(), self.rules.piles
        found: Counter[tuple[Suit, tuple[Card, ...]]] = Counter()
        counts = self.symmetric and piles > 1  # piles in any order are alike too
        orders = factorial(piles) ** 2 if counts else 1
        for up in self._laid(ordered=not counts):
            for trump in self.trumps:
                found[min(_renamed_table(new, trump, up, counts) for new in renamings)] += orders
        return [Table(up, trump, alike) for (trump, up), alike in sorted(found.items())]

    def _laid(self, ordered: bool) -> Iterator[tuple[Card, ...]]:
        piles = self.rules.piles
        if ordered:
            yield from permutations(self.cards, 2 * piles)
            return
        for first in combinations(self.cards, piles):
            rest = [card for card in self.cards if card not in first]
            for second in combinations(rest, piles):
                yield first + second

    def hands(self, table: Table) -> Words:
        """The hands that a table leaves to each seat: `[n] uint64`, n >= 1."""
        left = [card for card in self.cards if card not in table.up]
        return np.array([card_set(h) for h in combinations(left, self.rules.hand)], np.uint64)

    def calls_of(self) -> dict[CardSet, tuple[CardSet, list[list[Suit]]]]:
        """What the caller may see at the call: of those alike one, and its calls that differ.

        Returns:
            For each set of cards seen the set that stands for it, and for that its classes of
            suits, a list each; the suits of a class are alike to it.
        """
        renamings, suits = self.renamings(), range(self.rules.suits)
        found: dict[CardSet, tuple[CardSet, list[list[Suit]]]] = {}
        for seen in combinations(self.cards, self.seen):
            images = [card_set(_renamed(new, seen)) for new in renamings]
            mine = card_set(seen)
            same = [new for new, image in zip(renamings, images, strict=True) if image == mine]
            classes = sorted({tuple(sorted({new[suit] for new in same})) for suit in suits})
            found[mine] = min(images), [list(members) for members in classes]
        return found

    def renamed_call(self, seen: CardSet, trump: Suit) -> Suit:
        """What a call is to the set of cards that stands for the one seen."""
        cards = tuple(cards_of(seen))
        return min((card_set(_renamed(new, cards)), new[trump]) for new in self.renamings())[1]


def _renamed(new: Renaming, cards: tuple[Card, ...]) -> tuple[Card, ...]:
    return tuple(SUIT_SIZE * new[card // SUIT_SIZE] + card % SUIT_SIZE for card in cards)


def _renamed_table(
    new: Renaming, trump: Suit, up: tuple[Card, ...], any_order: bool
) -> tuple[Suit, tuple[Card, ...]]:
    cards, half = _renamed(new, up), len(up) // 2
    if any_order:
        cards = (*sorted(cards[:half]), *sorted(cards[half:]))
    return new[trump] if trump != NONE else NONE, cards


def subsets_of(hand: CardSet, size: int) -> list[CardSet]:
    """All subsets of a hand with some number of cards."""
    return [card_set(part) for part in combinations(cards_of(hand), size)]


@kernel
def deal_states(
    state: np.ndarray,
    orders: np.ndarray,
    seen: np.ndarray,
    trump: int,
    calls: bool,
    out: np.ndarray,
) -> None:
    """Deals rounds up to the first play.

    Args:
        state: `[WORDS] uint64`, a round of the rules with nothing dealt.
        orders: `[n, cards] int64`, an order of the deck each.
        seen: `[n] uint64`, what the caller saw at the call, as its word CALL_HAND shall say.
        trump: the trump, below 0: leave it to the rules.
        calls: whether it is called.
        out: `[n, WORDS] uint64`, overwritten.
    """
    for i in range(orders.shape[0]):
        for word in range(state.shape[0]):
            out[i, word] = state[word]
        deal_order(out[i], orders[i], orders.shape[1])
        out[i, CALL_HAND] = seen[i]
        if calls:
            act(out[i], CALL + trump)
        elif trump >= 0:
            out[i, TRUMP] = np.uint64(trump)
            note_start(out[i])


def deck_orders(
    rules: Rules, up: tuple[Card, ...], hands: npt.NDArray[np.int64], seen: Words
) -> npt.NDArray[np.int64]:
    """Orders of the deck that deal some hands, the cards face down as they come.

    Args:
        rules: the options.
        up: the cards face up.
        hands: `[n, 2] int64`, both hands as sets.
        seen: `[n] uint64`, the part of the caller's that is dealt first.

    Returns:
        `[n, cards] int64`.
    """
    places = [place for group in deck_places(rules) for place in group]
    orders = np.empty((len(hands), rules.suits * rules.ranks), np.int64)
    for order, (mine, theirs), first in zip(orders, hands.tolist(), seen.tolist(), strict=True):
        rest = list(cards_of(rules.deck & ~mine & ~theirs & ~card_set(up)))
        down = rest[: 2 * rules.piles]
        dealt = [*cards_of(first), *cards_of(mine & ~first), *cards_of(theirs), *down, *up]
        order[places] = dealt
        order[len(dealt) :] = rest[2 * rules.piles :]
    return orders
