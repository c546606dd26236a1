"""Text of Honors: positions and actions.

A position is six fields and a hand for each seat, with one space between:
`SEAT TRUMP TRICK SCORE ANNOUNCED STOCK HAND HAND ...`

- SEAT: the seat to act, `0`; while tricks are being announced also who will lead, `1>0`.
- TRUMP: the card that was turned over, `QH`, whose suit is trump; or the suit alone, `H`, where
  none was turned.
- TRICK: the cards of the trick in progress in order of play, `KS,2S`, or `-`.
- SCORE: for each seat `TRICKS/HONORS/POINTS`: tricks taken in this deal, points of the honors taken
  in this deal, points of earlier deals; `3/5/0,2/0/0`.
- ANNOUNCED: for each seat the tricks announced for this deal, `-` for not yet: `3,-`; and `-` alone
  where the rules have no announcing.
- STOCK: the cards of the stock from the top, `4S,9H,QH`, or `-`. The turned card comes last.
- HAND: the four suits in the order S.H.D.C, ranks high to low: `AK2.QJ..T93`.

What one seat sees: unseen cards are counted, `?12`; the turned card stays in view, so a stock is
`?11,QH` and a hand `?6+QH`. `Position` is that text taken apart; it knows nothing of the rules.
`positions` turns it into a state and back.
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
    Suit,
    card_text,
    cards_of,
    check_spaces,
    hand_text,
    read_card,
    read_hand,
)
from tricktable_env.honors.state import ANNOUNCE, MAX_PLAYERS, NUM_ACTIONS

_FIELDS = 6
_NUMBER = r"(?:0|[1-9][0-9]?)"


@dataclass(frozen=True)
class Score:
    """What one seat has taken."""

    tricks: int
    """Tricks of this deal."""
    honors: int
    """Points of the honors taken in this deal."""
    points: int
    """Points of earlier deals."""

    def text(self) -> str:
        """Writes it: `3/5/0`."""
        return f"{self.tricks}/{self.honors}/{self.points}"


@dataclass(frozen=True)
class Hand:
    """One seat's hand: cards known, and how many are not."""

    cards: CardSet
    """The cards known."""
    unseen: int = 0
    """How many are not."""

    @property
    def size(self) -> int:
        """Number of cards."""
        return self.cards.bit_count() + self.unseen

    def text(self) -> str:
        """Writes the hand: `AK2.QJ..T93`, `?7`, `?6+QH`."""
        if not self.unseen:
            return hand_text(self.cards)
        return "+".join([f"?{self.unseen}", *map(card_text, cards_of(self.cards))])


@dataclass(frozen=True)
class Position:
    """A position, taken apart."""

    seat: Seat
    """Who acts next."""
    leader: Seat | None
    """Who will lead, while tricks are being announced; else None."""
    trump: Suit
    """The trump suit."""
    turned: Card | None
    """The card that was turned over."""
    trick: tuple[Card, ...]
    """The cards of the trick in progress."""
    scores: tuple[Score, ...]
    """What each seat has taken."""
    announced: tuple[int | None, ...] | None
    """What each seat has announced, None for not yet; None where nothing is announced."""
    stock: tuple[Card, ...]
    """The cards known of the stock, from the top."""
    stock_unseen: int
    """How many lie above them unseen."""
    hands: tuple[Hand, ...]
    """The hands."""

    @property
    def num_players(self) -> int:
        """Number of seats."""
        return len(self.hands)

    @property
    def leads(self) -> Seat:
        """Who leads, or led, the trick in progress."""
        if self.leader is not None:
            return self.leader
        return (self.seat - len(self.trick)) % self.num_players

    @property
    def stock_size(self) -> int:
        """Cards in the stock."""
        return len(self.stock) + self.stock_unseen

    @property
    def is_seen_by_one_seat(self) -> bool:
        """Whether cards are missing from it because a seat can't see them."""
        return self.stock_unseen > 0 or any(hand.unseen for hand in self.hands)

    def cards(self) -> list[Card]:
        """Lists every known card, those of the trick included."""
        hands = [card for hand in self.hands for card in cards_of(hand.cards)]
        return [*self.trick, *self.stock, *hands]

    def text(self) -> str:
        """Writes the position."""
        stock = [f"?{self.stock_unseen}"] if self.stock_unseen else []
        stock += map(card_text, self.stock)
        announced = ["-"]
        if self.announced is not None:
            announced = ["-" if said is None else str(said) for said in self.announced]
        fields = [
            str(self.seat) if self.leader is None else f"{self.seat}>{self.leader}",
            SUITS[self.trump] if self.turned is None else card_text(self.turned),
            ",".join(map(card_text, self.trick)) or "-",
            ",".join(score.text() for score in self.scores),
            ",".join(announced),
            ",".join(stock) or "-",
        ]
        return " ".join([*fields, *(hand.text() for hand in self.hands)])


# -- reading ---------------------------------------------------------------------------------
def read_position(text: str) -> Position:
    """Takes the text of a position apart.

    Raises:
        NotationError: a wrong number of fields, a field that can't be read, a card twice, or fields
            that contradict each other. The message quotes the text at fault.
    """
    fields = text.split(" ")
    check_spaces(text)
    players = len(fields) - _FIELDS
    if not 2 <= players <= MAX_PLAYERS:
        raise NotationError(
            f"no position: {text!r} has {len(fields)} fields, not SEAT TRUMP "
            f"TRICK SCORE ANNOUNCED STOCK and 2 to {MAX_PLAYERS} hands, with one space between"
        )
    seat, trump, trick, score, announced, stock, *hands = fields
    seats = "".join(map(str, range(players)))
    acting = re.fullmatch(rf"([{seats}])(?:>([{seats}]))?", seat)
    if not acting:
        raise NotationError(
            f"no seat: {seat!r} in {text!r} (0 to {players - 1}; 1>0 while 1 announces and 0 leads)"
        )
    turned = None if trump in SUITS and len(trump) == 1 else _read_turned(trump, text)
    cards, unseen = _read_stock(stock)
    position = Position(
        seat=int(acting[1]),
        leader=None if acting[2] is None else int(acting[2]),
        trump=SUITS.index(trump[-1]),
        turned=turned,
        trick=() if trick == "-" else tuple(map(read_card, trick.split(","))),
        scores=_read_scores(score, players, text),
        announced=_read_announced(announced, players, text),
        stock=cards,
        stock_unseen=unseen,
        hands=tuple(map(_read_hand, hands)),
    )
    _check(position, text)
    return position


def _read_turned(trump: str, text: str) -> Card:
    try:
        return read_card(trump)
    except NotationError:
        raise NotationError(
            f"no trump: {trump!r} in {text!r} (S, H, D, C, or the card turned over, as QH)"
        ) from None


def _read_scores(score: str, players: int, text: str) -> tuple[Score, ...]:
    one = rf"{_NUMBER}/{_NUMBER}/(?:0|-?[1-9][0-9]{{0,2}})"
    if not re.fullmatch(rf"{one}(?:,{one}){{{players - 1}}}", score):
        raise NotationError(
            f"no score: {score!r} in {text!r} (for each of {players} seats TRICKS/HONORS/POINTS, "
            "as 3/5/0,2/0/0)"
        )
    return tuple(Score(*map(int, each.split("/"))) for each in score.split(","))


def _read_announced(announced: str, players: int, text: str) -> tuple[int | None, ...] | None:
    if announced == "-":
        return None
    one = rf"(?:-|{_NUMBER})"
    if not re.fullmatch(rf"{one}(?:,{one}){{{players - 1}}}", announced):
        raise NotationError(
            f"no announcements: {announced!r} in {text!r} (for each of {players} seats a number, "
            "or - for not yet, as 3,-; or - alone where nothing is announced)"
        )
    return tuple(None if said == "-" else int(said) for said in announced.split(","))


def _read_stock(text: str) -> tuple[tuple[Card, ...], int]:
    if text == "-":
        return (), 0
    top, *rest = text.split(",")
    unseen = _read_count(top)
    if unseen:
        return tuple(map(read_card, rest)), unseen
    return tuple(map(read_card, (top, *rest))), 0


def _read_hand(text: str) -> Hand:
    count, plus, card = text.partition("+")
    unseen = _read_count(count)
    if unseen:
        return Hand(1 << read_card(card) if plus else 0, unseen)
    return Hand(read_hand(text))


def _read_count(text: str) -> int:
    """The number of unseen cards, 0 where the text is no count."""
    count = re.fullmatch(r"\?([1-9][0-9]?)", text)
    return int(count[1]) if count else 0


def _check(position: Position, text: str) -> None:
    for card, after in pairwise(sorted(position.cards())):
        if card == after:
            raise NotationError(f"card {card_text(card)} twice in {text!r}")
    turned = position.turned
    if turned is not None and turned in position.stock[:-1]:
        raise NotationError(
            f"{card_text(turned)} in {text!r}: the card turned over is the last of the stock"
        )
    if turned is not None and position.stock_size and position.stock[-1:] != (turned,):
        raise NotationError(
            f"stock in {text!r}: while there is one, {card_text(turned)}, which was turned over, "
            "is its last card"
        )
    _check_phase(position, text)
    _check_trick(position, text)


def _check_phase(position: Position, text: str) -> None:
    said = position.announced
    waiting = said is not None and None in said
    if waiting != (position.leader is not None):
        raise NotationError(
            f"seat and announcements do not agree in {text!r}: the seat has the form 1>0 while "
            "somebody is still to announce, and only then"
        )
    if not waiting:
        return
    assert said is not None
    count = said.index(None)
    if position.seat != count or any(each is not None for each in said[count:]):
        raise NotationError(
            f"announcements in {text!r}: seats announce in the order 0, 1, ..., so {count} is next"
        )
    if position.trick or any(score.tricks or score.honors for score in position.scores):
        raise NotationError(f"{text!r}: nothing is played before all have announced")


def _check_trick(position: Position, text: str) -> None:
    """Who has played to the trick has one card less; who did not follow has none of the suit."""
    players, trick = position.num_players, position.trick
    if len(trick) >= players:
        raise NotationError(f"trick of {len(trick)} cards in {text!r}, not 0 to {players - 1}")
    most = position.hands[position.seat].size
    for place in range(players):
        seat = (position.leads + place) % players
        hand = position.hands[seat]
        if hand.size != most - (place < len(trick)):
            raise NotationError(
                f"cards do not agree in {text!r}: seat {seat} has {hand.size}, seat "
                f"{position.seat} to act has {most}, and {len(trick)} are played to the trick"
            )
        if 0 < place < len(trick) and trick[place] // 13 != trick[0] // 13:
            held = [card for card in cards_of(hand.cards) if card // 13 == trick[0] // 13]
            if held:
                raise NotationError(
                    f"{card_text(trick[place])} in {text!r}: seat {seat} played it to "
                    f"{card_text(trick[0])} while holding {card_text(held[0])}"
                )


# -- actions -----------------------------------------------------------------------------------
def action_text(action: int) -> str:
    """Writes an action: `AS`, `announce 3`; what is no action is written as the number it is."""
    if 0 <= action < ANNOUNCE:
        return card_text(action)
    return f"announce {action - ANNOUNCE}" if ANNOUNCE <= action < NUM_ACTIONS else str(action)


def read_action(text: str) -> int:
    """Reads an action.

    Raises:
        NotationError: neither a card nor an announcement.
    """
    word, _, number = text.partition(" ")
    if word == "announce":
        if not re.fullmatch(_NUMBER, number) or int(number) >= NUM_ACTIONS - ANNOUNCE:
            raise NotationError(
                f"no announcement: {text!r} (announce 0 to announce {NUM_ACTIONS - ANNOUNCE - 1})"
            )
        return ANNOUNCE + int(number)
    return read_card(text)
