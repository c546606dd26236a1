"""Text of Tableau: positions, actions and what a seat has seen.

A position is eight fields with one space between:
`SEAT TRUMP LEAD SCORE CALLER-HAND CALLER-TABLE DEALER-HAND DEALER-TABLE`. `Position` is that text
taken apart; it knows nothing of the rules. `place` and `position_of` turn it into a state and back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral

from tricktable_env.cards import (
    NUM_CARDS,
    SUITS,
    Card,
    CardSet,
    NotationError,
    Seat,
    Words,
    card_set,
    card_text,
    cards_of,
    hand_text,
    read_card,
    read_hand,
)
from tricktable_env.game import PositionError
from tricktable_env.tableau.infostate import at_first_play, view_of
from tricktable_env.tableau.rules import Rules, call_cards, hand_size, num_piles
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

TRUMPS = SUITS + "N-"
"""A suit, no trump, not called: indexed by the word TRUMP."""
UNKNOWN: Card = -1
"""A card that is there but unseen."""
_SEATS = "CD"


@dataclass(frozen=True)
class Hand:
    """One seat's hand: cards known, and how many are not."""

    cards: CardSet = 0
    """The cards known; before the call, those the caller has seen."""
    unseen: int | None = None
    """How many cards it has where they are unseen, else None."""
    to_come: CardSet | None = None
    """Before the call: the cards still to come to the caller; None afterwards."""
    unseen_to_come: int | None = None
    """Before the call, as one seat sees it: how many are still to come, else None."""

    @property
    def size(self) -> int:
        """Number of cards, those to come included."""
        known = self.cards.bit_count() + (self.to_come or 0).bit_count()
        return known + (self.unseen or 0) + (self.unseen_to_come or 0)

    def text(self) -> str:
        """Writes the hand."""
        head = _part_text(self.cards, self.unseen)
        if self.to_come is None:
            return head
        return f"{head}+{_part_text(self.to_come, self.unseen_to_come)}"


@dataclass(frozen=True)
class Pile:
    """One pile: its top card and what lies beneath."""

    top: Card
    """The face-up card, or UNKNOWN before the call."""
    under: Card | None = None
    """The face-down card, UNKNOWN when unseen, None when there is none."""

    def text(self) -> str:
        """Writes the pile: `KS/2H`, `KS/?`, `QD`."""
        top = _card_or_unknown(self.top)
        return top if self.under is None else f"{top}/{_card_or_unknown(self.under)}"


@dataclass(frozen=True)
class Position:
    """A position, taken apart."""

    seat: Seat
    """Who acts next: 0 the caller, 1 the dealer."""
    trump: int
    """A suit, NO_TRUMP or NOT_CALLED."""
    lead: Card | None
    """The card led to the trick in progress."""
    tricks: tuple[int, int]
    """Tricks taken by caller and dealer."""
    hands: tuple[Hand, Hand]
    """The caller's and the dealer's hand."""
    tables: tuple[tuple[Pile, ...], tuple[Pile, ...]]
    """The caller's and the dealer's piles, left to right."""

    def text(self) -> str:
        """Writes the position."""
        fields = [
            _SEATS[self.seat],
            "-" if self.trump == NOT_CALLED else TRUMPS[self.trump],
            "-" if self.lead is None else card_text(self.lead),
            f"{self.tricks[CALLER]}-{self.tricks[DEALER]}",
        ]
        for hand, table in zip(self.hands, self.tables, strict=True):
            fields += [hand.text(), ",".join(pile.text() for pile in table) or "-"]
        return " ".join(fields)

    @property
    def is_seen_by_one_seat(self) -> bool:
        """Whether cards are missing from it because a seat can't see them."""
        counts = [count for hand in self.hands for count in (hand.unseen, hand.unseen_to_come)]
        return counts != [None] * 4 or any(
            UNKNOWN in (pile.top, pile.under) for table in self.tables for pile in table
        )

    def left(self, seat: Seat) -> int:
        """Cards that a seat still has to play."""
        under = sum(pile.under is not None for pile in self.tables[seat])
        return self.hands[seat].size + len(self.tables[seat]) + under

    def cards(self) -> list[Card]:
        """Lists every known card, the led one included."""
        cards = [] if self.lead is None else [self.lead]
        for hand, table in zip(self.hands, self.tables, strict=True):
            cards += [*cards_of(hand.cards), *cards_of(hand.to_come or 0)]
            cards += [card for pile in table for card in (pile.top, pile.under) if card is not None]
        return [card for card in cards if card != UNKNOWN]


def _part_text(cards: CardSet, unseen: int | None) -> str:
    return hand_text(cards) if unseen is None else f"?{unseen}"


def _card_or_unknown(card: Card) -> str:
    return "?" if card == UNKNOWN else card_text(card)


# -- reading ---------------------------------------------------------------------------------
def read_position(text: str) -> Position:
    """Takes the text of a position apart.

    Raises:
        NotationError: not eight fields, a field that can't be read, a card twice, or a led card
            that the position contradicts. The message quotes the text at fault.
    """
    fields = text.split(" ")
    if len(fields) != 8 or "" in fields:
        raise NotationError(
            f"no position: {text!r} has {len([f for f in fields if f])} fields, not 8 with one "
            "space between (SEAT TRUMP LEAD SCORE and both hands and tables)"
        )
    seat, trump, lead, score = fields[:4]
    if seat not in _SEATS or len(seat) != 1:
        raise NotationError(f"no seat: {seat!r} in {text!r} (C or D)")
    if trump not in (*SUITS, "N", "-"):
        raise NotationError(
            f"no trump: {trump!r} in {text!r} (S, H, D, C, N, or - before the call)"
        )
    tricks = re.fullmatch(r"(0|[1-9][0-9]?)-(0|[1-9][0-9]?)", score)
    if not tricks:
        raise NotationError(f"no score: {score!r} in {text!r} (as 3-2, caller's tricks first)")
    position = Position(
        seat=_SEATS.index(seat),
        trump=TRUMPS.index(trump),
        lead=None if lead == "-" else read_card(lead),
        tricks=(int(tricks[1]), int(tricks[2])),
        hands=(_read_hand(fields[4]), _read_hand(fields[6])),
        tables=(_read_table(fields[5]), _read_table(fields[7])),
    )
    _check_cards(position, text)
    _check_phase(position, text)
    return position


def _read_hand(text: str) -> Hand:
    head, plus, tail = text.partition("+")
    cards, unseen = _read_part(head)
    to_come, unseen_to_come = _read_part(tail) if plus else (None, None)
    return Hand(cards, unseen, to_come, unseen_to_come)


def _read_part(text: str) -> tuple[CardSet, int | None]:
    unseen = re.fullmatch(r"\?(0|[1-9][0-9]?)", text)
    return (0, int(unseen[1])) if unseen else (read_hand(text), None)


def _read_table(text: str) -> tuple[Pile, ...]:
    if text == "-":
        return ()
    return tuple(_read_pile(pile) for pile in text.split(","))


def _read_pile(text: str) -> Pile:
    top, slash, under = text.partition("/")
    if top == "?" and under != "?":
        raise NotationError(f"no pile: {text!r} (a face-up card is seen by all; KS/2H, KS/?, QD)")
    return Pile(
        UNKNOWN if top == "?" else read_card(top),
        (UNKNOWN if under == "?" else read_card(under)) if slash else None,
    )


def _check_cards(position: Position, text: str) -> None:
    for card, after in pairwise(sorted(position.cards())):
        if card == after:
            raise NotationError(f"card {card_text(card)} twice in {text!r}")


def _check_phase(position: Position, text: str) -> None:
    before_call = position.trump == NOT_CALLED
    if (position.hands[CALLER].to_come is not None) != before_call:
        raise NotationError(
            f"caller's hand {position.hands[CALLER].text()!r} in {text!r}: it has the form "
            "SEEN+TO-COME before the call (trump -) and only then"
        )
    if position.hands[DEALER].to_come is not None:
        raise NotationError(
            f"dealer's hand {position.hands[DEALER].text()!r} in {text!r} has a +; only the "
            "caller's hand has one"
        )
    tops = [pile.top for table in position.tables for pile in table]
    if not before_call and UNKNOWN in tops:
        raise NotationError(f"pile '?/?' in {text!r}: after the call every face-up card is seen")
    if before_call and (position.seat, position.lead) != (CALLER, None):
        raise NotationError(f"before the call it is C - -, not {text[:12]!r}")
    _check_lead(position, text)


def _check_lead(position: Position, text: str) -> None:
    """The leader has played one card of this trick, so the seat to act has one card more."""
    leader = 1 - position.seat
    more = position.left(position.seat) - position.left(leader)
    if position.lead is None and more:
        raise NotationError(
            f"cards do not agree in {text!r}: caller has {position.left(CALLER)}, dealer has "
            f"{position.left(DEALER)}, and no card is led"
        )
    if position.lead is not None and more != 1:
        raise NotationError(
            f"led card {card_text(position.lead)} in {text!r}: the seat to act must have one card "
            f"more than the leader, but has {position.left(position.seat)} against "
            f"{position.left(leader)}"
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
    s[LEFT] = rules.tricks - sum(position.tricks)
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
                f"{_SEATS[position.seat]!r} in {text!r}: no trick is taken, and the first lead is "
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


def action_text(action: int) -> str:
    """Writes an action: `AS`, `trump S`; what is no action is written as the number it is."""
    if 0 <= action < CALL:
        return card_text(action)
    return f"trump {SUITS[action - CALL]}" if CALL <= action < CALL + 4 else str(action)


def read_action(text: str) -> int:
    """Reads an action.

    Raises:
        NotationError: neither a card nor a call.
    """
    word, _, suit = text.partition(" ")
    if word == "trump":
        if len(suit) != 1 or suit not in SUITS:
            raise NotationError(f"no call: {text!r} (trump S, trump H, trump D or trump C)")
        return CALL + SUITS.index(suit)
    return read_card(text)


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
