"""The observation of a view: one table of names that encoder, decoder and documentation share.

The flat observation is suit-major: for each suit of S H D C the planes (13 ranks each, 2 to A),
then the flags; behind the four suits the numbers; last `legal`, the action mask once more, so that
a policy that gets nothing else still can't play an illegal card. Its size depends on the number of
players: `NAME_1` is of the next player clockwise, `NAME_2` of the one after, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tricktable_env.bits import (
    CURSOR,
    ONE,
    TWOS,
    ZERO,
    bit,
    has,
    int64,
    put_flag,
    put_plane,
    put_rest,
    room,
    store_16,
    store_64,
)
from tricktable_env.cards import NUM_CARDS, SUIT_SIZE, SUITS, CardSet
from tricktable_env.game import Slice
from tricktable_env.honors.infostate import (
    ANNOUNCED_IT,
    MAX_EVENTS,
    PLAYED_IT,
    list_events,
    unseen,
    view,
)
from tricktable_env.honors.rules import (
    ACE,
    JACK,
    QUEEN,
    announcing,
    best_place,
    legal_cards,
    num_players,
    suit_cards,
)
from tricktable_env.honors.state import (
    ANNOUNCE,
    ANNOUNCED,
    DEAL_LEFT,
    GONE,
    HAND,
    HONORS,
    IN_TRICK,
    LEADER,
    LEFT,
    MAX_SCORE,
    MAX_STOCK,
    NUM_ACTIONS,
    PLAYED,
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
    VIEWER,
    WORDS,
    byte_of,
    held,
    stock_left,
)
from tricktable_env.jit import kernel

PLANES: dict[str, str] = {
    "hand": "own cards in hand",
    "unseen": "in another hand or in the stock, unseen",
    "turned": "the card that was turned over, until it is played",
    "honor": "ace, queen or jack of trumps, not played yet",
    "led": "the card led to the trick in progress",
    "best": "the card that takes the trick in progress so far",
}
PLANES_OF_ALL: dict[str, tuple[str, str]] = {
    "played": ("played by this seat", "played by the player i seats on"),
    "trick": ("played by this seat to the trick in progress", "the same, by the player i seats on"),
}
FLAGS: dict[str, str] = {
    "trump": "this suit is trump",
    "led_suit": "this suit was led to the trick in progress",
}
FLAGS_OF_OTHERS: dict[str, tuple[int, str]] = {
    "void": (0, "the player i seats on has failed to follow this suit and drawn nothing since"),
    "void_2": (2, "the same, and drawn at most 2 cards since"),
    "void_5": (5, "the same, and drawn at most 5 cards since"),
}
GLOBALS: dict[str, tuple[int, str]] = {
    "to_act": (1, "this seat is to act"),
    "announcing": (1, "tricks are being announced"),
    "leading": (1, "no card lies in the trick in progress"),
    "in_trick": (6, "cards in the trick in progress"),
    "seat": (6, "this seat's number; 0 is the dealer's left"),
    "leader": (6, "how many seats on the leader of the trick in progress sits"),
    "deal_left": (26, "tricks left in this deal, the one in progress included"),
    "tricks_left": (26, "tricks left in the game, the one in progress included"),
    "stock": (50, "cards in the stock, the turned one included"),
    "turned_in_stock": (1, "the turned card lies in the stock"),
}
GLOBALS_OF_ALL: dict[str, tuple[int, str, str]] = {
    "tricks": (26, "tricks taken by this seat in this deal", "the same, of the player i seats on"),
    "honors": (12, "points of honors taken in this deal", "the same, of the player i seats on"),
    "points": (191, "points of earlier deals + 64", "the same, of the player i seats on"),
    "announced": (27, "tricks announced + 1, 0 if none", "the same, of the player i seats on"),
    "cards": (26, "cards in hand", "the same, of the player i seats on"),
    "holds_turned": (1, "the turned card is in hand", "the same, of the player i seats on"),
}
assert GLOBALS_OF_ALL["points"][0] == MAX_SCORE + SCORE_BIAS

NUM_FLAGS = len(FLAGS)
_EVENT_NUMBERS = 4 * MAX_EVENTS
NUM_LACKS = len(FLAGS_OF_OTHERS)
HISTORY_LENGTH = 130
"""Events of the longest history: 52 cards, as many announcements, own draws and one of another."""
HISTORY_SIZE = 2 * HISTORY_LENGTH
DRAW_CODE = 80
"""The code of drawing card c is DRAW_CODE + c."""


def num_planes(players: int) -> int:
    """Number of planes of a suit."""
    return len(PLANES) + len(PLANES_OF_ALL) * players


def observation_size(players: int) -> int:
    """Length D of the flat observation."""
    return _suit_width(players) * 4 + _num_globals(players) + NUM_ACTIONS


def full_size(players: int) -> int:
    """Length F of the full-information tensor."""
    return observation_size(players) + players * NUM_CARDS + NUM_CARDS


@kernel
def _suit_width(players: int) -> int:
    """Entries of a suit: 13 a plane, then the flags."""
    return (6 + 2 * players) * SUIT_SIZE + NUM_FLAGS + NUM_LACKS * (players - 1)


@kernel
def _num_globals(players: int) -> int:
    return 10 + 6 * players


def layout(players: int) -> tuple[Slice, ...]:
    """Lists the parts of the flat observation in order; their sizes add up to its length."""
    suit: list[tuple[str, int, str]] = [(name, SUIT_SIZE, PLANES[name]) for name in PLANES]
    numbers = [(name, high, text) for name, (high, text) in GLOBALS.items()]
    for name, texts in PLANES_OF_ALL.items():
        suit += [(each, SUIT_SIZE, text) for each, text in _of_all(name, players, *texts)]
    suit += [(name, 1, FLAGS[name]) for name in FLAGS]
    for name, (_, text) in FLAGS_OF_OTHERS.items():
        suit += [(each, 1, text) for each, text in _of_all(name, players, "", text)[1:]]
    for name, (high, *both) in GLOBALS_OF_ALL.items():
        numbers += [(each, high, text) for each, text in _of_all(name, players, *both)]
    parts = [(f"{letter}.{name}", size, 1, text) for letter in SUITS for name, size, text in suit]
    parts += [(name, 1, high, text) for name, high, text in numbers]
    parts.append(("legal", NUM_ACTIONS, 1, "the action mask"))
    return _slices(parts, 0)


def full_layout(players: int) -> tuple[Slice, ...]:
    """Lists the parts of the full-information tensor in order: `layout`, then what is hidden."""
    names = [(f"hand_{i}", f"the hand of the player {i} seats on") for i in range(1, players)]
    names.append(("stock", "in the stock"))
    parts = [(f"{x}.full.{name}", SUIT_SIZE, 1, text) for x in SUITS for name, text in names]
    parts.append(("order", NUM_CARDS, MAX_STOCK, "the place of each card in the stock, 1 the top"))
    return layout(players) + _slices(parts, observation_size(players))


def _of_all(name: str, players: int, own: str, others: str) -> list[tuple[str, str]]:
    """Names and meanings of a part that there is for each player, this seat first."""
    more = [(f"{name}_{i}", others.replace("i seats", f"{i} seats")) for i in range(1, players)]
    return [(name, own), *more]


def _slices(parts: list[tuple[str, int, int, str]], at: int) -> tuple[Slice, ...]:
    slices = []
    for name, size, high, text in parts:
        slices.append(Slice(name, at, size, high, text))
        at += size
    return tuple(slices)


def high(players: int) -> np.ndarray:
    """The largest value of each entry: `[D] uint8`."""
    return np.concatenate([np.full(part.size, part.high, np.uint8) for part in layout(players)])


@kernel
def _seat_on(seat: int, i: int, players: int) -> int:
    """The seat i seats on, i < players; a division would take longer."""
    on = seat + i
    return on - players if on >= players else on


@kernel
def _honors_left(v: np.ndarray, played: np.uint64) -> np.uint64:
    shift = SUIT_SIZE * int64(v[TRUMP])
    honors = bit(shift + ACE) | bit(shift + QUEEN) | bit(shift + JACK)
    return honors & ~(played | v[GONE])


@kernel
def _trick_card(v: np.ndarray, seat: int, players: int) -> np.uint64:
    """The card that a seat has played to the trick in progress, as a set."""
    place = _seat_on(seat, players - int64(v[LEADER]), players)
    if announcing(v) or place >= int64(v[IN_TRICK]):
        return ZERO
    return bit(byte_of(v, TRICK, place) - 1)


@kernel
def _set_suits(v: np.ndarray, seat: int, players: int, out: np.ndarray) -> None:
    """Writes planes and flags of all suits."""
    width = _suit_width(players)
    played = ZERO
    for i in range(players):
        played |= v[PLAYED + i]
    turned = ZERO
    if v[TURNED] != ZERO:
        turned = bit(int64(v[TURNED]) - 1) & ~(played | v[GONE])
    led = ZERO
    led_suit = ZERO
    best = ZERO
    if v[IN_TRICK] != ZERO:
        led = bit(byte_of(v, TRICK, 0) - 1)
        led_suit = suit_cards((byte_of(v, TRICK, 0) - 1) // SUIT_SIZE)
        best = bit(byte_of(v, TRICK, best_place(v)) - 1)
    at = put_plane(v[HAND + seat], out, width, CURSOR)  # hand
    at = put_plane(unseen(v), out, width, at)  # unseen
    at = put_plane(turned, out, width, at)  # turned
    at = put_plane(_honors_left(v, played), out, width, at)  # honor
    at = put_plane(led, out, width, at)  # led
    at = put_plane(best, out, width, at)  # best
    for i in range(players):
        at = put_plane(v[PLAYED + _seat_on(seat, i, players)], out, width, at)  # played
    for i in range(players):
        cards = _trick_card(v, _seat_on(seat, i, players), players)
        at = put_plane(cards, out, width, at)  # trick
    at = put_flag(suit_cards(int64(v[TRUMP])), out, width, at)  # trump
    at = put_flag(led_suit, out, width, at)  # led_suit
    for most in (0, 2, 5):  # void, void_2, void_5
        for i in range(1, players):
            at = put_flag(_lacking(v, _seat_on(seat, i, players), most), out, width, at)
    put_rest(out, width, at)


@kernel
def _lacking(v: np.ndarray, seat: int, most: int) -> np.uint64:
    """The twos of the suits that a seat has failed to follow, and drawn at most so many since.

    The four numbers, a nibble each, are compared at once: each gets room for a fifth bit, which
    15 - most added to it sets where it is greater.
    """
    since = v[SHOWN + (seat >> 2)] >> np.uint64((seat & 3) * 16)
    apart = ZERO
    for suit in range(4):
        nibble = (since >> np.uint64(4 * suit)) & np.uint64(15)
        apart |= nibble << np.uint64(SUIT_SIZE * suit)
    greater = (apart + np.uint64(TWOS) * np.uint64(15 - most)) >> np.uint64(4)
    return ~greater & np.uint64(TWOS)


@kernel
def _set_numbers(v: np.ndarray, seat: int, players: int, out: np.ndarray) -> None:
    """Writes GLOBALS and GLOBALS_OF_ALL in their order."""
    at = 4 * _suit_width(players)
    running = v[LEFT] != ZERO
    out[at] = 1 if running and int64(v[TURN]) == seat else 0  # to_act
    out[at + 1] = 1 if announcing(v) else 0  # announcing
    out[at + 2] = 1 if running and v[IN_TRICK] == ZERO and not announcing(v) else 0  # leading
    out[at + 3] = v[IN_TRICK]  # in_trick
    out[at + 4] = seat  # seat
    out[at + 5] = _seat_on(int64(v[LEADER]), players - seat, players)  # leader
    out[at + 6] = v[DEAL_LEFT]  # deal_left
    out[at + 7] = v[LEFT]  # tricks_left
    out[at + 8] = stock_left(v)  # stock
    out[at + 9] = 1 if _turned_in_stock(v) else 0  # turned_in_stock
    at += 10
    for i in range(players):
        other = _seat_on(seat, i, players)
        out[at + i] = byte_of(v, TRICKS, other)
        out[at + players + i] = byte_of(v, HONORS, other)
        out[at + 2 * players + i] = byte_of(v, SCORE, other)
        out[at + 3 * players + i] = byte_of(v, ANNOUNCED, other)
        out[at + 4 * players + i] = held(v, other)
        holds = v[TURNED] != ZERO and has(v[HAND + other], int64(v[TURNED]) - 1)
        out[at + 5 * players + i] = 1 if holds else 0


@kernel
def _turned_in_stock(v: np.ndarray) -> bool:
    last = int64(v[STOCK_SIZE]) - 1
    if v[TURNED] == ZERO or last < int64(v[STOCK_AT]):
        return False
    return byte_of(v, STOCK, last) == int64(v[TURNED])


@kernel
def set_mask(v: np.ndarray, mask: np.ndarray) -> None:
    """Writes the legal actions of a view's seat.

    Args:
        v: `[WORDS] uint64`, a view.
        mask: `[79] int8` or `uint8`, overwritten: 1 = legal; zero when the seat is not to act.
    """
    _set_actions(v, mask, 0)


@kernel
def _set_actions(v: np.ndarray, out: np.ndarray, at: int) -> None:
    """Writes the mask of a view to `out[at : at + NUM_ACTIONS]`."""
    cards = ZERO
    tricks = ZERO
    if v[TURN] + ONE == v[VIEWER] and v[LEFT] != ZERO:
        if announcing(v):
            tricks = (ONE << (v[DEAL_LEFT] + ONE)) - ONE
        else:
            cards = legal_cards(v)
    store_64(out, at, cards | tricks << np.uint64(ANNOUNCE))
    store_16(out, at + NUM_ACTIONS - 16, tricks >> np.uint64(NUM_ACTIONS - 16 - ANNOUNCE))


@kernel
def encode(v: np.ndarray, out: np.ndarray, mask: np.ndarray) -> None:
    """Writes the flat observation and the mask of a view.

    Args:
        v: `[WORDS] uint64`, a view.
        out: `[D] uint8`, overwritten.
        mask: `[79] int8`, overwritten.
    """
    if num_players(v) == 2:  # the compiler unrolls the loops of two players: twice as fast
        _encode(v, 2, out, mask)
    else:
        _encode(v, num_players(v), out, mask)


@kernel
def _encode(v: np.ndarray, players: int, out: np.ndarray, mask: np.ndarray) -> None:
    seat = int64(v[VIEWER]) - 1
    _set_suits(v, seat, players, out)
    _set_numbers(v, seat, players, out)
    set_mask(v, mask)
    _set_actions(v, out, 4 * _suit_width(players) + _num_globals(players))


@kernel
def encode_history(s: np.ndarray, seat: int, out: np.ndarray) -> None:
    """Writes the history as a seat has seen it, two codes an event in order.

    The first is 0 for nothing yet, the action + 1 (1 to 52 a card played, 53 to 79 an
    announcement), or 80 to 131 a card drawn + 80; the second is how many seats on from this one
    whoever did it sits, + 1. Of the cards that others draw only the turned one is there.

    Args:
        s: `[WORDS] uint64`, a state, or a view of the seat.
        seat: whose history.
        out: `[HISTORY_SIZE] uint8`, overwritten.
    """
    events = room(_EVENT_NUMBERS, np.int64).reshape((MAX_EVENTS, 4))
    players = num_players(s)
    n = 0
    for i in range(list_events(s, events)):
        kind = events[i, 0]
        who = events[i, 1]
        code = events[i, 2] + 1
        if kind == ANNOUNCED_IT:
            code += ANNOUNCE
        elif kind != PLAYED_IT:
            if who != seat and (s[TURNED] == ZERO or code != int64(s[TURNED])):
                continue
            code += DRAW_CODE - 1
        out[n] = code
        out[n + 1] = (who - seat) % players + 1
        n += 2
    for i in range(n, HISTORY_SIZE):
        out[i] = 0


@kernel
def encode_full(s: np.ndarray, seat: int, out: np.ndarray, mask: np.ndarray) -> None:
    """Writes the full-information tensor of a state from a seat's side.

    The observation of the seat; then for each suit of S H D C the other hands and the stock; then
    for each card its place in the stock, 1 the top, or 0.

    Args:
        s: `[WORDS] uint64`, a full state.
        seat: whose side.
        out: `[F] uint8`, overwritten.
        mask: `[79] int8`, overwritten.
    """
    v = room(WORDS, np.uint64)
    view(s, seat, v)
    encode(v, out, mask)
    players = num_players(s)
    begin = 4 * _suit_width(players) + _num_globals(players) + NUM_ACTIONS
    order = begin + players * NUM_CARDS
    for i in range(NUM_CARDS):
        out[order + i] = 0
    stock = ZERO
    for place in range(int64(s[STOCK_AT]), int64(s[STOCK_SIZE])):
        card = byte_of(s, STOCK, place) - 1
        stock |= bit(card)
        out[order + card] = place - int64(s[STOCK_AT]) + 1
    for i in range(1, players + 1):
        cards = stock if i == players else s[HAND + (seat + i) % players]
        for card in range(NUM_CARDS):
            at = begin + (card // SUIT_SIZE * players + i - 1) * SUIT_SIZE + card % SUIT_SIZE
            out[at] = (cards >> np.uint64(card)) & ONE


def decode(observation: np.ndarray, players: int) -> dict[str, Any]:
    """Reads a flat observation back, for tests and for people.

    Args:
        observation: `[D] uint8`.
        players: number of players.

    Returns:
        Planes as card sets, flags as sets of suits (`"SH"`), numbers, and `legal` as a list of
        actions, by name.
    """
    found: dict[str, Any] = {}
    for part in layout(players):
        values = observation[part.start : part.start + part.size]
        letter, dot, name = part.name.partition(".")
        if part.name == "legal":
            found["legal"] = [int(action) for action in np.flatnonzero(values)]
        elif not dot:
            found[part.name] = int(values[0])
        elif part.size == SUIT_SIZE:
            shift = SUIT_SIZE * SUITS.index(letter)
            cards: CardSet = sum(1 << (shift + int(rank)) for rank in np.flatnonzero(values))
            found[name] = found.get(name, 0) | cards
        else:
            found[name] = found.get(name, "") + (letter if values[0] else "")
    return found


def decode_history(codes: np.ndarray) -> list[tuple[int, int]]:
    """Reads a history back: (code, seats on from the one that looks) for every event so far."""
    pairs = codes.reshape(-1, 2)
    return [(int(code), int(who) - 1) for code, who in pairs if code]
