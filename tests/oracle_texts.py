"""Cards, options of the rules, deals and texts of the oracle; see `oracle`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Card: TypeAlias = int
Suit: TypeAlias = int
Seat: TypeAlias = int
Action: TypeAlias = int

SUITS = "SHDC"
RANKS = "23456789TJQKA"
CALLER: Seat = 0
DEALER: Seat = 1
SEATS = ("caller", "dealer")
FIRST_CALL: Action = 52
"""The action that calls trump S; H, D and C follow."""

Hand: TypeAlias = tuple[Card, ...] | int
"""The cards of a hand as a position's text shows them; when they are unseen, how many."""

Pile: TypeAlias = tuple[Card | None, ...]
"""A pile as a position's text shows it: (top, under) or (top,); None is an unseen card."""


def suit_of(card: Card) -> Suit:
    """Returns the suit of a card, 0 to 3."""
    return card // 13


def rank_of(card: Card) -> int:
    """Returns the rank of a card, 0 for a two to 12 for an ace."""
    return card % 13


def card_text(card: Card) -> str:
    """Returns a card as rank then suit, like ``AS``."""
    return RANKS[rank_of(card)] + SUITS[suit_of(card)]


def read_card(text: str) -> Card:
    """Returns the card that is written like ``AS``.

    Raises:
        ValueError: The text is no card.
    """
    if len(text) != 2 or text[0] not in RANKS or text[1] not in SUITS:
        raise ValueError(f"unknown card {text!r}: a card is rank then suit, like AS or TD")
    return 13 * SUITS.index(text[1]) + RANKS.index(text[0])


def action_text(action: Action) -> str:
    """Returns an action as game records write it, ``AS`` or ``trump S``."""
    return f"trump {SUITS[action - FIRST_CALL]}" if action >= FIRST_CALL else card_text(action)


def read_action(text: str) -> Action:
    """Returns the action that a game record writes as ``AS`` or ``trump S``.

    Raises:
        ValueError: The text is neither a card nor a call.
    """
    for suit, letter in enumerate(SUITS):
        if text == f"trump {letter}":
            return FIRST_CALL + suit
    return read_card(text)


@dataclass(frozen=True)
class OracleRules:
    """The options of Tableau.

    Attributes:
        tie: Who wins a round with equal tricks: ``"dealer"``, ``"caller"`` or ``"draw"`` (nobody).
        call_cards: How many of its cards, in the order dealt, the caller has seen when calling;
            None: the first batch.
        trump: ``"call"``, ``"random"``, ``"none"`` or a fixed suit, one of ``S H D C``.
        first_lead: Who leads the first trick: ``"caller"`` or ``"dealer"``.
        suits: The deck has the first that many of S H D C.
        ranks: The deck has the highest that many ranks.
        hand: Cards dealt to each hand.
        piles: Piles of two before each player.
        rounds_to_win: Rounds that win the match; 1 is a single round, which may be drawn.
        reward: A round pays ``"win"`` (+1, -1, 0) or ``"margin"`` (difference of tricks over
            tricks).
        match_reward: With more than one round to win, ``"match"`` (only the match pays) or
            ``"round"`` (each does).

    Raises:
        ValueError: The options make no sense.
    """

    tie: str = "dealer"
    call_cards: int | None = None
    trump: str = "call"
    first_lead: str = "caller"
    suits: int = 4
    ranks: int = 13
    hand: int = 10
    piles: int = 8
    rounds_to_win: int = 1
    reward: str = "win"
    match_reward: str = "match"

    def __post_init__(self) -> None:
        choices = {
            "tie": ("dealer", "caller", "draw"),
            "trump": ("call", "random", "none", *SUITS[: self.suits]),
            "first_lead": SEATS,
            "suits": range(1, 5),
            "ranks": range(1, 14),
            "hand": range(53),
            "piles": range(27),
            "reward": ("win", "margin"),
            "match_reward": ("match", "round"),
        }
        for option, allowed in choices.items():
            if getattr(self, option) not in allowed:
                raise ValueError(
                    f"{option}={getattr(self, option)!r}: must be one of {list(allowed)}"
                )
        if self.call_cards is not None and not 0 <= self.call_cards <= self.hand:
            raise ValueError(f"call_cards={self.call_cards}: must be 0 to hand={self.hand}")
        if self.rounds_to_win < 1:
            raise ValueError(f"rounds_to_win={self.rounds_to_win}: must be at least 1")
        if not 1 <= self.tricks <= self.suits * self.ranks // 2:
            raise ValueError(
                f"hand={self.hand}, piles={self.piles}: need 2 to {self.suits * self.ranks} cards"
            )

    @property
    def tricks(self) -> int:
        """Tricks in a round, which is also the cards of each player."""
        return self.hand + 2 * self.piles

    @property
    def deck(self) -> list[Card]:
        """Every card of the deck, in ascending order."""
        return [
            13 * suit + rank for suit in range(self.suits) for rank in range(13 - self.ranks, 13)
        ]

    @property
    def batches(self) -> tuple[int, int, int]:
        """Sizes of the three batches in which a hand is dealt."""
        first = (self.hand + 1) // 2
        second = (self.hand - first + 1) // 2
        return first, second, self.hand - first - second

    @property
    def seen_at_call(self) -> int:
        """Cards of its hand that the caller has seen when it calls."""
        return self.batches[0] if self.call_cards is None else self.call_cards


@dataclass(frozen=True)
class Deal:
    """Where the cards of a deck went.

    Attributes:
        hands: The two hands, each in the order dealt.
        piles: The piles of each seat, left to right, each [top, under].
        out: The cards not dealt.
    """

    hands: tuple[list[Card], list[Card]]
    piles: tuple[list[list[Card]], list[list[Card]]]
    out: list[Card]


def deal(rules: OracleRules, deck: Sequence[Card]) -> Deal:
    """Deals a deck in the given order.

    Raises:
        ValueError: The deck is not every card of the rules' deck once.
    """
    if sorted(deck) != rules.deck:
        raise ValueError(f"deck {list(deck)}: must be every card of {rules.deck} once")
    left = [int(card) for card in deck]

    def take(count: int) -> list[Card]:
        taken = left[:count]
        del left[:count]
        return taken

    first, second, third = rules.batches
    caller_hand = take(first)
    dealer_hand = take(first)
    caller_unders = take(rules.piles)
    dealer_unders = take(rules.piles)
    caller_tops = take(rules.piles)
    dealer_tops = take(rules.piles)
    for batch in (second, third):
        caller_hand += take(batch)
        dealer_hand += take(batch)
    caller_piles = [[top, under] for top, under in zip(caller_tops, caller_unders, strict=True)]
    dealer_piles = [[top, under] for top, under in zip(dealer_tops, dealer_unders, strict=True)]
    return Deal((caller_hand, dealer_hand), (caller_piles, dealer_piles), left)


@dataclass(frozen=True)
class Position:
    """What the text of a position says, whole or as one seat sees it.

    Attributes:
        seat: Who acts next.
        trump: ``S H D C``, ``-`` before the call, ``N`` for no trump.
        lead: The card led to the trick in progress, or None.
        score: Tricks taken by the caller and by the dealer.
        hands: The parts of each hand: one, but two for the caller before the call (seen, and to
            come).
        tables: The piles of each seat that are not empty, left to right.
    """

    seat: Seat
    trump: str
    lead: Card | None
    score: tuple[int, int]
    hands: tuple[tuple[Hand, ...], tuple[Hand, ...]]
    tables: tuple[tuple[Pile, ...], tuple[Pile, ...]]

    @property
    def text(self) -> str:
        """The eight fields."""
        hands = ["+".join(_hand_text(part) for part in parts) for parts in self.hands]
        tables = [",".join(_pile_text(pile) for pile in piles) or "-" for piles in self.tables]
        lead = "-" if self.lead is None else card_text(self.lead)
        score = f"{self.score[0]}-{self.score[1]}"
        return " ".join(
            ["CD"[self.seat], self.trump, lead, score, hands[0], tables[0], hands[1], tables[1]]
        )

    @property
    def hidden(self) -> bool:
        """Whether any card is unseen."""
        return "?" in self.text

    @property
    def counts(self) -> tuple[int, int]:
        """Cards that each seat still has, in hand and on the table."""
        return self._count(CALLER), self._count(DEALER)

    def _count(self, seat: Seat) -> int:
        return sum(map(hand_size, self.hands[seat])) + sum(map(len, self.tables[seat]))

    @property
    def cards(self) -> list[Card]:
        """Every card that the text names, in the order of its fields."""
        named: list[Card] = [] if self.lead is None else [self.lead]
        for seat in (CALLER, DEALER):
            for part in self.hands[seat]:
                named += [] if isinstance(part, int) else part
            named += [card for pile in self.tables[seat] for card in pile if card is not None]
        return named


def hand_size(hand: Hand) -> int:
    return hand if isinstance(hand, int) else len(hand)


def _hand_text(hand: Hand) -> str:
    if isinstance(hand, int):
        return f"?{hand}"
    high_first = sorted(hand, reverse=True)
    return ".".join(
        "".join(RANKS[rank_of(card)] for card in high_first if suit_of(card) == suit)
        for suit in range(4)
    )


def _pile_text(pile: Pile) -> str:
    return "/".join("?" if card is None else card_text(card) for card in pile)


def _read_hand(text: str) -> Hand:
    if re.fullmatch(r"\?(0|[1-9][0-9]*)", text):
        return int(text[1:])
    suits = text.split(".")
    if len(suits) != 4:
        raise ValueError(f"hand {text!r}: must be four suits S.H.D.C, or ? and a number")
    hand: list[Card] = []
    for letter, ranks in zip(SUITS, suits, strict=True):
        cards = [read_card(rank + letter) for rank in ranks]
        _refuse_twice(cards)
        if cards != sorted(cards, reverse=True):
            raise ValueError(
                f"hand {text!r}: ranks {ranks!r} are out of order, must go from high to low"
            )
        hand += cards
    return tuple(hand)


def _read_table(text: str) -> tuple[Pile, ...]:
    if text == "-":
        return ()
    piles: list[Pile] = []
    for pile_text in text.split(","):
        pile = tuple(None if card == "?" else read_card(card) for card in pile_text.split("/"))
        # Only a covered card can be unseen, except before the call, when a whole pile is.
        if len(pile) > 2 or (pile[0] is None and pile != (None, None)):
            raise ValueError(
                f"pile {pile_text!r}: must be a card, or a card on another, like QD, KS/2H or KS/?"
            )
        piles.append(pile)
    return tuple(piles)


def _refuse_twice(cards: Iterable[Card]) -> None:
    seen: set[Card] = set()
    for card in cards:
        if card in seen:
            raise ValueError(f"card {card_text(card)!r} is there twice")
        seen.add(card)


def read_position(text: str) -> Position:
    """Reads a position, whole or as one seat sees it, and checks all that needs no rules.

    Raises:
        ValueError: The text is no position; the message quotes what is wrong.
    """
    fields = text.split(" ")
    if len(fields) != 8:
        raise ValueError(
            f"position {text!r}: has {len(fields)} fields, must be 8 with one space between"
        )
    seat, trump, lead, score, caller_hand, caller_table, dealer_hand, dealer_table = fields
    if seat not in ("C", "D"):
        raise ValueError(f"seat {seat!r}: must be C or D")
    if trump not in (*SUITS, "-", "N"):
        raise ValueError(f"trump {trump!r}: must be S, H, D, C, - or N")
    if not re.fullmatch(r"(0|[1-9][0-9]*)-(0|[1-9][0-9]*)", score):
        raise ValueError(f"score {score!r}: must be two numbers like 10-14")
    parts = caller_hand.split("+")
    if len(parts) != (2 if trump == "-" else 1):
        raise ValueError(
            f"hand {caller_hand!r}: must have one '+' before the call, "
            f"none after it (trump is {trump!r})"
        )
    caller_score, dealer_score = map(int, score.split("-"))
    position = Position(
        seat="CD".index(seat),
        trump=trump,
        lead=None if lead == "-" else read_card(lead),
        score=(caller_score, dealer_score),
        hands=(tuple(map(_read_hand, parts)), (_read_hand(dealer_hand),)),
        tables=(_read_table(caller_table), _read_table(dealer_table)),
    )
    _check_consistent(position)
    return position


def _check_consistent(position: Position) -> None:
    text = position.text
    _refuse_twice(position.cards)
    if position.trump == "-":
        if position.lead is not None:
            raise ValueError(
                f"led card {card_text(position.lead)!r} in {text!r}: nothing is led before the call"
            )
        if position.seat != CALLER:
            raise ValueError(f"seat 'D' in {text!r}: the caller acts before the call")
    elif any(pile[0] is None for piles in position.tables for pile in piles):
        raise ValueError(f"pile '?/?' in {text!r}: the upper card is seen after the call")
    to_act, other = position.counts[position.seat], position.counts[1 - position.seat]
    if position.lead is None and to_act != other:
        raise ValueError(
            f"position {text!r}: {to_act} cards against {other}, must be equal as no card is led"
        )
    if position.lead is not None and to_act != other + 1:
        raise ValueError(
            f"led card {card_text(position.lead)!r} in {text!r}: who led has {other} cards "
            f"and the other {to_act}, must be one fewer"
        )


def check_deck(position: Position, rules: OracleRules) -> None:
    if position.hidden:
        raise ValueError(
            f"position {position.text!r}: '?' is what one seat sees, must be whole to be played"
        )
    for card in position.cards:
        if card not in rules.deck:
            raise ValueError(
                f"unknown card {card_text(card)!r}: the deck has {rules.ranks} ranks "
                f"of {rules.suits} suits"
            )


def check_rules_fit(position: Position, rules: OracleRules) -> None:
    text, trump = position.text, position.trump
    fitting = {
        "call": ["-", *SUITS[: rules.suits]],
        "random": list(SUITS[: rules.suits]),
        "none": ["N"],
    }.get(rules.trump, [rules.trump])
    if trump not in fitting:
        raise ValueError(
            f"trump {trump!r} in {text!r}: must be one of {fitting} with trump={rules.trump}"
        )
    for seat in (CALLER, DEALER):
        if (
            sum(map(hand_size, position.hands[seat])) > rules.hand
            or len(position.tables[seat]) > rules.piles
        ):
            raise ValueError(
                f"{SEATS[seat]} in {text!r}: more than {rules.hand} cards in hand "
                f"or {rules.piles} piles"
            )
    left = position.counts[position.seat]
    if left == 0:
        raise ValueError(f"position {text!r}: is finished, must have a trick left")
    if sum(position.score) + left != rules.tricks:
        score = f"{position.score[0]}-{position.score[1]}"
        raise ValueError(
            f"score {score!r} in {text!r}: with {left} tricks left must make {rules.tricks}"
        )
    if trump == "-":
        if left != rules.tricks:
            raise ValueError(
                f"trump '-' in {text!r}: all {rules.tricks} tricks are left before the call"
            )
        if hand_size(position.hands[CALLER][0]) != rules.seen_at_call:
            raise ValueError(
                f"hand in {text!r}: {rules.seen_at_call} cards are seen before the call"
            )
    elif left == rules.tricks:
        leader = position.seat if position.lead is None else 1 - position.seat
        if leader != SEATS.index(rules.first_lead):
            raise ValueError(
                f"seat {text[0]!r} in {text!r}: the {rules.first_lead} leads the first trick"
            )
