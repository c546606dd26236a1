"""The greedy way of playing Tableau: kernels from a view to an action.

One trick is looked at, never two, and no card that the seat has not seen. Every legal card gets a
score, in which a trick counts `TRICK`:

- It costs what the card would be worth later: the share of the other seat's possible cards of the
  suit that it beats, `WINNER` more when it beats them all, and a little for trumps and rank. So
  tricks are won as cheaply as can be, and lost with what is least use.
- Following, a card that takes the trick is worth the trick: whoever can win does, and ruffs low.
- Leading, the trick counts by the chance that the other hand cannot beat the card, with what is
  face up, unseen and known to be missing. What the other seat must spend is worth half as much as
  it would be to keep. Long suits come first, trumps when they are longer than the other seat's,
  and best of all a suit that the other seat can only ruff: it pays with a trump or gives the trick.
- A card on a pile that still covers one is played before its equals: what it uncovers adds choice.

Only sums, products and quotients are used, so that every machine decides alike.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, has, int64, size
from tricktable_env.cards import SUIT_CARDS, SUIT_SIZE
from tricktable_env.jit import kernel
from tricktable_env.tableau.infostate import unseen, void_cards
from tricktable_env.tableau.rules import legal, num_suits, wins
from tricktable_env.tableau.state import (
    CALL,
    CALL_HAND,
    COVER,
    HAND,
    LEAD,
    NO_TRUMP,
    NOT_CALLED,
    TRUMP,
    TURN,
    UNSEEN,
    UP,
)

# Frozen with version 1. Over 20,000 duplicate deals against themselves, halving or doubling any one
# of these gains nothing that counts, and leaving out any idea loses.
TRICK = 5.0  # a trick: more than any card is worth, so whoever can win does
SHARE = 1.0  # of a card's worth: times the share of the suit's other cards that it beats
WINNER = 2.0  # of a card's worth: it beats all that the other seat may still hold
TRUMP_WORTH = 0.5  # of a card's worth: it is a trump
RANK = 0.0625  # of a card's worth: a rank
SPENT = 0.5  # leading: times the worth of the card that the other seat must spend
UNCOVER = 0.5  # the card covers another
LENGTH = 1.0  # leading: a card held of the suit
DRAW = 1.0  # leading a trump while holding more of them than the other seat
FORCE = 20.0  # leading: times the chance that the other seat can only ruff
CALL_LENGTH, CALL_RANK = 10.0, 0.2  # calling: a card of the suit, a rank of it


@kernel
def decide_rows(views: np.ndarray, out: np.ndarray) -> None:
    """Decides for every view of a batch.

    Args:
        views: `[B, W] uint64`, each of the seat to act.
        out: `[B] int64`, overwritten with the actions.
    """
    for row in range(len(views)):
        out[row] = decide(views[row])


@kernel
def choose(view: np.ndarray, mask: np.ndarray, words: np.ndarray) -> int:
    """Decides for one view, as `decide_rows` does; needs neither mask nor chance."""
    return decide(view)


@kernel
def decide(v: np.ndarray) -> int:
    """The action for one view `[W] uint64` of the seat to act; of equals the lowest number."""
    if v[TRUMP] == np.uint64(NOT_CALLED):
        return call(v)
    cards = legal(v)
    best = -1
    highest = 0.0
    while cards != ZERO:
        card = first(cards)
        cards &= cards - ONE
        score = _lead_score(v, card) if v[LEAD] == ZERO else _follow_score(v, card)
        if best < 0 or score > highest:
            best = card
            highest = score
    return best


@kernel
def call(v: np.ndarray) -> int:
    """Names the longest suit of the cards seen; of equals the one with the higher ranks."""
    best = 0
    highest = -1.0
    for suit in range(num_suits(v)):
        cards = v[CALL_HAND] & _suit(suit)
        score = CALL_LENGTH * size(cards)
        while cards != ZERO:
            score += CALL_RANK * (first(cards) % SUIT_SIZE)
            cards &= cards - ONE
        if score > highest:
            best = suit
            highest = score
    return CALL + best


@kernel
def worth(card: int, others: np.uint64, trump: int) -> float:
    """What a card is worth to whoever holds it, against the cards that others may hold."""
    suit = card // SUIT_SIZE
    held = size(others & _suit(suit))
    higher = size(others & _above(card))
    value = SHARE + RANK * (card % SUIT_SIZE)
    if held > 0:
        value -= SHARE * higher / held
    if higher == 0 and (held > 0 or suit == trump):  # with none left a side card wins nothing
        value += WINNER
    if suit == trump:
        value += TRUMP_WORTH
    return value


@kernel
def missing(cards: int, named: int, drawn: int) -> float:
    """The chance that `drawn` of `cards` cards, drawn evenly, have none of the `named` ones."""
    if named == 0:
        return 1.0
    if drawn > cards - named:
        return 0.0
    chance = 1.0
    for i in range(named):
        chance *= (cards - drawn - i) / (cards - i)
    return chance


@kernel
def _follow_score(v: np.ndarray, card: int) -> float:
    score = _cost(v, card)
    if wins(card, int64(v[LEAD]) - 1, int64(v[TRUMP])):
        score += TRICK
    return score


@kernel
def _lead_score(v: np.ndarray, card: int) -> float:
    seat = int64(v[TURN])
    trump = int64(v[TRUMP])
    suit = card // SUIT_SIZE
    mine = v[HAND + seat] | v[UP + seat]
    table = v[UP + 1 - seat]
    hidden = unseen(v)
    pool = hidden & ~void_cards(v, 1 - seat)  # where the other hand is drawn from
    hand = int64(v[UNSEEN])
    holds = missing(size(pool), size(pool & _above(card)), hand)
    score = _cost(v, card) + LENGTH * size(mine & _suit(suit))
    if suit == trump:
        theirs = size(table & _suit(suit)) + hand * size(pool & _suit(suit)) / max(size(pool), 1)
        if size(mine & _suit(suit)) > theirs:
            score += DRAW
    above = table & _above(card)
    follow = table & _suit(suit)
    if above != ZERO:
        return score + SPENT * worth(first(above), mine | hidden, trump)
    if follow != ZERO:
        return score + holds * (TRICK + SPENT * worth(first(follow), mine | hidden, trump))
    score += TRICK * holds
    if suit != trump and trump != NO_TRUMP:
        lacks = missing(size(pool), size(pool & _suit(suit)), hand)
        ruffs = 1.0
        if table & _suit(trump) == ZERO:
            ruffs -= missing(size(pool), size(pool & _suit(trump)), hand)
        score += FORCE * lacks * ruffs
    return score


@kernel
def _cost(v: np.ndarray, card: int) -> float:
    """What playing a card gives up (less than 0) or uncovers."""
    seat = int64(v[TURN])
    score = -worth(card, v[UP + 1 - seat] | unseen(v), int64(v[TRUMP]))
    if has(v[COVER + seat], card):
        score += UNCOVER
    return score


@kernel
def _suit(suit: int) -> np.uint64:
    return np.uint64(SUIT_CARDS) << np.uint64(SUIT_SIZE * suit)


@kernel
def _above(card: int) -> np.uint64:
    """The higher cards of a card's suit."""
    return _suit(card // SUIT_SIZE) & ~((bit(card) << ONE) - ONE)
