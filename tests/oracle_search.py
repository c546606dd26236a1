"""What the oracle counts by trying everything: agreeing deals, sequences of actions, best play."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from oracle import OracleRound
from oracle_texts import CALLER, DEALER, Action, Card, OracleRules, Seat, Suit, suit_of

Completion: TypeAlias = tuple[Any, ...]
"""One way to fill in what a seat has not seen; its two shapes are in `consistent_deals`."""


def consistent_deals(round_: OracleRound, seat: Seat) -> Iterator[Completion]:
    """Yields every way to fill in what a seat has not seen of a round, each once.

    All are equally likely: each stands for the same number of orders of the deck.

    After the call a completion is ``(other_hand, unders, out)``: the frozenset of the other hand;
    for each seat the tuple of the cards covered in its piles, left to right as `round_.piles` has
    them, None where nothing is covered; and the frozenset of the cards never dealt. The other hand
    has none of the suits that it has shown to lack.

    At the call, when nothing but the caller's first cards is dealt as far as anyone has seen, it is
    ``(seen, to_come, caller_piles, dealer_hand, dealer_piles, out)``: frozensets, and for the piles
    a tuple of ``(top, under)``. The caller knows `seen`, so that is the same in all; the dealer
    knows nothing, so it varies.
    """
    if round_.phase == "call":
        return _consistent_at_call(round_, seat)
    return _consistent_in_play(round_, seat)


def _split(cards: Iterable[Card], count: int) -> Iterator[tuple[frozenset[Card], list[Card]]]:
    pool = sorted(cards)
    for chosen in itertools.combinations(pool, count):
        yield frozenset(chosen), [card for card in pool if card not in chosen]


def _consistent_in_play(round_: OracleRound, seat: Seat) -> Iterator[Completion]:
    other = 1 - seat
    covered = [pile[1] for piles in round_.piles for pile in piles if len(pile) == 2]
    unseen = [*round_.hands[other], *covered, *round_.out]
    for other_hand, rest in _split(unseen, len(round_.hands[other])):
        if any(suit_of(card) in round_.shown_void[other] for card in other_hand):
            continue
        for placed in itertools.permutations(rest, len(covered)):
            next_card = iter(placed)
            unders = tuple(
                tuple(next(next_card) if len(pile) == 2 else None for pile in piles)
                for piles in round_.piles
            )
            yield other_hand, unders, frozenset(rest) - frozenset(placed)


def _consistent_at_call(round_: OracleRound, seat: Seat) -> Iterator[Completion]:
    hand, calling, piles = len(round_.hands[CALLER]), len(round_.seen), len(round_.piles[CALLER])
    cards = {*round_.hands[CALLER], *round_.hands[DEALER], *round_.out}
    cards |= {card for seat_piles in round_.piles for pile in seat_piles for card in pile}
    known = [(frozenset(round_.seen), sorted(cards - set(round_.seen)))]
    for seen, after_seen in known if seat == CALLER else _split(cards, calling):
        for to_come, after_caller in _split(after_seen, hand - calling):
            for dealer_hand, rest in _split(after_caller, len(round_.hands[DEALER])):
                for placed in itertools.permutations(rest, 4 * piles):
                    pairs = [(placed[i], placed[i + 1]) for i in range(0, len(placed), 2)]
                    out = frozenset(rest) - frozenset(placed)
                    yield (
                        seen,
                        to_come,
                        tuple(pairs[:piles]),
                        dealer_hand,
                        tuple(pairs[piles:]),
                        out,
                    )


def perft(rules: OracleRules, deck: Sequence[Card], depth: int, trump: Suit | None = None) -> int:
    """Returns the number of sequences of `depth` actions from the start of a round.

    A call is an action. Sequences that end before `depth` do not count.
    """
    return count_sequences(OracleRound(rules, deck, trump), depth)


def count_sequences(round_: OracleRound, depth: int) -> int:
    """Returns the number of sequences of `depth` actions from here."""
    if depth == 0:
        return 1
    if depth == 1:
        return len(round_.legal())
    return sum(count_sequences(_after(round_, action), depth - 1) for action in round_.legal())


def minimax(round_: OracleRound) -> dict[Action, int]:
    """Returns the tricks that the seat to act takes from here on, for each legal action.

    Both sides play perfectly and know all cards. The trick in progress counts. For small positions.
    """
    known: dict[object, int] = {}
    left = _cards_left(round_, round_.turn)
    values = {action: _caller_takes_by(round_, action, known) for action in round_.legal()}
    return {
        action: value if round_.turn == CALLER else left - value for action, value in values.items()
    }


def _after(round_: OracleRound, action: Action) -> OracleRound:
    after = round_.copy()
    after.play(action)
    return after


def _cards_left(round_: OracleRound, seat: Seat) -> int:
    return len(round_.hands[seat]) + sum(map(len, round_.piles[seat]))


def _caller_takes_by(round_: OracleRound, action: Action, known: dict[object, int]) -> int:
    after = _after(round_, action)
    return after.tricks[CALLER] - round_.tricks[CALLER] + _caller_takes(after, known)


def _caller_takes(round_: OracleRound, known: dict[object, int]) -> int:
    if round_.phase == "over":
        return 0
    piles = tuple(tuple(map(tuple, seat_piles)) for seat_piles in round_.piles)
    key = (*map(frozenset, round_.hands), piles, round_.trump, round_.lead, round_.turn)
    if key not in known:
        values = [_caller_takes_by(round_, action, known) for action in round_.legal()]
        known[key] = max(values) if round_.turn == CALLER else min(values)
    return known[key]
