"""Honors in slow, obvious Python: the oracle that the compiled engine is tested against.

Written from the text of the rules alone, with lists, sets and strings and nothing clever, so that a
fault here and a fault in the engine are unlikely to be the same fault. It shares no code with the
engine and must never import it.

A card is ``13 * suit + rank`` (suits S H D C are 0 to 3, ranks 2 to A are 0 to 12); the actions 52
to 78 announce 0 to 26 tricks.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Card: TypeAlias = int
Seat: TypeAlias = int

SUITS = "SHDC"
RANKS = "23456789TJQKA"
FIRST_ANNOUNCEMENT = 52
HONOR_POINTS = {"A": 5, "J": 4, "Q": 3}

World: TypeAlias = tuple[tuple[frozenset[Card], ...], tuple[Card, ...]]
"""The hands as dealt, and the stock from the top, the turned card at its bottom."""


def name(card: Card) -> str:
    return RANKS[card % 13] + SUITS[card // 13]


def number(text: str) -> Card:
    return 13 * SUITS.index(text[1]) + RANKS.index(text[0])


def hand_text(cards: set[Card] | frozenset[Card]) -> str:
    held = {name(card) for card in cards}
    return ".".join("".join(r for r in RANKS[::-1] if r + s in held) for s in SUITS)


def read_hand(text: str) -> set[Card]:
    suits = zip(SUITS, text.split("."), strict=True)
    return {number(rank + suit) for suit, ranks in suits for rank in ranks}


@dataclass
class OracleRules:
    """The options of a game."""

    num_players: int = 2
    stock: str = "draw"
    trump: str = "flip"
    announce: bool = False
    announce_double: str = "tricks"
    reward: str = "win"
    suits: int = 4
    ranks: int = 13
    hand: int = 7

    @property
    def deck(self) -> list[Card]:
        """The cards of the deck, in ascending order."""
        return [13 * s + r for s in range(self.suits) for r in range(13 - self.ranks, 13)]

    def deals(self) -> list[int]:
        """The number of tricks of each deal."""
        left = len(self.deck) - self.num_players * self.hand
        tricks = [self.hand]
        while self.stock == "draw" and left >= self.num_players:
            tricks[0] += 1
            left -= self.num_players
        while self.stock == "redeal" and left >= self.num_players:
            more = min(self.hand, left // self.num_players)
            tricks.append(more)
            left -= more * self.num_players
        return tricks


class OracleGame:
    """One game.

    Args:
        rules: its options.
        deck: every card of the deck, in the order dealt.
        trump: the suit drawn, where trump is random.

    Attributes:
        log: what happened, in order: ("announce", seat, number), ("play", seat, card) and
            ("draw", seat, card).
    """

    def __init__(self, rules: OracleRules, deck: list[Card], trump: int | None = None) -> None:
        n, h = rules.num_players, rules.hand
        assert sorted(deck) == rules.deck
        self.rules = rules
        self.hands: list[set[Card]] = [set() for _ in range(n)]
        for i in range(n * h):
            self.hands[i % n].add(deck[i])
        rest = deck[n * h :]
        self.turned: Card | None = None
        if rules.trump == "flip":
            self.turned = rest[0]
            rest = [*rest[1:], rest[0]]
            self.trump = rest[-1] // 13
        elif rules.trump == "random":
            assert trump is not None
            self.trump = trump
        else:
            self.trump = SUITS.index(rules.trump)
        self.stock = rest
        self.dealt = [frozenset(hand) for hand in self.hands]
        self.first_stock = tuple(rest)
        self.tricks = [0] * n
        self.honors = [0] * n
        self.points = [0] * n
        self.announced: list[int | None] = [None] * n
        self.trick: list[Card] = []
        self.leader = 0
        self.turn = 0
        self.gone: set[Card] = set()
        self.over = False
        self.log: list[tuple[str, Seat, int]] = []
        self.shown: list[tuple[Seat, int, int]] = []  # who failed to follow what, events before
        self.begin()

    def begin(self) -> None:
        """Notes the position that the game starts from."""
        self.start = copy.copy(self)
        for key in ("hands", "tricks", "honors", "points", "announced", "stock", "trick"):
            setattr(self.start, key, copy.deepcopy(getattr(self, key)))

    @classmethod
    def from_position(cls, text: str, rules: OracleRules) -> OracleGame:
        """Starts from a position in which every card is known."""
        seat, trump, trick, score, announced, stock, *hands = text.split(" ")
        game = cls.__new__(cls)
        game.rules = rules
        game.turn = int(seat[0])
        game.turned = number(trump) if len(trump) == 2 else None
        game.trump = SUITS.index(trump[-1])
        game.trick = [] if trick == "-" else [number(card) for card in trick.split(",")]
        game.leader = (game.turn - len(game.trick)) % rules.num_players
        if ">" in seat:
            game.leader = int(seat[2])
        rows = [[int(x) for x in each.split("/")] for each in score.split(",")]
        game.tricks, game.honors, game.points = ([row[i] for row in rows] for i in range(3))
        game.announced = [None] * rules.num_players
        if announced != "-":
            game.announced = [None if a == "-" else int(a) for a in announced.split(",")]
        game.stock = [] if stock == "-" else [number(card) for card in stock.split(",")]
        game.hands = [read_hand(hand) for hand in hands]
        known = set(game.stock).union(game.trick, *game.hands)
        game.gone = set(rules.deck) - known
        game.dealt = [frozenset(hand) for hand in game.hands]
        game.first_stock = tuple(game.stock)
        game.over = False
        game.log = []
        game.shown = []
        for i, card in enumerate(game.trick):
            if card // 13 != game.trick[0] // 13:
                who = (game.leader + i) % rules.num_players
                game.shown.append((who, game.trick[0] // 13, 0))
        game.begin()
        return game

    # -- playing -----------------------------------------------------------------------------
    @property
    def announcing(self) -> bool:
        return self.rules.announce and None in self.announced and not self.over

    def deal_tricks(self) -> int:
        """Tricks of the deal in progress."""
        used = len(self.rules.deck) - len(self.stock)
        for tricks in self.rules.deals():
            used -= tricks * self.rules.num_players
            if used <= 0:
                break
        return self.rules.deals()[0] if self.rules.stock == "draw" else tricks

    def legal(self) -> list[int]:
        """The legal actions of who is to act, ascending."""
        if self.over:
            return []
        if self.announcing:
            return [FIRST_ANNOUNCEMENT + k for k in range(self.deal_tricks() + 1)]
        hand = self.hands[self.turn]
        follow = [c for c in hand if self.trick and c // 13 == self.trick[0] // 13]
        return sorted(follow or hand)

    def play(self, action: int) -> None:
        """Takes a legal action."""
        assert action in self.legal()
        if action >= FIRST_ANNOUNCEMENT:
            self.announced[self.turn] = action - FIRST_ANNOUNCEMENT
            self.log.append(("announce", self.turn, action - FIRST_ANNOUNCEMENT))
            self.turn += 1
            if self.turn == self.rules.num_players:
                self.turn = self.leader
            return
        self.hands[self.turn].remove(action)
        self.trick.append(action)
        if action // 13 != self.trick[0] // 13:
            self.shown.append((self.turn, self.trick[0] // 13, len(self.log)))
        self.log.append(("play", self.turn, action))
        self.turn = (self.turn + 1) % self.rules.num_players
        if len(self.trick) == self.rules.num_players:
            self.end_trick()

    def end_trick(self) -> None:
        n = self.rules.num_players
        trumps = [card for card in self.trick if card // 13 == self.trump]
        followers = [card for card in self.trick if card // 13 == self.trick[0] // 13]
        best = max(trumps or followers)
        winner = (self.leader + self.trick.index(best)) % n
        self.tricks[winner] += 1
        for card in trumps:
            self.honors[winner] += HONOR_POINTS.get(RANKS[card % 13], 0)
        self.trick = []
        self.leader = self.turn = winner
        if self.rules.stock == "draw" and len(self.stock) >= n:
            for i in range(n):
                self.draw((winner + i) % n)
        elif not any(self.hands):
            if self.rules.stock == "redeal" and len(self.stock) >= n:
                self.redeal()
            else:
                self.over = True

    def draw(self, seat: Seat) -> None:
        card = self.stock.pop(0)
        self.hands[seat].add(card)
        self.log.append(("draw", seat, card))

    def redeal(self) -> None:
        n = self.rules.num_players
        self.points = [self.points[seat] + self.deal_points(seat) for seat in range(n)]
        self.tricks, self.honors, self.announced = [0] * n, [0] * n, [None] * n
        for i in range(n * min(self.rules.hand, len(self.stock) // n)):
            self.draw(i % n)
        if self.rules.announce:
            self.turn = 0

    # -- the score ---------------------------------------------------------------------------
    def deal_points(self, seat: Seat) -> int:
        """What a seat made in a deal that is over."""
        tricks, honors, said = self.tricks[seat], self.honors[seat], self.announced[seat]
        if said is None:
            return tricks + honors
        if tricks == said:
            return (
                2 * (tricks + honors)
                if self.rules.announce_double == "points"
                else (2 * tricks + honors)
            )
        if tricks < said:
            return tricks + honors - 2 * (said - tricks)
        return tricks + honors

    def total(self, seat: Seat) -> int:
        """A seat's points so far; announcements count when the deal is over."""
        if self.over:
            return self.points[seat] + self.deal_points(seat)
        return self.points[seat] + self.tricks[seat] + self.honors[seat]

    def winners(self) -> list[Seat]:
        totals = [self.total(seat) for seat in range(self.rules.num_players)]
        return [seat for seat, total in enumerate(totals) if total == max(totals)]

    def reward(self, seat: Seat) -> float:
        """What the end of the game pays a seat."""
        n = self.rules.num_players
        if self.rules.reward == "points":
            mean = Fraction(sum(self.total(each) for each in range(n)), n)
            return float((self.total(seat) - mean) / 38)
        winners = self.winners()
        share = Fraction(int(seat in winners), len(winners))
        return float((n * share - 1) / (n - 1))

    # -- texts -------------------------------------------------------------------------------
    def position(self, seat: Seat | None = None) -> str:
        """The position, whole or as a seat sees it."""
        n = self.rules.num_players
        first = f"{self.turn}>{self.leader}" if self.announcing else str(self.turn)
        trump = SUITS[self.trump] if self.turned is None else name(self.turned)
        trick = ",".join(name(card) for card in self.trick) or "-"
        score = ",".join(f"{self.tricks[i]}/{self.honors[i]}/{self.points[i]}" for i in range(n))
        announced = "-"
        if self.rules.announce:
            announced = ",".join("-" if a is None else str(a) for a in self.announced)
        stock = [name(card) for card in self.stock]
        if seat is not None:
            shown = [card for card in self.stock if card == self.turned]
            hidden = len(stock) - len(shown)
            stock = [f"?{hidden}"] * (hidden > 0) + [name(card) for card in shown]
        hands = []
        for who, hand in enumerate(self.hands):
            known = {card for card in hand if card == self.turned}
            unseen = len(hand) - len(known)
            if seat in (None, who) or not unseen:
                hands.append(hand_text(hand))
            else:
                hands.append("+".join([f"?{unseen}", *(name(card) for card in known)]))
        return " ".join([first, trump, trick, score, announced, ",".join(stock) or "-", *hands])

    def information_state(self, seat: Seat) -> str:
        """All that a seat has seen, in order."""
        parts = [[self.start.position(seat)]]
        played, last = len(self.start.trick), ""
        for kind, who, value in self.log:
            if kind == "announce":
                if last != "announce":
                    parts.append([])
                parts[-1].append(f"announce {value}")
            elif kind == "play":
                if last == "announce" or played % self.rules.num_players == 0 or len(parts) == 1:
                    parts.append([])
                parts[-1].append(name(value))
                played += 1
            elif who == seat:
                parts[-1].append(f"+{name(value)}")
            elif value == self.turned:
                parts[-1].append(f"{who}+{name(value)}")
            last = kind
        return " | ".join(" ".join(part) for part in parts)

    # -- what a seat has to think possible -----------------------------------------------------
    def worlds(self, seat: Seat) -> Iterator[World]:
        """Yields all hands and stocks that agree with what a seat has seen, each once.

        Every way to fill the places that the seat has not looked into is played through: it agrees
        if everyone had what they played and could not follow where they did not.
        """
        n, size = self.rules.num_players, len(self.first_stock)
        drawers = [who for kind, who, _ in self.log if kind == "draw"]
        known = [
            self.first_stock[i] == self.turned or (i < len(drawers) and drawers[i] == seat)
            for i in range(size)
        ]
        hidden = set(self.rules.deck) - self.gone - set(self.start.trick) - self.dealt[seat]
        hidden -= {card for card, seen in zip(self.first_stock, known, strict=True) if seen}
        others = [who for who in range(n) if who != seat]
        for hands in split(hidden, [len(self.dealt[who]) for who in others]):
            dealt = list(self.dealt)
            for who, hand in zip(others, hands, strict=True):
                dealt[who] = hand
            rest = sorted(hidden.difference(*hands))
            for order in itertools.permutations(rest):
                cards = iter(order)
                stock = tuple(
                    card if seen else next(cards)
                    for card, seen in zip(self.first_stock, known, strict=True)
                )
                if self.agrees(dealt, stock):
                    yield tuple(dealt), stock

    def agrees(self, dealt: list[frozenset[Card]], stock: tuple[Card, ...]) -> bool:
        """Whether all that happened could have happened with these cards."""
        hands = [set(hand) for hand in dealt]
        cards = iter(stock)
        lacks = {(at, who): suit for who, suit, at in self.shown}
        for who, suit, at in self.shown:
            if at == 0 and self.start.trick and any(c // 13 == suit for c in hands[who]):
                mine = (who - self.start.leader) % self.rules.num_players
                if mine < len(self.start.trick):  # did not follow before the game was started
                    return False
        for at, (kind, who, value) in enumerate(self.log):
            if kind == "draw":
                hands[who].add(next(cards))
            elif kind == "play":
                if value not in hands[who]:
                    return False
                suit = lacks.get((at, who))
                if suit is not None and any(card // 13 == suit for card in hands[who]):
                    return False
                hands[who].remove(value)
        return True


def split(cards: set[Card], sizes: list[int]) -> Iterator[list[frozenset[Card]]]:
    """Yields every way to deal hands of these sizes."""
    if not sizes:
        yield []
        return
    for hand in itertools.combinations(sorted(cards), sizes[0]):
        for rest in split(cards.difference(hand), sizes[1:]):
            yield [frozenset(hand), *rest]


def perft(rules: OracleRules, deck: list[Card], depth: int) -> int:
    """Returns the number of sequences of `depth` actions from a deal."""

    def count(game: OracleGame, left: int) -> int:
        if left == 0:
            return 1
        total = 0
        for action in game.legal():
            after = copy.deepcopy(game)
            after.play(action)
            total += count(after, left - 1)
        return total

    return count(OracleGame(rules, deck), depth)
