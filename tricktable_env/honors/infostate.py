"""What a seat knows: the view, the events seen in order, and the game taken back to its start.

A view hides the other hands, the stock, and what others drew; the turned card is seen wherever it
goes. `sample` draws a full state from a view.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from tricktable_env.bits import ZERO, bit, copy_words, int64
from tricktable_env.cards import SUIT_SIZE, Seat, Words
from tricktable_env.game import PositionError
from tricktable_env.honors.rules import draws, num_players, show_lacks
from tricktable_env.honors.state import (
    ANNOUNCE,
    DEALT,
    DECK,
    GONE,
    HAND,
    HISTORY,
    MAX_PLAYERS,
    MAX_PLIES,
    MAX_STOCK,
    OWNER,
    PLAYED,
    PLY,
    RNG,
    START,
    STOCK,
    STOCK_AT,
    STOCK_SIZE,
    TURNED,
    VIEWER,
    WORDS,
    action_at,
    byte_of,
    clear_shown,
    nibble_of,
    player_of_card,
    put_byte,
    restore_start,
)
from tricktable_env.jit import kernel

ANNOUNCED_IT, PLAYED_IT, DREW_IT = 0, 1, 2
"""Kinds of events."""
MAX_EVENTS = MAX_PLIES + MAX_STOCK


@kernel
def view(s: np.ndarray, seat: int, out: np.ndarray) -> None:
    """Packs what a seat has seen: the state with all the rest blanked.

    Args:
        s: `[WORDS] uint64`, a full state.
        seat: whose view.
        out: `[WORDS] uint64`, overwritten.
    """
    copy_words(s, out, WORDS)
    out[VIEWER] = np.uint64(1 + seat)
    out[RNG] = ZERO
    turned = ZERO
    if s[TURNED] != ZERO:
        turned = bit(int64(s[TURNED]) - 1)
    for other in range(num_players(s)):
        if other != seat:
            out[HAND + other] &= turned
    for word in range((int64(s[STOCK_SIZE]) + 7) >> 3):
        cards = s[STOCK + word]
        owners = s[OWNER + (word >> 1)] >> np.uint64((word & 1) * 32)
        out[STOCK + word] = cards & (
            _equal_bytes(_nibbles_apart(owners), np.uint64(seat)) | _equal_bytes(cards, s[TURNED])
        )


@kernel
def _nibbles_apart(word: np.uint64) -> np.uint64:
    """The lowest 8 nibbles of a word, a byte each."""
    word &= np.uint64(0xFFFFFFFF)
    word = (word | word << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    word = (word | word << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    return (word | word << np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)


@kernel
def _equal_bytes(word: np.uint64, byte: np.uint64) -> np.uint64:
    """255 in each byte of a word that equals a byte, 0 in the others; all are less than 128."""
    other = word ^ byte * np.uint64(0x0101010101010101)
    equal = ~(other + np.uint64(0x7F7F7F7F7F7F7F7F)) & np.uint64(0x8080808080808080)
    return (equal >> np.uint64(7)) * np.uint64(255)


@kernel
def seen_cards(v: np.ndarray) -> np.uint64:
    """The cards of which the seat of a view knows where they are or that they are gone."""
    seen = v[GONE]
    for seat in range(MAX_PLAYERS):
        seen |= v[HAND + seat] | v[PLAYED + seat]
    if v[TURNED] != ZERO:
        seen |= bit(int64(v[TURNED]) - 1)
    return seen


@kernel
def unseen(v: np.ndarray) -> np.uint64:
    """The cards of the deck that the seat of a view has not seen: in other hands or the stock."""
    return v[DECK] & ~seen_cards(v)


@kernel
def list_events(s: np.ndarray, out: np.ndarray) -> int:
    """Lists what happened since the start, in order, draws included.

    Args:
        s: `[WORDS] uint64`, a state or a view.
        out: `[MAX_EVENTS, 4] int64`; an event is its kind, the seat, a value and more: the number
            announced; the card played, and the suit that was not followed or -1; the card drawn, or
            -1 where a view does not have it, and its place in the stock.

    Returns:
        How many there are.
    """
    players = num_players(s)
    in_hand = start_hand(s)
    led = (byte_of(s, START + 1, 0) - 1) // SUIT_SIZE  # of the trick that the game started in
    at = 0
    events = 0
    announcer = 0
    place = 0
    while place < players and byte_of(s, START + 1, place) != 0:
        place += 1
    while announcer < players and byte_of(s, START + 5, announcer) != 0:
        announcer += 1
    for ply in range(int64(s[PLY])):
        action = action_at(s, ply)
        if action >= ANNOUNCE:
            if announcer == players:
                announcer = 0
            _put(out, events, ANNOUNCED_IT, announcer, action - ANNOUNCE, -1)
            announcer += 1
            events += 1
            continue
        if place == 0:
            led = action // SUIT_SIZE
        lacking = led if action // SUIT_SIZE != led else -1
        _put(out, events, PLAYED_IT, player_of_card(s, action), action, lacking)
        events += 1
        place += 1
        if place < players:
            continue
        place = 0
        in_hand -= 1
        each = draws(s, int64(s[STOCK_SIZE]) - at, in_hand)
        in_hand += each
        for _ in range(each * players):
            _put(out, events, DREW_IT, nibble_of(s, OWNER, at), byte_of(s, STOCK, at) - 1, at)
            events += 1
            at += 1
    return events


@kernel
def _put(out: np.ndarray, at: int, kind: int, seat: int, value: int, more: int) -> None:
    out[at, 0] = kind
    out[at, 1] = seat
    out[at, 2] = value
    out[at, 3] = more


@kernel
def start_hand(s: np.ndarray) -> int:
    """Cards of each hand at the start, before the trick that it started in."""
    return int64(s[DEALT]) - int64(s[STOCK_AT]) // num_players(s)


def events_of(s: Words) -> list[tuple[int, Seat, int, int]]:
    """Lists what happened since the start, as `list_events` does: (kind, seat, value, more)."""
    out = np.empty((MAX_EVENTS, 4), np.int64)
    return [tuple(event) for event in out[: list_events(s, out)].tolist()]


def view_of(s: Words, seat: Seat) -> Words:
    """Packs what a seat has seen, fresh; see `view`.

    Raises:
        PositionError: no seat; the view of anybody else would show what nobody may see.
    """
    whole = isinstance(seat, Integral) and not isinstance(seat, bool)
    if not whole or not 0 <= seat < num_players(s):
        raise PositionError(f"no seat: {seat!r} (0 to {num_players(s) - 1})")
    seen = np.empty_like(s)
    view(s, int(seat), seen)
    return seen


def at_start(s: Words) -> Words:
    """Returns a state or view as it was at the start of its game.

    What a view's seat has learned since is taken back too.

    Args:
        s: `[WORDS] uint64`, a state or a view; left as it is.
    """
    start = s.copy()
    viewer, turned = int(s[VIEWER]), int(s[TURNED]) - 1
    for kind, seat, value, place in reversed(events_of(s)):
        if kind == PLAYED_IT:
            start[PLAYED + seat] ^= bit(value)
            if viewer in (0, 1 + seat) or value == turned:
                start[HAND + seat] |= bit(value)
        elif kind == DREW_IT and value >= 0:
            start[HAND + seat] ^= bit(value)
            if viewer and value != turned:
                put_byte(start, STOCK, place, 0)
    start[DEALT] = start_hand(s)
    start[STOCK_AT] = start[PLY] = 0
    start[OWNER:HISTORY] = ~ZERO
    start[HISTORY:] = 0
    clear_shown(start)
    restore_start(start)
    show_lacks(start)
    return start
