"""Where the places of a deck order of Tableau go, and the deck order of a round."""

from __future__ import annotations

from itertools import accumulate

from tricktable_env.cards import Card, Words, cards_of
from tricktable_env.game import PositionError
from tricktable_env.tableau.infostate import at_first_play
from tricktable_env.tableau.rules import Rules, num_piles
from tricktable_env.tableau.state import (
    CALL_HAND,
    CALLER,
    DEALER,
    DECK,
    GONE,
    HAND,
    UP,
    slot_of,
    under_of,
)


def deck_places(rules: Rules) -> tuple[tuple[int, ...], ...]:
    """The places of a deck order, by where their cards go; see `game.Game.deck_places`.

    First the cards that the caller sees at the call, its other cards, and the dealer's hand; then
    every face-down and face-up card by itself, for a pile is known by where it lies.
    """
    head, middle, tail = rules.batches
    sizes = (head, head, rules.piles, rules.piles, rules.piles, rules.piles, middle, middle, tail)
    starts = accumulate(sizes, initial=0)
    blocks = [range(at, at + size) for at, size in zip(starts, (*sizes, tail), strict=True)]
    caller = (*blocks[0], *blocks[6], *blocks[8])
    dealer = (*blocks[1], *blocks[7], *blocks[9])
    seen = rules.call_cards if rules.trump == "call" else 0
    hands = (caller[:seen], caller[seen:], dealer)
    table = tuple((place,) for block in blocks[2:6] for place in block)
    return tuple(places for places in (*hands, *table) if places)


def deck_of_round(s: Words, rules: Rules) -> list[Card]:
    """An order of the deck that deals the round of a state; see `game.Game.deck`.

    Raises:
        PositionError: the round began from a position in which cards had been played.
    """
    if int(s[GONE]):
        raise PositionError("a round begun from a position with cards gone has no deck order")
    start = at_first_play(s)
    dealt: list[Card] = []
    if rules.trump == "call":
        dealt += cards_of(int(start[CALL_HAND]))
    dealt += cards_of(int(start[HAND]) & ~sum(1 << card for card in dealt))
    dealt += cards_of(int(start[HAND + DEALER]))
    for seat in (CALLER, DEALER):
        dealt += [under_of(start, seat, slot) for slot in range(num_piles(s))]
    for seat in (CALLER, DEALER):
        dealt += sorted(cards_of(int(start[UP + seat])), key=lambda card: slot_of(start, card))
    rest = [card for card in cards_of(int(s[DECK])) if card not in dealt]
    deck = [-1] * (len(dealt) + len(rest))
    places = [place for group in deck_places(rules) for place in group]
    for place, card in zip([*places, *range(len(dealt), len(deck))], dealt + rest, strict=True):
        deck[place] = card
    return deck
