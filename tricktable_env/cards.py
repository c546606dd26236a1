"""Cards, suits and ranks: numbers, sets and text.

A card is `13 * suit + rank`, suits in the order S H D C, ranks 2 to A. A set of cards is a 52-bit
word. As text a card is rank then suit, `AS`; a hand is its four suits in the order S.H.D.C, ranks
high to low, `AK2.QJ..T93`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Card: TypeAlias = int
"""0 to 51: 13 x suit + rank."""
Suit: TypeAlias = int
"""0 to 3: spades, hearts, diamonds, clubs."""
Seat: TypeAlias = int
"""Whose turn it can be, counted from 0."""
CardSet: TypeAlias = int
"""52 bits, bit c set when card c is in."""
Words: TypeAlias = npt.NDArray[np.uint64]
"""A packed state or view, `[W] uint64`, or a batch of them, `[B, W]`."""
Mask: TypeAlias = npt.NDArray[np.int8]
"""`[A] int8`, 1 = legal."""

SUITS = "SHDC"
RANKS = "23456789TJQKA"
NUM_CARDS = 52
SUIT_SIZE = 13
ALL_CARDS: CardSet = (1 << NUM_CARDS) - 1
SUIT_CARDS: CardSet = (1 << SUIT_SIZE) - 1


class NotationError(ValueError):
    """Text that is no card, hand, table or position; the message quotes the part at fault."""


def card_text(card: Card) -> str:
    """Writes a card: 12 is `AS`."""
    return RANKS[card % SUIT_SIZE] + SUITS[card // SUIT_SIZE]


def read_card(text: str) -> Card:
    """Reads a card: `AS` is 12.

    Raises:
        NotationError: the text is no card.
    """
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise NotationError(
            f"no card: {text!r} (a card is a rank of {RANKS} and a suit of {SUITS}, as AS or TD)"
        )
    return SUIT_SIZE * SUITS.index(text[1]) + RANKS.index(text[0])


def cards_of(cards: CardSet) -> Iterator[Card]:
    """Yields the cards of a set from the lowest number up."""
    while cards:
        low = cards & -cards
        yield low.bit_length() - 1
        cards ^= low


def card_set(cards: Iterable[Card]) -> CardSet:
    """Makes the set of some cards."""
    result = 0
    for card in cards:
        result |= 1 << card
    return result


def hand_text(cards: CardSet) -> str:
    """Writes a hand: its four suits in the order S.H.D.C, ranks high to low."""
    return ".".join(
        "".join(
            RANKS[rank]
            for rank in reversed(range(SUIT_SIZE))
            if cards >> (SUIT_SIZE * suit + rank) & 1
        )
        for suit in range(4)
    )


def check_spaces(position: str) -> None:
    """Refuses the text of a position with spaces where none belong.

    Raises:
        NotationError: a space at either end, or two in a row.
    """
    if position and "" in position.split(" "):
        raise NotationError(
            f"no position: {position!r} has a space at an end or two in a row, not one a gap"
        )


def read_hand(text: str) -> CardSet:
    """Reads a hand.

    Raises:
        NotationError: not four suits, an unknown rank, or ranks out of order or twice.
    """
    suits = text.split(".")
    if len(suits) != 4:
        raise NotationError(
            f"no hand: {text!r} (four suits S.H.D.C with three dots, as AK2.QJ..T93)"
        )
    result = 0
    for suit, ranks in enumerate(suits):
        before = SUIT_SIZE
        for letter in ranks:
            rank = RANKS.find(letter)
            if rank < 0:
                raise NotationError(f"unknown rank {letter!r} in hand {text!r} (ranks are {RANKS})")
            if rank == before:
                raise NotationError(f"card {letter}{SUITS[suit]} twice in hand {text!r}")
            if rank > before:
                raise NotationError(
                    f"ranks out of order in hand {text!r}: {ranks!r} is not high to low"
                )
            before = rank
            result |= 1 << (SUIT_SIZE * suit + rank)
    return result


def deck_of(suits: int, ranks: int) -> CardSet:
    """The deck of the first `suits` suits and the highest `ranks` ranks of each."""
    high = SUIT_CARDS & ~((1 << (SUIT_SIZE - ranks)) - 1)
    return card_set(c for suit in range(suits) for c in cards_of(high << (SUIT_SIZE * suit)))
