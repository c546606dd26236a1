"""Positions and states of Tableau: a round begun from a text, and the texts of a round.

`place` and `position_of` are each other's inverse. What one seat has seen, as a position and in
order, is written from its view, so nothing else can be in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from tricktable_env.cards import (
    NUM_CARDS,
    Card,
    Seat,
    Words,
    card_set,
    card_text,
    cards_of,
)
from tricktable_env.game import Action, PositionError
from tricktable_env.tableau.infostate import (
    at_first_play,
    view_of,
)
from tricktable_env.tableau.notation import (
    SEATS,
    TRUMPS,
    UNKNOWN,
    Hand,
    Pile,
    Position,
    action_text,
    read_position,
)
from tricktable_env.tableau.rules import (
    Rules,
    call_cards,
    hand_size,
    num_piles,
)
from tricktable_env.tableau.state import (
    BARE,
    CALL,
    CALL_HAND,
    CALLER,
    COVER,
    DEALER,
    FROM_HAND,
    GONE,
    HAND,
    LEAD,
    LEFT,
    NO_TRUMP,
    NOT_CALLED,
    TRICKS,
    TRUMP,
    TURN,
    UNSEEN,
    UP,
    VIEWER,
    clear_round,
    history,
    note_start,
    put_slot,
    put_under,
    slot_of,
    under_of,
)


# -- positions and states --------------------------------------------------------------------
def place(s: Words, text: str, rules: Rules) -> None:
    """Begins a round from the text of a position; absent cards count as seen and played.

    Args:
        s: `[WORDS] uint64` that holds the rules; untouched when the position is refused.
        text: the position.
        rules: the rules that `s` holds.

    Raises:
        NotationError: no position.
        PositionError: seen by one seat only, finished, or not of these rules.
    """
    position = read_position(text)
    _check_fits(position, text, rules)
    lay_out(s, position, rules)


def lay_out(s: Words, position: Position, rules: Rules) -> None:
    """Begins a round from a whole position, whose score and cards need not fit the rules.

    Args:
        s: `[WORDS] uint64` that holds the rules.
        position: a position of at most MAX_PILES piles a side, with every card known.
        rules: the rules that `s` holds.
    """
    clear_round(s)
    for seat in (CALLER, DEALER):
        hand = position.hands[seat]
        s[HAND + seat] = hand.cards | (hand.to_come or 0)
        for slot, pile in enumerate(position.tables[seat]):
            s[UP + seat] |= 1 << pile.top
            put_slot(s, pile.top, slot)
            if pile.under is not None:
                s[COVER + seat] |= 1 << pile.top
                put_under(s, seat, slot, pile.under)
        s[TRICKS + seat] = position.tricks[seat]
    if position.hands[CALLER].to_come is not None:
        s[CALL_HAND] = position.hands[CALLER].cards
    s[GONE] = rules.deck & ~card_set(position.cards())
    s[TURN], s[TRUMP] = position.seat, position.trump
    s[LEAD] = 0 if position.lead is None else position.lead + 1
    if position.lead is not None:
        s[GONE] |= 1 << position.lead
    s[LEFT] = max(position.left(CALLER), position.left(DEALER))
    note_start(s)


def _check_fits(position: Position, text: str, rules: Rules) -> None:
    if position.is_seen_by_one_seat:
        raise PositionError(f"{text!r} is what one seat sees; a game needs every card")
    left = max(position.left(CALLER), position.left(DEALER))
    if left == 0:
        raise PositionError(f"{text!r} is finished: no card is left to play")
    if left + sum(position.tricks) != rules.tricks:
        raise PositionError(
            f"{text!r}: score {position.tricks[0]}-{position.tricks[1]} plus {left} tricks left is "
            f"not the {rules.tricks} tricks of the deal (hand={rules.hand}, piles={rules.piles})"
        )
    for card in position.cards():
        if not rules.deck >> card & 1:
            raise PositionError(
                f"{card_text(card)} in {text!r} is not in the deck (suits={rules.suits}, "
                f"ranks={rules.ranks})"
            )
    for seat, name in enumerate(("caller", "dealer")):
        _check_shape(position, seat, name, text, rules)
    _check_trump(position, text, rules)
    if left == rules.tricks and position.trump != NOT_CALLED:
        leader = position.seat if position.lead is None else 1 - position.seat
        if leader != ("caller", "dealer").index(rules.first_lead):
            raise PositionError(
                f"{SEATS[position.seat]!r} in {text!r}: no trick is taken, and the first lead is "
                f"the {rules.first_lead}'s"
            )


def _check_shape(position: Position, seat: Seat, name: str, text: str, rules: Rules) -> None:
    hand, table = position.hands[seat].size, position.tables[seat]
    if hand > rules.hand or len(table) > rules.piles:
        raise PositionError(
            f"{text!r}: the {name} has {hand} cards in hand and {len(table)} piles, more than "
            f"hand={rules.hand}, piles={rules.piles}"
        )
    if position.trump == NOT_CALLED and position.left(seat) != rules.tricks:
        raise PositionError(
            f"{text!r}: before the call nobody has played, so the {name} has all "
            f"{rules.tricks} cards"
        )


def _check_trump(position: Position, text: str, rules: Rules) -> None:
    trump = "-" if position.trump == NOT_CALLED else TRUMPS[position.trump]
    if position.trump == NOT_CALLED:
        seen = position.hands[CALLER].cards.bit_count()
        if rules.trump != "call" or seen != rules.call_cards:
            raise PositionError(
                f"{text!r} is before the call with {seen} cards seen, but the rules are "
                f"trump={rules.trump!r}, call_cards={rules.call_cards}"
            )
    elif position.trump == NO_TRUMP:
        if rules.trump != "none":
            raise PositionError(f"{text!r} has no trump, but the rules are trump={rules.trump!r}")
    elif position.trump >= rules.suits or rules.trump not in ("call", "random", trump):
        raise PositionError(
            f"{text!r} has trump {trump}, but the rules are trump={rules.trump!r}, "
            f"suits={rules.suits}"
        )


def position_of(s: Words) -> Position:
    """Takes a state or a view apart.

    Args:
        s: `[WORDS] uint64`; of a view, what its seat does not see is unseen in the position.
    """
    viewer, trump = int(s[VIEWER]), int(s[TRUMP])
    before_call = trump == NOT_CALLED
    hands, tables = [], []
    for seat in (CALLER, DEALER):
        if before_call and viewer:
            tables.append((Pile(UNKNOWN, UNKNOWN),) * num_piles(s))
        else:
            tables.append(_piles_of(s, seat))
        hands.append(_hand_of(s, seat, viewer, before_call))
    return Position(
        seat=int(s[TURN]),
        trump=trump,
        lead=int(s[LEAD]) - 1 if s[LEAD] else None,
        tricks=(int(s[TRICKS]), int(s[TRICKS + 1])),
        hands=(hands[CALLER], hands[DEALER]),
        tables=(tables[CALLER], tables[DEALER]),
    )


def _piles_of(s: Words, seat: Seat) -> tuple[Pile, ...]:
    tops = sorted(cards_of(int(s[UP + seat])), key=lambda card: slot_of(s, card))
    piles = []
    for top in tops:
        covered = int(s[COVER + seat]) >> top & 1
        under = UNKNOWN if s[VIEWER] else under_of(s, seat, slot_of(s, top))
        piles.append(Pile(top, under if covered else None))
    return tuple(piles)


def _hand_of(s: Words, seat: Seat, viewer: int, before_call: bool) -> Hand:
    cards, seen = int(s[HAND + seat]), int(s[CALL_HAND])
    if before_call and seat == CALLER:
        early = call_cards(s)
        late = hand_size(s) - early
        if not viewer:
            return Hand(seen, to_come=cards & ~seen)
        early_unseen = None if viewer == 1 + CALLER else early
        return Hand(seen, early_unseen, 0, late)
    if viewer and (viewer != 1 + seat or before_call):
        return Hand(0, hand_size(s) if before_call else int(s[UNSEEN]))
    return Hand(cards)


# -- what a seat has seen --------------------------------------------------------------------
def position_text(s: Words, seat: Seat | None = None) -> str:
    """Writes a position, whole or as a seat sees it; of a view, as its own seat sees it.

    Args:
        s: `[WORDS] uint64`, a full state, or a view of the seat.
        seat: 0 the caller, 1 the dealer; None for all that `s` holds.
    """
    return position_of(s).text() if seat is None else _seen_text(s, seat)


def information_state(s: Words, seat: Seat) -> str:
    """Writes all that a seat has seen of its round, in order, ` | ` between the parts.

    The start as the seat saw it; then, where trump was called, `trump S` and the deal that all
    then saw; then every play, each trick in a part of its own. `KS/2H` is a play that uncovered a
    card, `QD/` one from the table with nothing beneath, `QD` one from the hand.

    Args:
        s: `[WORDS] uint64`, a full state, or a view of the seat.
        seat: 0 the caller, 1 the dealer.
    """
    events = history(s)
    start = at_first_play(s)
    parts = []
    if (events and events[0][1] >= CALL) or int(s[TRUMP]) == NOT_CALLED:
        uncalled = start.copy()
        uncalled[TRUMP], uncalled[TURN] = NOT_CALLED, CALLER
        parts.append(_seen_text(uncalled, seat))
        if events:
            parts.append(action_text(events.pop(0)[1]))
    if int(s[TRUMP]) != NOT_CALLED:
        parts.append(_seen_text(start, seat))
    first = 1 if start[LEAD] else 0
    plays = [_play_text(action, reveal) for _, action, reveal in events]
    tricks = [plays[:first]] if first and plays else []
    tricks += [plays[i : i + 2] for i in range(first, len(plays), 2)]
    return " | ".join(parts + [" ".join(trick) for trick in tricks])


def _seen_text(s: Words, seat: Seat) -> str:
    seen = view_of(s, seat)
    if s[VIEWER]:  # a view has no hand of the other seat to count
        seen[UNSEEN] = s[UNSEEN] if int(s[TRUMP]) != NOT_CALLED else hand_size(s)
    return position_of(seen).text()


def _play_text(card: Card, reveal: int) -> str:
    if reveal == FROM_HAND:
        return card_text(card)
    return f"{card_text(card)}/" + ("" if reveal == BARE else card_text(reveal - 1))


def record(s: Words) -> tuple[str, list[Action]]:
    """Tells a round from all that its state remembers: the position it started from, the actions.

    Raises:
        PositionError: a view, which lacks the hidden cards.
    """
    if int(s[VIEWER]):
        raise PositionError("a view has no record: it lacks the hidden cards")
    events, start = history(s), at_first_play(s)
    if events and events[0][1] >= CALL:
        start[TRUMP], start[TURN] = NOT_CALLED, CALLER
    return position_of(start).text(), [action for _, action, _ in events]


def check_deck(deck: Sequence[int], rules: Rules) -> None:
    """Refuses a deck order that is not every card of the deck once.

    Raises:
        PositionError: which card is wrong.
    """
    dealt = 0
    for i, card in enumerate(deck):
        whole = isinstance(card, Integral) and not isinstance(card, bool)
        if not whole or not 0 <= card < NUM_CARDS or not rules.deck >> int(card) & 1:
            raise PositionError(
                f"deck entry {i} is {card!r}: no card of the deck (suits={rules.suits}, "
                f"ranks={rules.ranks}; a card is the whole number 13 x suit + rank)"
            )
        if dealt >> int(card) & 1:
            raise PositionError(f"deck entry {i} is {card_text(int(card))}, which came before")
        dealt |= 1 << int(card)
    missing = rules.deck & ~dealt
    if missing:
        raise PositionError(f"deck lacks {card_text(next(cards_of(missing)))}")
