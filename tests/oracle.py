"""Tableau in slow, obvious Python: the oracle that the compiled engine is tested against.

Written from the text of the rules alone, with lists, sets and strings and nothing clever, so that a
fault here and a fault in the engine are unlikely to be the same fault. It shares no code with the
engine and must never import it.

A card is ``13 * suit + rank`` (suits S H D C are 0 to 3, ranks 2 to A are 0 to 12); the actions 52
to 55 call trump S H D C. The seat in a round is a role: 0 is the caller, 1 the dealer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, TypeAlias, TypedDict

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

Completion: TypeAlias = tuple[Any, ...]
"""One way to fill in what a seat has not seen; its two shapes are in `consistent_deals`."""


class Event(TypedDict):
    """What happened in one action.

    Attributes:
        seat: Who acted.
        action: The card played, or the call.
        source: ``"hand"`` or ``"table"``; None for a call.
        uncovered: The face-down card that the play turned over, or None.
        trick: Tricks completed in the round before the action, so 0 in the first trick and for the
            call.
    """

    seat: Seat
    action: Action
    source: str | None
    uncovered: Card | None
    trick: int


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
        return sum(map(_hand_size, self.hands[seat])) + sum(map(len, self.tables[seat]))

    @property
    def cards(self) -> list[Card]:
        """Every card that the text names, in the order of its fields."""
        named: list[Card] = [] if self.lead is None else [self.lead]
        for seat in (CALLER, DEALER):
            for part in self.hands[seat]:
                named += [] if isinstance(part, int) else part
            named += [card for pile in self.tables[seat] for card in pile if card is not None]
        return named


def _hand_size(hand: Hand) -> int:
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


def _check_deck(position: Position, rules: OracleRules) -> None:
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


def _check_rules_fit(position: Position, rules: OracleRules) -> None:
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
            sum(map(_hand_size, position.hands[seat])) > rules.hand
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
        if _hand_size(position.hands[CALLER][0]) != rules.seen_at_call:
            raise ValueError(
                f"hand in {text!r}: {rules.seen_at_call} cards are seen before the call"
            )
    elif left == rules.tricks:
        leader = position.seat if position.lead is None else 1 - position.seat
        if leader != SEATS.index(rules.first_lead):
            raise ValueError(
                f"seat {text[0]!r} in {text!r}: the {rules.first_lead} leads the first trick"
            )


class OracleRound:
    """One round, from the deal or from a position.

    Attributes:
        rules: The options.
        hands: The cards in each seat's hand.
        piles: The piles of each seat, left to right: [top, under], [top] or, emptied, [].
        seen: The cards that the caller has seen when calling.
        out: The cards out of play that nobody has seen. Empty in a round from a position: absent
            cards count as seen.
        trump: The suit, or None before the call and without trump.
        lead: The card led to the trick in progress, or None.
        turn: Who acts next; once over, who won the last trick.
        tricks: Tricks taken by the caller and by the dealer.
        phase: ``"call"``, ``"play"`` or ``"over"``.
        history: What has happened since the deal or the position.
        shown_void: The suits that each seat's hand is known to lack, as it did not follow them.
    """

    def __init__(self, rules: OracleRules, deck: Sequence[Card], trump: Suit | None = None) -> None:
        """Deals a round.

        Args:
            rules: The options.
            deck: Every card of the deck once, in the order dealt.
            trump: The suit drawn when the rules say ``trump="random"``, else None.

        Raises:
            ValueError: The deck is wrong, or trump is missing or given without need.
        """
        drawable = list(range(rules.suits)) if rules.trump == "random" else [None]
        if trump not in drawable:
            raise ValueError(f"trump {trump!r}: must be one of {drawable} with trump={rules.trump}")
        dealt = deal(rules, deck)
        self.rules = rules
        self.hands: list[set[Card]] = [set(hand) for hand in dealt.hands]
        self.piles: list[list[list[Card]]] = list(dealt.piles)
        self.seen: list[Card] = dealt.hands[CALLER][: rules.seen_at_call]
        self.out: list[Card] = dealt.out
        self.trump: Suit | None = SUITS.index(rules.trump) if rules.trump in SUITS else trump
        self.lead: Card | None = None
        self.turn: Seat = CALLER if rules.trump == "call" else SEATS.index(rules.first_lead)
        self.tricks = [0, 0]
        self.phase = "call" if rules.trump == "call" else "play"
        self.history: list[Event] = []
        self.shown_void: list[set[Suit]] = [set(), set()]

    @classmethod
    def from_position(cls, text: str, rules: OracleRules, *, strict: bool = True) -> OracleRound:
        """Starts from a whole position.

        Args:
            text: The eight fields.
            rules: The options.
            strict: Ask for all that a reset asks for (score and rules fit, not finished), not just
                what solving does.

        Raises:
            ValueError: The text is no position to play from; the message quotes what is wrong.
        """
        position = read_position(text)
        _check_deck(position, rules)
        if strict:
            _check_rules_fit(position, rules)
        round_ = cls.__new__(cls)
        round_.rules = rules
        # _check_deck refused unseen cards, so the ints and Nones of a seat's view can't occur.
        parts = [
            [list(part) for part in hand if not isinstance(part, int)] for hand in position.hands
        ]
        round_.hands = [{card for part in hand for card in part} for hand in parts]
        round_.piles = [
            [[card for card in pile if card is not None] for pile in piles]
            for piles in position.tables
        ]
        round_.seen = parts[CALLER][0]
        round_.out = []
        round_.trump = SUITS.index(position.trump) if position.trump in SUITS else None
        round_.lead = position.lead
        round_.turn = position.seat
        round_.tricks = list(position.score)
        round_.phase = "call" if position.trump == "-" else "play"
        if not any(position.counts):
            round_.phase = "over"
        round_.history = []
        round_.shown_void = [set(), set()]
        return round_

    def copy(self) -> OracleRound:
        """Returns an independent copy."""
        other = OracleRound.__new__(OracleRound)
        other.__dict__.update(self.__dict__)
        other.hands = [set(hand) for hand in self.hands]
        other.piles = [[list(pile) for pile in piles] for piles in self.piles]
        other.tricks = list(self.tricks)
        other.history = list(self.history)
        other.shown_void = [set(suits) for suits in self.shown_void]
        return other

    def playable(self, seat: Seat) -> list[Card]:
        """Returns the cards in a seat's hand and face up before it, ascending."""
        return sorted(self.hands[seat] | {pile[0] for pile in self.piles[seat] if pile})

    def legal(self) -> list[Action]:
        """Returns the legal actions, ascending; none once over."""
        if self.phase == "over":
            return []
        if self.phase == "call":
            return [FIRST_CALL + suit for suit in range(self.rules.suits)]
        cards = self.playable(self.turn)
        if self.lead is None:
            return cards
        following = [card for card in cards if suit_of(card) == suit_of(self.lead)]
        return following or cards

    def play(self, action: Action) -> None:
        """Calls trump or plays a card.

        Raises:
            ValueError: The action is not legal; the round is as it was.
        """
        legal = self.legal()
        # Python finds 3.0 and True in a list of integers, but neither is an action. A numpy 3 is.
        integer = isinstance(action, SupportsIndex) and not isinstance(action, bool)
        if not integer or action not in legal:
            raise ValueError(
                f"illegal action {action!r}: legal are {legal} "
                f"({' '.join(map(action_text, legal))})"
            )
        action, seat, trick = int(action), self.turn, sum(self.tricks)
        if self.phase == "call":
            self.history.append(
                {"seat": seat, "action": action, "source": None, "uncovered": None, "trick": trick}
            )
            self.trump = action - FIRST_CALL
            self.phase = "play"
            self.turn = SEATS.index(self.rules.first_lead)
            return
        source, uncovered = self._remove(seat, action)
        self.history.append(
            {
                "seat": seat,
                "action": action,
                "source": source,
                "uncovered": uncovered,
                "trick": trick,
            }
        )
        if self.lead is None:
            self.lead = action
            self.turn = 1 - seat
        else:
            self._finish_trick(seat, action)

    def _remove(self, seat: Seat, card: Card) -> tuple[str, Card | None]:
        if card in self.hands[seat]:
            self.hands[seat].remove(card)
            return "hand", None
        for pile in self.piles[seat]:
            if pile and pile[0] == card:
                del pile[0]
                return "table", pile[0] if pile else None
        raise AssertionError("a legal card is in hand or face up")

    def _finish_trick(self, follower: Seat, second: Card) -> None:
        assert self.lead is not None
        if suit_of(second) != suit_of(self.lead):
            self.shown_void[follower].add(suit_of(self.lead))
        winner = follower if self._beats(second, self.lead) else 1 - follower
        self.tricks[winner] += 1
        self.lead = None
        self.turn = winner
        if not self.playable(CALLER) and not self.playable(DEALER):
            self.phase = "over"

    def _beats(self, second: Card, first: Card) -> bool:
        if suit_of(second) == suit_of(first):
            return rank_of(second) > rank_of(first)
        return suit_of(second) == self.trump

    def winner(self) -> str:
        """Returns ``"caller"``, ``"dealer"`` or ``"draw"``.

        Raises:
            ValueError: The round is not over.
        """
        if self.phase != "over":
            raise ValueError(f"phase {self.phase!r}: a round has a winner once it is over")
        caller, dealer = self.tricks
        if caller == dealer:
            return self.rules.tie
        return "caller" if caller > dealer else "dealer"

    def reward(self, role: Seat) -> float:
        """Returns what the finished round pays the seat.

        Raises:
            ValueError: The round is not over.
        """
        winner = self.winner()
        if self.rules.reward == "margin":
            return (self.tricks[role] - self.tricks[1 - role]) / self.rules.tricks
        if winner == "draw":
            return 0.0
        return 1.0 if winner == SEATS[role] else -1.0

    def position(self, seat: Seat | None = None) -> str:
        """Returns the position's text, whole or as a seat sees it."""
        calling = self.phase == "call"
        caller_hand: tuple[Hand, ...] = (tuple(self.hands[CALLER]),)
        if calling:
            caller_hand = (tuple(self.seen), tuple(self.hands[CALLER] - set(self.seen)))
        hands: list[tuple[Hand, ...]] = [caller_hand, (tuple(self.hands[DEALER]),)]
        tables: list[list[Pile]] = [[tuple(pile) for pile in piles if pile] for piles in self.piles]
        if seat is not None:
            hidden = [tuple(_hand_size(part) for part in hand) for hand in hands]
            if not calling:
                hands[1 - seat] = hidden[1 - seat]
            elif seat == CALLER:
                # Only the cards seen at the call have been dealt as far as the caller can tell.
                hands = [(caller_hand[0], hidden[CALLER][1]), hidden[DEALER]]
            else:
                hands = [hidden[CALLER], hidden[DEALER]]
            shown = 0 if calling else 1
            tables = [
                [(*pile[:shown], *[None] * (len(pile) - shown)) for pile in piles]
                for piles in tables
            ]
        trump = SUITS[self.trump] if self.trump is not None else "-" if calling else "N"
        score = (self.tricks[CALLER], self.tricks[DEALER])
        both_hands, both_tables = (hands[0], hands[1]), (tuple(tables[0]), tuple(tables[1]))
        return Position(self.turn, trump, self.lead, score, both_hands, both_tables).text


class OracleMatch:
    """Rounds until a player has won enough of them; with one round to win, exactly one round.

    A drawn round counts for nobody: a match of several rounds goes on after it, and a single round
    ends as a draw.

    Attributes:
        rules: The options.
        round: The round in progress, or the last one once over.
        number: Its number, from 1.
        wins: Rounds won by player_0 and player_1.
        over: Whether a player has won `rounds_to_win` rounds, or the single round is played.
    """

    def __init__(
        self,
        rules: OracleRules,
        next_deck: Callable[[int], Sequence[Card]],
        next_trump: Callable[[int], Suit] | None = None,
    ) -> None:
        """Deals the first round.

        Args:
            rules: The options.
            next_deck: Gives the deck of a round from its number, from 1.
            next_trump: Gives the suit drawn for a round when the rules say ``trump="random"``.
        """
        self.rules = rules
        self.wins = [0, 0]
        self.over = False
        self.number = 0
        self._next_deck = next_deck
        self._next_trump = next_trump
        self._deal_next()

    def _deal_next(self) -> None:
        self.number += 1
        trump = None if self._next_trump is None else self._next_trump(self.number)
        self.round = OracleRound(self.rules, self._next_deck(self.number), trump)

    def role(self, player: int) -> Seat:
        """Returns a player's role in this round.

        player_0 is the caller of the first, and the roles swap after each, drawn ones too.
        """
        caller = (self.number - 1) % 2
        return CALLER if player == caller else DEALER

    @property
    def turn(self) -> int:
        """The player to act."""
        return 0 if self.role(0) == self.round.turn else 1

    def play(self, action: Action) -> tuple[float, float]:
        """Plays an action, and deals the next round when one ends without deciding the match.

        Returns:
            What the step pays player_0 and player_1.

        Raises:
            ValueError: The action is not legal; the match is as it was.
        """
        self.round.play(action)
        if self.round.phase != "over":
            return 0.0, 0.0
        winner = self.round.winner()
        for player in (0, 1):
            if winner == SEATS[self.role(player)]:
                self.wins[player] += 1
        self.over = self.rules.rounds_to_win == 1 or self.rules.rounds_to_win in self.wins
        paid = self._pay()
        if not self.over:
            self._deal_next()
        return paid

    def _pay(self) -> tuple[float, float]:
        rules = self.rules
        if rules.reward == "margin" or rules.match_reward == "round" or rules.rounds_to_win == 1:
            return self.round.reward(self.role(0)), self.round.reward(self.role(1))
        if not self.over:
            return 0.0, 0.0
        return (1.0, -1.0) if self.wins[0] == rules.rounds_to_win else (-1.0, 1.0)


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
