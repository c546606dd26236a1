"""The rules of Honors: the options, and the kernels that deal, list legal actions and play.

Every player holds seven cards, follows suit where possible, and draws from a stock after each
trick. Tricks count a point each; ace, jack and queen of trumps count more. Every kernel works on
one packed state (see `state`).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Literal, TypeAlias, get_args

import numpy as np

from tricktable_env.bits import (
    ONE,
    ZERO,
    below,
    bit,
    has,
    int64,
    list_bits,
    nth,
    room,
    shuffle,
    size,
)
from tricktable_env.cards import NUM_CARDS, SUIT_CARDS, SUIT_SIZE, SUITS, deck_of
from tricktable_env.game import RulesError
from tricktable_env.honors.state import (
    ANNOUNCE,
    ANNOUNCED,
    DEAL_LEFT,
    DEALT,
    DECK,
    HAND,
    HONORS,
    IN_TRICK,
    LEADER,
    LEFT,
    MAX_PLAYERS,
    OPTIONS,
    OWNER,
    PLAYED,
    RNG,
    SCORE,
    SCORE_BIAS,
    SHOWN,
    STOCK,
    STOCK_AT,
    STOCK_SIZE,
    TRICK,
    TRICKS,
    TRUMP,
    TURN,
    TURNED,
    TURNED_BY,
    byte_of,
    clear_game,
    clear_shown,
    held,
    note_start,
    put_byte,
    put_nibble,
    record,
    stock_left,
)
from tricktable_env.jit import kernel

Stock: TypeAlias = Literal["draw", "redeal", "none"]
Trump: TypeAlias = Literal["flip", "random", "S", "H", "D", "C"]
AnnounceDouble: TypeAlias = Literal["tricks", "points"]
Reward: TypeAlias = Literal["win", "points"]

ACE, QUEEN, JACK = 12, 10, 9
MAX_POINTS = 38
"""Points of a full deck between two players: 26 tricks, and 12 for the honors."""

_STOCKS: tuple[str, ...] = get_args(Stock)
_TRUMPS: tuple[str, ...] = get_args(Trump)
_STOCK_DRAW, _STOCK_REDEAL = 0, 1
_TRUMP_FLIP, _TRUMP_RANDOM = 0, 1


@dataclass(frozen=True)
class Rules:
    """The options of Honors, checked for sense at construction.

    Raises:
        RulesError: an option, or the options together, make no sense.
    """

    num_players: int = 2
    """Players, 2 to 7."""
    stock: Stock = "draw"
    """Everybody draws after each trick, or new hands are dealt when all are empty, or neither."""
    trump: Trump = "flip"
    """How trump is found: the top card of the stock is turned over, at random, or a fixed suit."""
    announce: bool = False
    """Whether each player says, after each deal, how many of its tricks they will take."""
    announce_double: AnnounceDouble = "tricks"
    """What counts twice for who takes just as many as announced: the tricks, or all points."""
    reward: Reward = "win"
    """The game pays by who won, or by points."""
    suits: int = 4
    """Suits of the deck, 1 to 4, in the order S H D C."""
    ranks: int = 13
    """Ranks of each suit, the highest 1 to 13."""
    hand: int = 7
    """Cards dealt to each hand."""

    def __post_init__(self) -> None:
        _check_choice("stock", self.stock, Stock)
        _check_choice("trump", self.trump, Trump)
        _check_choice("announce_double", self.announce_double, AnnounceDouble)
        _check_choice("reward", self.reward, Reward)
        _check_number(self, "num_players", 2, MAX_PLAYERS)
        _check_number(self, "suits", 1, 4)
        _check_number(self, "ranks", 1, SUIT_SIZE)
        _check_number(self, "hand", 1, NUM_CARDS // 2)
        if not isinstance(self.announce, bool | np.bool_):
            raise RulesError(f"announce={self.announce!r} is neither True nor False")
        object.__setattr__(self, "announce", bool(self.announce))
        dealt, deck = self.num_players * self.hand, self.suits * self.ranks
        if dealt > deck:
            raise RulesError(
                f"num_players={self.num_players}, hand={self.hand} deal {dealt} cards from a deck "
                f"of suits={self.suits} x ranks={self.ranks} = {deck}; they must be in the deck"
            )
        if self.trump == "flip" and dealt == deck:
            raise RulesError(
                f"trump='flip' turns over a card of the stock, but num_players={self.num_players} "
                f"x hand={self.hand} are all {deck} cards of the deck; take another trump"
            )
        if self.trump in SUITS and SUITS.index(self.trump) >= self.suits:
            raise RulesError(
                f"trump={self.trump!r} is no suit of the deck (suits={self.suits} are "
                f"{SUITS[: self.suits]})"
            )
        if self.announce_double != "tricks" and not self.announce:
            raise RulesError(
                f"announce_double={self.announce_double!r} without announce=True: nothing is "
                "announced that could count twice"
            )

    @property
    def deck(self) -> int:
        """The cards of the deck, as a set."""
        return deck_of(self.suits, self.ranks)

    @property
    def stock_size(self) -> int:
        """Cards of the stock when the hands have been dealt, the turned one included."""
        return self.suits * self.ranks - self.num_players * self.hand

    @property
    def deals(self) -> tuple[int, ...]:
        """Tricks of each deal: with `draw` and `none` there is one."""
        if self.stock == "none":
            return (self.hand,)
        more = self.stock_size // self.num_players
        if self.stock == "draw":
            return (self.hand + more,)
        whole, rest = divmod(more, self.hand)
        return (self.hand,) * (1 + whole) + ((rest,) if rest else ())

    @property
    def tricks(self) -> int:
        """Tricks of a game."""
        return sum(self.deals)


def _check_choice(name: str, value: object, choices: object) -> None:
    if value not in get_args(choices):
        raise RulesError(f"{name}={value!r} is not one of {', '.join(get_args(choices))}")


def _check_number(rules: Rules, name: str, low: int, high: int) -> None:
    """Refuses what is no whole number in a range; an integer of numpy becomes Python's own."""
    value = getattr(rules, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or not low <= int(value) <= high:
        raise RulesError(f"{name}={value!r} is not a whole number from {low} to {high}")
    object.__setattr__(rules, name, int(value))


def pack_options(rules: Rules) -> int:
    """Packs the rules into the word OPTIONS.

    Bits: players 0-2, stock 3-4, trump 5-7, announce 8, everything doubles 9, reward by points 10,
    hand 11-15, suits 16-18.
    """
    return (
        rules.num_players
        | _STOCKS.index(rules.stock) << 3
        | _TRUMPS.index(rules.trump) << 5
        | rules.announce << 8
        | (rules.announce_double == "points") << 9
        | (rules.reward == "points") << 10
        | rules.hand << 11
        | rules.suits << 16
    )


# -- reading the options ---------------------------------------------------------------------
@kernel
def _option(s: np.ndarray, shift: int, bits: int) -> int:
    return int64((s[OPTIONS] >> np.uint64(shift)) & ((ONE << np.uint64(bits)) - ONE))


@kernel
def num_players(s: np.ndarray) -> int:
    """Number of players."""
    return _option(s, 0, 3)


@kernel
def announces(s: np.ndarray) -> bool:
    """Whether tricks are announced."""
    return _option(s, 8, 1) == 1


@kernel
def pays_points(s: np.ndarray) -> bool:
    """Whether the game pays by points, not by who won."""
    return _option(s, 10, 1) == 1


@kernel
def hand_size(s: np.ndarray) -> int:
    """Cards dealt to each hand."""
    return _option(s, 11, 5)


@kernel
def draws(s: np.ndarray, left: int, in_hand: int) -> int:
    """Cards that every player gets after a trick, 0 if none.

    Args:
        s: `[WORDS] uint64`.
        left: cards in the stock.
        in_hand: cards in each hand.
    """
    players = num_players(s)
    stock = _option(s, 3, 2)
    if stock == _STOCK_DRAW:
        return 1 if left >= players else 0
    if stock == _STOCK_REDEAL and in_hand == 0:
        return min(hand_size(s), left // players)
    return 0


# -- dealing ---------------------------------------------------------------------------------
@kernel
def deal(s: np.ndarray) -> None:
    """Deals a game from the state's own stream."""
    cards = room(NUM_CARDS, np.int64)
    n = list_bits(s[DECK], cards)
    shuffle(cards, n, s, RNG)
    deal_order(s, cards, n)


@kernel
def deal_order(s: np.ndarray, cards: np.ndarray, n: int) -> None:
    """Deals a deck in the order given: `cards[:n]`, every card of the deck once.

    Card i goes to seat i mod P until all hands are full; the next is turned over, if that is how
    trump is found, and lies at the bottom of the stock.
    """
    clear_game(s)
    players = num_players(s)
    at = players * hand_size(s)
    for i in range(at):
        s[HAND + i % players] |= bit(cards[i])
    s[DEALT] = np.uint64(hand_size(s))
    s[STOCK_SIZE] = np.uint64(n - at)
    kind = _option(s, 5, 3)
    if kind == _TRUMP_FLIP:
        s[TURNED] = np.uint64(cards[at] + 1)
        put_byte(s, STOCK, n - at - 1, cards[at] + 1)
        at += 1
    for i in range(at, n):
        put_byte(s, STOCK, i - at, cards[i] + 1)
    if kind == _TRUMP_FLIP:
        s[TRUMP] = np.uint64((int64(s[TURNED]) - 1) // SUIT_SIZE)
    elif kind == _TRUMP_RANDOM:
        s[TRUMP] = np.uint64(below(s, RNG, _option(s, 16, 3)))
    else:
        s[TRUMP] = np.uint64(kind - 2)
    more = 0
    if _option(s, 3, 2) <= _STOCK_REDEAL:
        more = stock_left(s) // players
    s[LEFT] = np.uint64(hand_size(s) + more)
    s[DEAL_LEFT] = np.uint64(hand_size(s))
    if _option(s, 3, 2) == _STOCK_DRAW:
        s[DEAL_LEFT] = s[LEFT]
    note_start(s)


# -- playing ---------------------------------------------------------------------------------
@kernel
def announcing(s: np.ndarray) -> bool:
    """Whether the seat to act is to announce."""
    return announces(s) and s[LEFT] != ZERO and byte_of(s, ANNOUNCED, num_players(s) - 1) == 0


@kernel
def suit_cards(suit: int) -> np.uint64:
    """All cards of a suit."""
    return np.uint64(SUIT_CARDS) << np.uint64(SUIT_SIZE * suit)


@kernel
def legal_cards(s: np.ndarray) -> np.uint64:
    """The cards that the seat to act may play, as a set; empty when it is to announce or over."""
    if announcing(s) or s[LEFT] == ZERO:
        return ZERO
    cards = s[HAND + int64(s[TURN])]
    if s[IN_TRICK] != ZERO:
        follow = cards & suit_cards((byte_of(s, TRICK, 0) - 1) // SUIT_SIZE)
        if follow != ZERO:
            return follow
    return cards


@kernel
def is_legal(s: np.ndarray, action: int) -> bool:
    """Whether the seat to act may take an action, any number."""
    if announcing(s):
        return ANNOUNCE <= action <= ANNOUNCE + int64(s[DEAL_LEFT])
    return 0 <= action < NUM_CARDS and has(legal_cards(s), action)


@kernel
def beats(card: int, best: int, trump: int) -> bool:
    """Whether a card takes a trick from the best card before it."""
    if card // SUIT_SIZE == best // SUIT_SIZE:
        return card > best
    return card // SUIT_SIZE == trump


@kernel
def best_place(s: np.ndarray) -> int:
    """The place in the trick in progress, counted from its leader, of the card that takes it."""
    best = 0
    for i in range(1, int64(s[IN_TRICK])):
        if beats(byte_of(s, TRICK, i) - 1, byte_of(s, TRICK, best) - 1, int64(s[TRUMP])):
            best = i
    return best


@kernel
def show_lacks(s: np.ndarray) -> None:
    """Notes who has not followed in the trick in progress, for a game that starts in it."""
    led = (byte_of(s, TRICK, 0) - 1) // SUIT_SIZE
    for i in range(1, int64(s[IN_TRICK])):
        if (byte_of(s, TRICK, i) - 1) // SUIT_SIZE != led:
            seat = (int64(s[LEADER]) + i) % num_players(s)
            put_nibble(s, SHOWN, 4 * seat + led, 0)


@kernel
def honor(card: int, trump: int) -> int:
    """Points of a card to whoever takes it in a trick."""
    if card // SUIT_SIZE != trump:
        return 0
    rank = card % SUIT_SIZE
    if rank == ACE:
        return 5
    if rank == JACK:
        return 4
    return 3 if rank == QUEEN else 0


@kernel
def play_card(s: np.ndarray, card: int) -> None:
    """Plays a legal card; a finished trick goes to its winner, and the stock serves everyone."""
    players = num_players(s)
    seat = int64(s[TURN])
    s[HAND + seat] ^= bit(card)
    s[PLAYED + seat] |= bit(card)
    place = int64(s[IN_TRICK])
    put_byte(s, TRICK, place, card + 1)
    s[IN_TRICK] += ONE
    led = byte_of(s, TRICK, 0) - 1
    if card // SUIT_SIZE != led // SUIT_SIZE:
        put_nibble(s, SHOWN, 4 * seat + led // SUIT_SIZE, 0)
    record(s, card)
    if place + 1 < players:
        s[TURN] = np.uint64((seat + 1) % players)
        return
    winner = (int64(s[LEADER]) + best_place(s)) % players
    points = 0
    for i in range(players):
        points += honor(byte_of(s, TRICK, i) - 1, int64(s[TRUMP]))
    put_byte(s, TRICKS, winner, byte_of(s, TRICKS, winner) + 1)
    put_byte(s, HONORS, winner, byte_of(s, HONORS, winner) + points)
    s[LEFT] -= ONE
    s[DEAL_LEFT] -= ONE
    s[TRICK] = ZERO
    s[IN_TRICK] = ZERO
    s[LEADER] = np.uint64(winner)
    s[TURN] = np.uint64(winner)
    _serve(s, winner)


@kernel
def _serve(s: np.ndarray, winner: int) -> None:
    """Lets everyone draw after a trick, or deals anew when that is due."""
    players = num_players(s)
    in_hand = held(s, winner)
    each = draws(s, stock_left(s), in_hand)
    if each == 0:
        return
    redeal = _option(s, 3, 2) == _STOCK_REDEAL
    first_seat = 0 if redeal else winner
    if redeal:
        _end_deal(s)
        s[DEAL_LEFT] = np.uint64(each)
        if announces(s):
            s[TURN] = ZERO
    for i in range(each * players):
        seat = (first_seat + i) % players
        at = int64(s[STOCK_AT])
        card = byte_of(s, STOCK, at) - 1
        s[HAND + seat] |= bit(card)
        put_nibble(s, OWNER, at, seat)
        if s[TURNED] == np.uint64(card + 1):
            s[TURNED_BY] = np.uint64(seat + 1)
        s[STOCK_AT] += ONE
    s[DEALT] += np.uint64(each)
    if not redeal:
        for word in range(2):
            s[SHOWN + word] += _one_more(s[SHOWN + word])


@kernel
def _one_more(word: np.uint64) -> np.uint64:
    """1 in each nibble of a word that is less than 14: the others have bits 1 to 3 set."""
    set_thrice = word & (word >> np.uint64(1)) & (word >> np.uint64(2))
    return ~(set_thrice >> np.uint64(1)) & np.uint64(0x1111111111111111)


@kernel
def _end_deal(s: np.ndarray) -> None:
    """Books the points of a deal before the next one."""
    for seat in range(num_players(s)):
        put_byte(s, SCORE, seat, points_of(s, seat) + SCORE_BIAS)
    s[TRICKS] = ZERO
    s[HONORS] = ZERO
    s[ANNOUNCED] = ZERO
    clear_shown(s)


@kernel
def points_of(s: np.ndarray, seat: int) -> int:
    """A seat's points so far; what it announced counts from the last trick of the deal on."""
    tricks = byte_of(s, TRICKS, seat)
    honors = byte_of(s, HONORS, seat)
    points = byte_of(s, SCORE, seat) - SCORE_BIAS + tricks + honors
    if announces(s) and s[DEAL_LEFT] == ZERO:
        announced = byte_of(s, ANNOUNCED, seat) - 1
        if tricks == announced:
            points += tricks
            if _option(s, 9, 1) == 1:
                points += honors
        elif tricks < announced:
            points -= 2 * (announced - tricks)
    return points


@kernel
def step(s: np.ndarray, action: int) -> bool:
    """Takes an action.

    Args:
        s: `[WORDS] uint64`, changed in place; left as it is when the action is not legal.
        action: 0 to 78.

    Returns:
        Whether the action was legal.
    """
    if not is_legal(s, action):
        return False
    if action < ANNOUNCE:
        play_card(s, action)
        return True
    seat = int64(s[TURN])
    put_byte(s, ANNOUNCED, seat, action - ANNOUNCE + 1)
    record(s, action)
    s[TURN] = s[LEADER] if seat + 1 == num_players(s) else np.uint64(seat + 1)
    return True


# -- the result ------------------------------------------------------------------------------
@kernel
def winners(s: np.ndarray) -> np.uint64:
    """The seats with the most points, as a set."""
    best = points_of(s, 0)
    seats = ONE
    for seat in range(1, num_players(s)):
        points = points_of(s, seat)
        if points > best:
            best = points
            seats = ZERO
        if points == best:
            seats |= bit(seat)
    return seats


@kernel
def rewards(s: np.ndarray, out: np.ndarray) -> None:
    """Writes what the last action paid to each player; only the last one of a game pays.

    Args:
        s: `[WORDS] uint64`.
        out: `[P] float32`, overwritten; zero-sum.
    """
    players = num_players(s)
    if s[LEFT] != ZERO:
        for seat in range(players):
            out[seat] = 0.0
    elif pays_points(s):
        total = 0
        for seat in range(players):
            total += points_of(s, seat)
        for seat in range(players):
            out[seat] = (players * points_of(s, seat) - total) / (players * MAX_POINTS)
    else:
        won = winners(s)
        sharing = size(won)
        for seat in range(players):  # (P x share - 1) / (P - 1), a share being 1 / sharing or 0
            if has(won, seat):
                out[seat] = (players - sharing) / (sharing * (players - 1))
            else:
                out[seat] = -1.0 / (players - 1)


# -- games of random actions -----------------------------------------------------------------
@kernel
def random_action(s: np.ndarray, words: np.ndarray, at: int) -> int:
    """A legal action drawn evenly with the stream in `words[at]`."""
    if announcing(s):
        return ANNOUNCE + below(words, at, int64(s[DEAL_LEFT]) + 1)
    cards = legal_cards(s)
    return nth(cards, below(words, at, size(cards)))


@kernel
def playout(s: np.ndarray) -> None:
    """Plays the game to its end with random actions from the state's own stream."""
    while s[LEFT] != ZERO:
        step(s, random_action(s, s, RNG))
