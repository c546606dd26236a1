"""Tableau in slow, obvious Python: the oracle that the compiled engine is tested against.

Written from the text of the rules alone, with lists, sets and strings and nothing clever, so that a
fault here and a fault in the engine are unlikely to be the same fault. It shares no code with the
engine and must never import it.

A card is ``13 * suit + rank`` (suits S H D C are 0 to 3, ranks 2 to A are 0 to 12); the actions 52
to 55 call trump S H D C. The seat in a round is a role: 0 is the caller, 1 the dealer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import SupportsIndex, TypedDict

from oracle_texts import (
    CALLER,
    DEALER,
    FIRST_CALL,
    SEATS,
    SUITS,
    Action,
    Card,
    Hand,
    OracleRules,
    Pile,
    Position,
    Seat,
    Suit,
    action_text,
    check_deck,
    check_rules_fit,
    deal,
    hand_size,
    rank_of,
    read_position,
    suit_of,
)


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
        check_deck(position, rules)
        if strict:
            check_rules_fit(position, rules)
        round_ = cls.__new__(cls)
        round_.rules = rules
        # check_deck refused unseen cards, so the ints and Nones of a seat's view can't occur.
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
            hidden = [tuple(hand_size(part) for part in hand) for hand in hands]
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
