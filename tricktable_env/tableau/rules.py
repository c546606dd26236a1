"""The rules of Tableau: the options, and the kernels that deal, list legal actions and play.

A round is dealt, the caller names trump, and 26 tricks are played from the hand and from the cards
face up on the table. Every kernel works on one packed state (see `state`).
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
from tricktable_env.jit import kernel
from tricktable_env.tableau.state import (
    BARE,
    CALL,
    CALL_HAND,
    CALLER,
    COVER,
    DEALER,
    DECK,
    FROM_HAND,
    HAND,
    LEAD,
    LEFT,
    MATCH,
    NO_TRUMP,
    NOT_CALLED,
    OPTIONS,
    OUT,
    PLAYED,
    RESULT,
    RNG,
    TRICKS,
    TRUMP,
    TURN,
    UP,
    VOID,
    clear_round,
    note_start,
    put_slot,
    put_under,
    record,
    slot_of,
    under_of,
)

Trump: TypeAlias = Literal["call", "random", "S", "H", "D", "C", "none"]
Tie: TypeAlias = Literal["dealer", "caller", "draw"]
Lead: TypeAlias = Literal["caller", "dealer"]
Reward: TypeAlias = Literal["win", "margin"]
MatchReward: TypeAlias = Literal["match", "round"]

MAX_ROUNDS_TO_WIN = 100
ROUND_OVER, EPISODE_OVER = 1, 2
"""Bits 0 and 1 of RESULT; then tricks (2 x 5 bits), winner (2), the player who called (1)."""
DRAW = 2
"""The winner of a drawn round; otherwise a seat."""

_TRUMPS: tuple[str, ...] = get_args(Trump)
_TIES: tuple[str, ...] = get_args(Tie)
_TRUMP_CALL, _TRUMP_RANDOM, _TRUMP_NONE = 0, 1, 6
_TIE_DEALER, _TIE_CALLER, _TIE_DRAW = 0, 1, 2


@dataclass(frozen=True)
class Rules:
    """The options of Tableau, checked for sense at construction.

    Raises:
        RulesError: an option, or the options together, make no sense.
    """

    tie: Tie = "dealer"
    """Who wins a round in which both took half of the tricks."""
    call_cards: int | None = None
    """How many cards the caller sees when naming trump, 0 to `hand`; None is the first batch."""
    trump: Trump = "call"
    """How trump is found: called, random, always the same suit, or none."""
    first_lead: Lead = "caller"
    """Who leads the first trick."""
    suits: int = 4
    """Suits of the deck, 1 to 4, in the order S H D C."""
    ranks: int = 13
    """Ranks of each suit, the highest 1 to 13."""
    hand: int = 10
    """Cards dealt to each hand."""
    piles: int = 8
    """Piles before each player: a face-up card on a face-down one."""
    reward: Reward = "win"
    """A round pays +1 / -1 to winner and loser, or the trick margin / tricks of the deal."""
    rounds_to_win: int = 1
    """Rounds that win the match. 1 is a single round, which may be drawn."""
    match_reward: MatchReward = "match"
    """With more than one round to win: pay the match alone, or each round (margin always does)."""

    def __post_init__(self) -> None:
        _check_choice("tie", self.tie, Tie)
        _check_choice("trump", self.trump, Trump)
        _check_choice("first_lead", self.first_lead, Lead)
        _check_choice("reward", self.reward, Reward)
        _check_choice("match_reward", self.match_reward, MatchReward)
        _check_number(self, "suits", 1, 4)
        _check_number(self, "ranks", 1, SUIT_SIZE)
        _check_number(self, "hand", 0, NUM_CARDS // 2)
        _check_number(self, "piles", 0, NUM_CARDS // 4)
        _check_number(self, "rounds_to_win", 1, MAX_ROUNDS_TO_WIN)
        dealt, deck = 2 * self.tricks, self.suits * self.ranks
        if not 0 < dealt <= deck:
            raise RulesError(
                f"hand={self.hand}, piles={self.piles} deal {dealt} cards from a deck of "
                f"suits={self.suits} x ranks={self.ranks} = {deck}; "
                "2 x (hand + 2 x piles) must be between 2 and the deck"
            )
        if self.call_cards is None:
            object.__setattr__(self, "call_cards", self.batches[0])
        _check_number(self, "call_cards", 0, self.hand)
        if self.trump in SUITS and SUITS.index(self.trump) >= self.suits:
            raise RulesError(
                f"trump={self.trump!r} is no suit of the deck (suits={self.suits} are "
                f"{SUITS[: self.suits]})"
            )

    @property
    def tricks(self) -> int:
        """Tricks of a deal."""
        return self.hand + 2 * self.piles

    @property
    def batches(self) -> tuple[int, int, int]:
        """The three batches in which a hand is dealt: 10 cards come as 5, 3 and 2."""
        head = (self.hand + 1) // 2
        middle = (self.hand - head + 1) // 2
        return head, middle, self.hand - head - middle

    @property
    def deck(self) -> int:
        """The cards of the deck, as a set."""
        return deck_of(self.suits, self.ranks)


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

    Bits: hand 0-4, piles 5-8, call_cards 9-13, trump 14-16, tie 17-18, dealer leads 19, margin 20,
    rounds pay 21, rounds_to_win 22-28, suits 29-31.
    """
    assert rules.call_cards is not None
    rounds_pay = rules.rounds_to_win == 1 or rules.match_reward == "round"
    return (
        rules.hand
        | rules.piles << 5
        | rules.call_cards << 9
        | _TRUMPS.index(rules.trump) << 14
        | _TIES.index(rules.tie) << 17
        | (rules.first_lead == "dealer") << 19
        | (rules.reward == "margin") << 20
        | (rounds_pay or rules.reward == "margin") << 21
        | rules.rounds_to_win << 22
        | rules.suits << 29
    )


# -- reading the options ---------------------------------------------------------------------
@kernel
def _option(s: np.ndarray, shift: int, bits: int) -> int:
    return int64((s[OPTIONS] >> np.uint64(shift)) & ((ONE << np.uint64(bits)) - ONE))


@kernel
def hand_size(s: np.ndarray) -> int:
    """Cards dealt to each hand."""
    return _option(s, 0, 5)


@kernel
def num_piles(s: np.ndarray) -> int:
    """Piles before each player."""
    return _option(s, 5, 4)


@kernel
def call_cards(s: np.ndarray) -> int:
    """Cards that the caller sees at the call."""
    return _option(s, 9, 5)


@kernel
def num_suits(s: np.ndarray) -> int:
    """Suits of the deck."""
    return _option(s, 29, 3)


@kernel
def rounds_to_win(s: np.ndarray) -> int:
    """Rounds that win the match."""
    return _option(s, 22, 7)


@kernel
def first_leader(s: np.ndarray) -> int:
    """The seat that leads the first trick."""
    return _option(s, 19, 1)


@kernel
def num_tricks(s: np.ndarray) -> int:
    """Tricks of a deal."""
    return hand_size(s) + 2 * num_piles(s)


@kernel
def tricks_to_win(s: np.ndarray, seat: int) -> int:
    """Tricks that win the round for a seat: the caller's 14 and the dealer's 13 by default."""
    needed = (num_tricks(s) >> 1) + 1
    tie = _option(s, 17, 2)
    has_tie = ((tie == _TIE_DEALER) & (seat == DEALER)) | ((tie == _TIE_CALLER) & (seat == CALLER))
    return needed - 1 if has_tie & (num_tricks(s) & 1 == 0) else needed


# -- dealing ---------------------------------------------------------------------------------
@kernel
def deal(s: np.ndarray) -> None:
    """Deals a new round from the state's own stream; rules and match stay."""
    cards = room(NUM_CARDS, np.int64)
    n = list_bits(s[DECK], cards)
    shuffle(cards, n, s, RNG)
    deal_order(s, cards, n)


@kernel
def deal_order(s: np.ndarray, cards: np.ndarray, n: int) -> None:
    """Deals a deck in the order given: `cards[:n]`, every card of the deck once."""
    clear_round(s)
    hand = hand_size(s)
    piles = num_piles(s)
    head = (hand + 1) // 2
    middle = (hand - head + 1) // 2
    at = 0
    for seat in range(2):
        at = _deal_hand(s, seat, cards, at, head, 0)
    for seat in range(2):
        for slot in range(piles):
            put_under(s, seat, slot, cards[at])
            at += 1
    for seat in range(2):
        for slot in range(piles):
            s[UP + seat] |= bit(cards[at])
            put_slot(s, cards[at], slot)
            at += 1
        s[COVER + seat] = s[UP + seat]
    for seat in range(2):
        at = _deal_hand(s, seat, cards, at, middle, head)
    for seat in range(2):
        at = _deal_hand(s, seat, cards, at, hand - head - middle, head + middle)
    for rest in range(at, n):
        s[OUT] |= bit(cards[rest])
    s[LEFT] = np.uint64(hand + 2 * piles)
    _open(s)


@kernel
def _deal_hand(s: np.ndarray, seat: int, cards: np.ndarray, at: int, n: int, before: int) -> int:
    """Deals n cards to a hand that has got `before` cards; returns where the deck goes on."""
    for i in range(n):
        s[HAND + seat] |= bit(cards[at + i])
        if seat == CALLER and before + i < call_cards(s):
            s[CALL_HAND] |= bit(cards[at + i])
    return at + n


@kernel
def _open(s: np.ndarray) -> None:
    """Finds trump where it is not called, and who acts first."""
    trump = _option(s, 14, 3)
    if trump == _TRUMP_CALL:
        s[TURN] = np.uint64(CALLER)
    else:
        s[CALL_HAND] = ZERO  # no call, so no cards seen at one
        if trump == _TRUMP_RANDOM:
            s[TRUMP] = np.uint64(below(s, RNG, num_suits(s)))
        elif trump == _TRUMP_NONE:
            s[TRUMP] = np.uint64(NO_TRUMP)
        else:
            s[TRUMP] = np.uint64(trump - 2)
        s[TURN] = np.uint64(first_leader(s))
    note_start(s)


# -- playing ---------------------------------------------------------------------------------
@kernel
def legal(s: np.ndarray) -> np.uint64:
    """The legal actions of the seat to act, as a set of bits 0 to 55; empty when all is over."""
    if s[TRUMP] == np.uint64(NOT_CALLED):
        return ((ONE << np.uint64(num_suits(s))) - ONE) << np.uint64(CALL)
    seat = int64(s[TURN])
    cards = s[HAND + seat] | s[UP + seat]
    suit = np.uint64(SUIT_SIZE) * ((s[LEAD] - ONE) // np.uint64(SUIT_SIZE))
    led = np.uint64(SUIT_CARDS) << suit if s[LEAD] != ZERO else ZERO
    follow = cards & led  # without a branch: which way it goes can't be foreseen
    return follow if follow != ZERO else cards


@kernel
def wins(card: int, led: int, trump: int) -> bool:
    """Whether the second card of a trick takes it from the first."""
    if card // SUIT_SIZE == led // SUIT_SIZE:
        return card > led
    return card // SUIT_SIZE == trump


@kernel
def play_card(s: np.ndarray, card: int) -> None:
    """Plays a legal card; a finished trick goes to its winner, who is to act next."""
    seat = int64(s[TURN])
    mark = bit(card)
    reveal = FROM_HAND
    if s[HAND + seat] & mark != ZERO:
        s[HAND + seat] ^= mark
    else:
        s[UP + seat] ^= mark
        reveal = BARE
        if s[COVER + seat] & mark != ZERO:
            slot = slot_of(s, card)
            under = under_of(s, seat, slot)
            s[COVER + seat] ^= mark
            s[UP + seat] |= bit(under)
            put_slot(s, under, slot)
            reveal = under + 1
    s[PLAYED + seat] |= mark
    record(s, card, reveal)
    led = int64(s[LEAD]) - 1
    if led < 0:
        s[LEAD] = np.uint64(card + 1)
        s[TURN] = np.uint64(1 - seat)
        return
    if card // SUIT_SIZE != led // SUIT_SIZE:
        s[VOID] |= bit(4 * seat + led // SUIT_SIZE)
    winner = seat if wins(card, led, int64(s[TRUMP])) else 1 - seat
    s[TRICKS + winner] += ONE
    s[LEFT] -= ONE
    s[LEAD] = ZERO
    s[TURN] = np.uint64(winner)


@kernel
def act(s: np.ndarray, action: int) -> None:
    """Takes a legal action within the round: names trump or plays a card."""
    if action >= CALL:
        s[TRUMP] = np.uint64(action - CALL)
        s[TURN] = np.uint64(first_leader(s))
        record(s, action, FROM_HAND)
    else:
        play_card(s, action)


@kernel
def step(s: np.ndarray, action: int) -> bool:
    """Takes an action; ends the round, deals the next of a match.

    Args:
        s: `[WORDS] uint64`, changed in place; left as it is when the action is not legal.
        action: 0 to 55.

    Returns:
        Whether the action was legal.
    """
    if action < 0 or action >= 64 or not has(legal(s), action):
        return False
    s[RESULT] = ZERO
    act(s, action)
    if s[LEFT] == ZERO:
        _end_round(s)
    return True


@kernel
def round_winner(s: np.ndarray) -> int:
    """The seat that won a finished round, or DRAW."""
    for seat in range(2):
        if int64(s[TRICKS + seat]) >= tricks_to_win(s, seat):
            return seat
    return DRAW


@kernel
def player_of(s: np.ndarray, seat: int) -> int:
    """The player who sits in a seat this round: player 0 calls in the first, then they swap."""
    return seat ^ int64((s[MATCH] >> np.uint64(16)) & ONE)


@kernel
def rounds_won(s: np.ndarray, player: int) -> int:
    """Rounds that a player has won in this match."""
    return int64((s[MATCH] >> np.uint64(8 * player)) & np.uint64(255))


@kernel
def _end_round(s: np.ndarray) -> None:
    """Books a finished round; deals the next one unless the match is won."""
    winner = round_winner(s)
    caller = player_of(s, CALLER)
    if winner != DRAW:
        s[MATCH] += ONE << np.uint64(8 * player_of(s, winner))
    over = rounds_to_win(s) == 1 or (
        winner != DRAW and rounds_won(s, player_of(s, winner)) >= rounds_to_win(s)
    )
    result = np.uint64(
        ROUND_OVER
        | (EPISODE_OVER if over else 0)
        | (int64(s[TRICKS]) << 2)
        | (int64(s[TRICKS + 1]) << 7)
        | (winner << 12)
        | (caller << 14)
    )
    if not over:
        s[MATCH] += ONE << np.uint64(16)
        deal(s)
    s[RESULT] = result


@kernel
def rewards(s: np.ndarray, out: np.ndarray) -> None:
    """Writes what the last action paid to each player.

    Args:
        s: `[WORDS] uint64`.
        out: `[2] float32`, overwritten; zero-sum.
    """
    out[0] = 0.0
    out[1] = 0.0
    result = int64(s[RESULT])
    if result & ROUND_OVER == 0:
        return
    caller = (result >> 14) & 1
    winner = (result >> 12) & 3
    if _option(s, 21, 1) == 1:
        if _option(s, 20, 1) == 1:
            margin = ((result >> 2) & 31) - ((result >> 7) & 31)
            out[caller] = margin / num_tricks(s)
        elif winner != DRAW:
            out[caller] = 1.0 if winner == CALLER else -1.0
        out[1 - caller] = 0.0 - out[caller]
    elif result & EPISODE_OVER:
        player = caller ^ winner
        out[player] = 1.0
        out[1 - player] = -1.0


@kernel
def over(s: np.ndarray) -> bool:
    """Whether the episode (a round, or a match of rounds) is over."""
    return s[LEFT] == ZERO


# -- games of random actions -----------------------------------------------------------------
@kernel
def random_action(s: np.ndarray, words: np.ndarray, at: int) -> int:
    """A legal action drawn evenly with the stream in `words[at]`."""
    actions = legal(s)
    return nth(actions, below(words, at, size(actions)))


@kernel
def playout(s: np.ndarray) -> None:
    """Plays the round to its end with random actions from the state's own stream."""
    while s[LEFT] != ZERO:
        act(s, random_action(s, s, RNG))


@kernel
def play_random_games(s: np.ndarray, games: int) -> int:
    """Deals and plays rounds of random actions; returns the tricks the caller took in all."""
    tricks = 0
    for _ in range(games):
        deal(s)
        playout(s)
        tricks += int64(s[TRICKS])
    return tricks
