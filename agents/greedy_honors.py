"""The greedy way of playing Honors: kernels from a view to an action.

One trick is looked at, never two, and no card that the seat has not seen. Every legal card gets a
score in points, what it may make now less what it would be worth later:

- The trick counts a point, and the honors that lie in it and the card's own count what they do. All
  of that is won with the chance that nobody behind beats the card, and otherwise goes to others.
- What a card is worth later: more the more unseen cards of its suit it beats, more for a trump, and
  for an honor its own points as far as it can be brought home. So an honor is not thrown to a trick
  that others take, an ace of trumps waits for another honor, and cheap cards win cheap tricks.
- With announcing, a trick counts what it changes: the points expected for the deal with it less
  those without, the tricks to come being taken by chance. So a player who has all it announced
  ducks. It announces what promises the most points by the same reckoning, from its hand.

Only sums, products and quotients are used, so that every machine decides alike.
"""

from __future__ import annotations

import numpy as np

from tricktable_env.bits import ONE, ZERO, bit, first, int64, size
from tricktable_env.cards import SUIT_SIZE
from tricktable_env.honors.infostate import unseen
from tricktable_env.honors.rules import (
    announces,
    announcing,
    beats,
    best_place,
    honor,
    legal_cards,
    num_players,
    suit_cards,
)
from tricktable_env.honors.state import (
    ANNOUNCE,
    ANNOUNCED,
    DEAL_LEFT,
    HAND,
    IN_TRICK,
    SHOWN,
    TRICK,
    TRICKS,
    TRUMP,
    TURN,
    byte_of,
    held,
    nibble_of,
)
from tricktable_env.jit import kernel

# Frozen with version 1; found by trying many others over thousands of games at two, three and four
# players. A bonus for cards that nothing beats, and one for leading long suits, gained nothing.
SHARE = 0.4  # of a card's worth: times the share of the unseen cards of its suit that it beats
TRUMP_WORTH, TRUMP_SHARE = 0.6, 1.9  # of a trump's worth: always, and times that share
SIDE = 0.7  # announcing: the part of the cards of other side suits that a side card may beat
HOME = 0.8  # of an honor's worth: its points, times that share, where something still beats it


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
    if announcing(v):
        return ANNOUNCE + announcement(v)
    cards = legal_cards(v)
    value = trick_value(v)
    best = -1
    highest = 0.0
    while cards != ZERO:
        card = first(cards)
        cards &= cards - ONE
        score = _score(v, card, value)
        if best < 0 or score > highest:
            best = card
            highest = score
    return best


# -- cards -----------------------------------------------------------------------------------
@kernel
def _above(card: int) -> np.uint64:
    """The higher cards of a card's suit."""
    return suit_cards(card // SUIT_SIZE) & ~((bit(card) << ONE) - ONE)


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
def stands(v: np.ndarray, card: int, led: int, behind: int) -> float:
    """The chance that a card that takes the trick so far is not beaten by those behind.

    Args:
        v: `[W] uint64`, a view.
        card: the card.
        led: the suit led.
        behind: how many are still to play after this seat.
    """
    players = num_players(v)
    trump = int64(v[TRUMP])
    hidden = unseen(v)
    cards = size(hidden)
    in_suit = size(hidden & suit_cards(led))
    higher = size(hidden & _above(card))
    chance = 1.0
    for i in range(1, behind + 1):
        seat = (int64(v[TURN]) + i) % players
        hand = held(v, seat)
        lacks = missing(cards, in_suit, hand)
        if nibble_of(v, SHOWN, 4 * seat + led) == 0:
            lacks = 1.0
        if card // SUIT_SIZE != led:  # a ruff, beaten by a higher one alone
            chance *= 1.0 - lacks * (1.0 - missing(cards, higher, hand))
            continue
        follows = missing(cards, higher, hand) if lacks < 1.0 else 1.0
        ruffs = 0.0
        if led != trump:
            ruffs = 1.0 - missing(cards, size(hidden & suit_cards(trump)), hand)
        chance *= (1.0 - lacks) * follows + lacks * (1.0 - ruffs)
    return chance


@kernel
def worth(v: np.ndarray, card: int) -> float:
    """What a card would be worth later, in points."""
    hidden = unseen(v)
    others = size(hidden & suit_cards(card // SUIT_SIZE))
    higher = size(hidden & _above(card))
    share = 1.0 - higher / others if others > 0 else 1.0
    if card // SUIT_SIZE != int64(v[TRUMP]):
        return SHARE * share
    home = 1.0 if higher == 0 else HOME * share
    return TRUMP_WORTH + TRUMP_SHARE * share + home * honor(card, int64(v[TRUMP]))


@kernel
def _score(v: np.ndarray, card: int, value: float) -> float:
    trump = int64(v[TRUMP])
    players = num_players(v)
    in_trick = int64(v[IN_TRICK])
    led = card // SUIT_SIZE
    takes = True
    points = float(honor(card, trump))
    if in_trick > 0:
        led = (byte_of(v, TRICK, 0) - 1) // SUIT_SIZE
        takes = beats(card, byte_of(v, TRICK, best_place(v)) - 1, trump)
        for i in range(in_trick):
            points += honor(byte_of(v, TRICK, i) - 1, trump)
    wins = stands(v, card, led, players - 1 - in_trick) if takes else 0.0
    lost = (1.0 - wins) * (1.0 + points) / (players - 1)
    return wins * (value + points) - lost - worth(v, card)


# -- announcing ------------------------------------------------------------------------------
@kernel
def deal_points(tricks: int, announced: int) -> int:
    """What so many tricks make in a deal, honors aside."""
    if tricks == announced:
        return 2 * tricks
    return tricks if tricks > announced else tricks - 2 * (announced - tricks)


@kernel(allocates=True)
def expected_points(taken: int, left: int, chance: float, announced: int) -> float:
    """The points expected of a deal, each trick that is left being taken with the same chance."""
    rest = np.zeros(left + 1, np.float64)
    rest[0] = 1.0
    for i in range(left):
        for k in range(i + 1, 0, -1):
            rest[k] = rest[k] * (1.0 - chance) + rest[k - 1] * chance
        rest[0] *= 1.0 - chance
    points = 0.0
    for k in range(left + 1):
        points += rest[k] * deal_points(taken + k, announced)
    return points


@kernel
def trick_value(v: np.ndarray) -> float:
    """What taking the trick in progress changes, honors aside."""
    if not announces(v):
        return 1.0
    seat = int64(v[TURN])
    taken = byte_of(v, TRICKS, seat)
    announced = byte_of(v, ANNOUNCED, seat) - 1
    left = int64(v[DEAL_LEFT]) - 1
    need = announced - taken
    chance = 1.0 / num_players(v)
    if left > 0 and 0 <= need <= left:  # who steers takes about as many as it needs
        chance = (chance + need / left) / 2.0
    return expected_points(taken + 1, left, chance, announced) - expected_points(
        taken, left, chance, announced
    )


@kernel
def announcement(v: np.ndarray) -> int:
    """The number of tricks that promises the most points."""
    seat = int64(v[TURN])
    players = num_players(v)
    left = int64(v[DEAL_LEFT])
    hand = v[HAND + seat]
    count = size(hand)
    strength = 0.0
    while hand != ZERO:
        card = first(hand)
        hand &= hand - ONE
        strength += _strength(v, card)
    expected = strength + (left - count) / players
    chance = min(expected / left, 1.0)
    best = 0
    highest = 0.0
    for tricks in range(left + 1):
        points = expected_points(0, left, chance, tricks)
        if tricks == 0 or points > highest:
            best = tricks
            highest = points
    return best


@kernel
def _strength(v: np.ndarray, card: int) -> float:
    """The chance that a card takes a trick, roughly: those it beats, to the power of the others."""
    hidden = unseen(v)
    players = num_players(v)
    suit = card // SUIT_SIZE
    trumps = size(hidden & suit_cards(int64(v[TRUMP])))
    beaten = 1.0 * size(hidden & suit_cards(suit) & ~_above(card))
    if suit != int64(v[TRUMP]):
        beaten += SIDE * (size(hidden) - size(hidden & suit_cards(suit)) - trumps)
    else:
        beaten += size(hidden) - trumps
    chance = 1.0
    for _ in range(players - 1):
        chance *= beaten / max(size(hidden), 1)
    return chance
