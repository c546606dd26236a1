"""Text of Tableau: positions and actions.

A position is eight fields with one space between:
`SEAT TRUMP LEAD SCORE CALLER-HAND CALLER-TABLE DEALER-HAND DEALER-TABLE`. `Position` is that text
taken apart; it knows nothing of the rules. `positions` turns it into a state and back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from tricktable_env.cards import (
    SUITS,
    Card,
    CardSet,
    NotationError,
    Seat,
    card_text,
    cards_of,
    check_spaces,
    hand_text,
    read_card,
    read_hand,
)
from tricktable_env.tableau.state import (
    CALL,
    CALLER,
    DEALER,
    NOT_CALLED,
)

TRUMPS = SUITS + "N-"
"""A suit, no trump, not called: indexed by the word TRUMP."""
UNKNOWN: Card = -1
"""A card that is there but unseen."""
SEATS = "CD"
"""Letters of the seats."""


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
            SEATS[self.seat],
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
    check_spaces(text)
    if len(fields) != 8:
        raise NotationError(
            f"no position: {text!r} has {len(fields)} fields, not 8 with one "
            "space between (SEAT TRUMP LEAD SCORE and both hands and tables)"
        )
    seat, trump, lead, score = fields[:4]
    if seat not in SEATS or len(seat) != 1:
        raise NotationError(f"no seat: {seat!r} in {text!r} (C or D)")
    if trump not in (*SUITS, "N", "-"):
        raise NotationError(
            f"no trump: {trump!r} in {text!r} (S, H, D, C, N, or - before the call)"
        )
    tricks = re.fullmatch(r"(0|[1-9][0-9]?)-(0|[1-9][0-9]?)", score)
    if not tricks:
        raise NotationError(f"no score: {score!r} in {text!r} (as 3-2, caller's tricks first)")
    position = Position(
        seat=SEATS.index(seat),
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


# -- actions -----------------------------------------------------------------------------------
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
